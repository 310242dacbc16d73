// Opens the target of a copy, and the files of both sides.

import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import type { BothFiles } from "../copy/files.ts";
import { outageOf as postgresOutageOf } from "../store/postgres/errors.ts";
import { openPostgresReplica } from "../store/postgres/replica.ts";
import { outageOf as sqliteOutageOf } from "../store/sqlite/connection.ts";
import { hasDatabase } from "../store/sqlite/open-loader.ts";
import { hasReplica, openSqliteReplica } from "../store/sqlite/replica.ts";
import { CannotLoad, type Replica } from "../store/transfer/transfer.ts";
import { openFiles } from "./open-files.ts";
import {
  giveName,
  ignoredNames,
  lockFolders,
  requireNone,
  type StorePlace,
} from "./open-transfer.ts";

/** Returns an Outage when a database caused the error. SQLite marks its errors; for Postgres many count as lost connections. */
export const outageIn = (error: unknown): unknown =>
  sqliteOutageOf(error) ?? postgresOutageOf(error) ?? error;

/** Throws when it is not known where files are. */
export function requireFolders(from: StorePlace, to: StorePlace): void {
  if (from.store !== undefined && from.files === undefined)
    throw new CannotLoad(
      "the store has files: add --from-files with the folder that its server has as --files, or as files in --data",
    );
  if (to.store !== undefined && to.files === undefined)
    throw new CannotLoad(
      "the store has files: add --to-files with the folder that the new server gets as --files",
    );
}

/** The copy has the id of its source. */
export function openBothFiles(
  from: StorePlace,
  to: StorePlace,
  folder: string,
  storeId: string,
): BothFiles {
  requireFolders(from, to);
  return {
    from: openFiles(from),
    to: openFiles({ ...to, data: folder }, { findStore: async () => storeId }),
  };
}

export interface OpenReplica {
  readonly replica: Replica;
  /** Where an embedded store is made. */
  readonly folder: string;
  /** Called after the publication. */
  finish(): Promise<void>;
  /** What is copied stays, so that the same command goes on with it. */
  close(): Promise<void>;
}

export async function openReplica(to: StorePlace, storeId: string): Promise<OpenReplica> {
  if (to.store === undefined) return openReplicaFolder(to, storeId);
  const replica = await openPostgresReplica({ url: to.store }, storeId);
  return { replica, folder: "", finish: async () => undefined, close: () => replica.close() };
}

/**
 * A folder that does not exist gets its name when everything is in it. In one that exists, only the
 * database does: it can be a mounted volume, which has no other name.
 */
async function openReplicaFolder(to: StorePlace, storeId: string): Promise<OpenReplica> {
  const { data } = to;
  const isNew = !existsSync(data);
  if (!isNew) await requireEmpty(data);
  const folder = isNew ? `${data}.copying` : data;
  const locks = await lockFolders(to, folder);
  const release = () => locks.forEach((lock) => void lock.release());
  try {
    // Another process may have filled the folder while this one waited for the lock.
    if (isNew) requireNone(data);
    else await requireEmpty(data);
    const replica = openSqliteReplica(folder, storeId);
    return {
      replica,
      folder,
      async finish() {
        if (isNew) await giveName(folder, data, locks);
        release();
      },
      async close() {
        await replica.close();
        release();
      },
    };
  } catch (error) {
    release();
    throw error;
  }
}

/** A copy makes these before it begins, so that a killed one can have left them empty. */
const madeFirst: ReadonlySet<string> = new Set(["restante.db", "restante.commits"]);

async function requireEmpty(folder: string): Promise<void> {
  const hasNone = !hasDatabase(folder);
  if (hasNone && hasReplica(folder)) return;
  const isIgnored = (name: string) => ignoredNames.has(name) || (hasNone && madeFirst.has(name));
  const names = await readdir(folder);
  if (names.some((name) => !isIgnored(name)))
    throw new CannotLoad(`${folder} is not empty: choose another folder`);
}
