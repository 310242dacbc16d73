// Opens the store of a config to look at its database, or to compute derived rows again.

import { join } from "node:path";
import type { Files } from "../store/files.ts";
import { postgresExaminer } from "../store/postgres/examine.ts";
import { openRebuilder as openPostgresRebuilder } from "../store/postgres/rebuild-part.ts";
import { sqliteExaminer } from "../store/sqlite/examine.ts";
import { openRebuilder as openSqliteRebuilder } from "../store/sqlite/rebuild-part.ts";
import type { Examiner, Rebuilder } from "../store/transfer/transfer.ts";
import type { Config } from "./config.ts";
import { openFiles } from "./open-files.ts";
import { lockFolders, storeIdOf } from "./open-transfer.ts";

/** Also beside a running server. */
export const openExaminer = ({ store, data }: Config): Examiner =>
  store === undefined ? sqliteExaminer(join(data, "restante.db")) : postgresExaminer(store);

export interface OpenRebuilder extends Rebuilder {
  readonly files: Files;
}

/** Locks the folders of an embedded store. On Postgres nodes can run. */
export async function openRebuilder(config: Config): Promise<OpenRebuilder> {
  const files = openFiles(config, { findStore: () => storeIdOf(config) });
  if (config.store !== undefined) return { ...(await openPostgresRebuilder(config.store)), files };
  const locks = await lockFolders(config, config.data);
  const release = () => locks.forEach((lock) => void lock.release());
  try {
    const { rebuild, close } = openSqliteRebuilder(config.data);
    return { rebuild, files, close: () => close().finally(release) };
  } catch (error) {
    release();
    throw error;
  }
}
