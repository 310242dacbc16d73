// Opens the store of a config to read all of it, or to load rows and files into it.

import { existsSync } from "node:fs";
import { mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Files } from "../store/files.ts";
import { PostgresLoader } from "../store/postgres/loader.ts";
import { postgresSource } from "../store/postgres/snapshot.ts";
import { FolderLock } from "../store/sqlite/lock.ts";
import { refuseOtherVersion } from "../store/sqlite/open.ts";
import { hasDatabase, openExistingDatabase, openNewDatabase } from "../store/sqlite/open-loader.ts";
import { afterSwap, hasLitestream } from "../store/sqlite/other-programs.ts";
import { sqliteSource } from "../store/sqlite/snapshot.ts";
import { writeVersionFile } from "../store/sqlite/version-file.ts";
import { CannotLoad, type Loader, type TransferSource } from "../store/transfer/transfer.ts";
import type { Config } from "./config.ts";
import { foldersOf, openFiles } from "./open-files.ts";

export interface OpenSource {
  readonly source: TransferSource;
  readonly files: Files;
}

/** What says where a store is. */
export type StorePlace = Pick<Config, "store" | "data" | "files">;

/** Also beside a running server. */
export const openSource = (config: StorePlace): OpenSource => ({
  source: sourceOf(config),
  files: openFiles(config),
});

function sourceOf({ store, data }: StorePlace): TransferSource {
  if (store !== undefined) return postgresSource(store);
  if (!hasDatabase(data)) throw new CannotLoad(`there is no store in ${data}`);
  return sqliteSource(join(data, "restante.db"));
}

/** What identifies a store, and its copies and backups. */
export async function storeIdOf(config: StorePlace): Promise<string> {
  const snapshot = await sourceOf(config).snapshot();
  await snapshot.close();
  return snapshot.store.id;
}

export interface OpenTarget {
  readonly loader: Loader;
  readonly files: Files;
  /** Called after the publication. */
  finish(): Promise<void>;
  /** Leaves nothing behind. */
  abandon(): Promise<void>;
}

export interface TargetOptions {
  /** Whether the whole store is replaced. */
  readonly isWhole: boolean;
  readonly isOverwriting: boolean;
  /** Replaces the database also when another program has it open. */
  readonly isForced?: boolean | undefined;
  /** The id that the store will have. */
  readonly findStore?: () => Promise<string>;
}

export function openTarget(config: Config, options: TargetOptions): Promise<OpenTarget> {
  if (config.store !== undefined) return openPostgresTarget(config, config.store, options);
  return options.isWhole ? openWholeFolder(config, options) : openFolder(config, options);
}

/** What to do after the database was replaced by another file. */
export const warningAfterSwap = ({ store, data }: Config): string | undefined =>
  store === undefined && hasLitestream({ path: join(data, "restante.db") }) ? afterSwap : undefined;

/** Rejects when the target has something that may not be replaced, as far as a look at its folder tells. */
export async function requireRoom(
  { store, data }: Config,
  { isWhole, isOverwriting }: TargetOptions,
): Promise<void> {
  if (store !== undefined || !isWhole || isOverwriting || !existsSync(data)) return;
  if ((await readdir(data)).some((name) => !ignoredNames.has(name)))
    throw new CannotLoad(`${data} is not empty: ${overwriteHint}`);
}

const overwriteHint = "choose another one, or add --overwrite to replace what is there";

async function openPostgresTarget(
  config: Config,
  url: string,
  { isWhole, isOverwriting, findStore }: TargetOptions,
): Promise<OpenTarget> {
  const loader = await PostgresLoader.open({ url });
  const end = () => loader.close();
  if (isWhole && !isOverwriting && !(await loader.isEmpty())) {
    await end();
    throw new CannotLoad(`the database is not empty: ${overwriteHint}`);
  }
  return { loader, files: openFiles(config, { findStore }), finish: end, abandon: end };
}

/** What may be in a folder that counts as empty. */
export const ignoredNames: ReadonlySet<string> = new Set([
  "restante.lock",
  "restante.lock-journal",
  "restante.owner",
  "lost+found",
]);

/**
 * A folder that does not exist gets its name when everything is in it. In one that exists, the database
 * is replaced as a whole: it can be a mounted volume, which has no other name.
 */
async function openWholeFolder(config: Config, options: TargetOptions): Promise<OpenTarget> {
  const { data } = config;
  await requireRoom(config, options);
  const isNew = !existsSync(data);
  const folder = isNew ? `${data}.restoring` : data;
  const locks = await lockFolders(config, folder);
  const release = () => locks.forEach((lock) => void lock.release());
  try {
    // Another process may have filled the folder while this one waited for the lock.
    await requireRoom(config, options);
    if (isNew) requireNone(data);
    if (isNew) await removeLeftovers(folder);
    const loader = openNewDatabase(folder, options.isForced);
    const files = openFiles({ ...config, data: folder }, options);
    return {
      loader,
      files,
      async finish() {
        writeVersionFile(folder);
        if (isNew) await giveName(folder, data, locks);
        release();
      },
      async abandon() {
        await loader.close();
        if (isNew) await removeLocked(folder, locks);
        release();
      },
    };
  } catch (error) {
    if (isNew) await removeLocked(folder, locks);
    release();
    throw error;
  }
}

/** Under another name, because a process that waits for the lock may begin in the folder when it is released. */
async function removeLocked(folder: string, locks: readonly FolderLock[]): Promise<void> {
  await removeLeftovers(folder);
  const aside = `${folder}-${process.pid}`;
  await giveName(folder, aside, locks);
  await rm(aside, { recursive: true, force: true });
}

/** Of a process that was killed. */
async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder))
    if (!ignoredNames.has(name)) await rm(join(folder, name), { recursive: true, force: true });
}

/** Rejects when another process has made the folder while this one waited for a lock. */
export function requireNone(folder: string): void {
  if (existsSync(folder))
    throw new CannotLoad(`another process has made ${folder} meanwhile: choose another folder`);
}

/** The locks are held until then: a process that waits for them must not begin in a complete folder. */
export async function giveName(
  folder: string,
  name: string,
  locks: readonly FolderLock[],
): Promise<void> {
  for (const lock of locks) lock.removeRecord();
  // Windows gives no name to a folder with open files.
  if (process.platform === "win32") for (const lock of locks) lock.release();
  await rename(folder, name);
  const parent = await open(dirname(name), "r");
  await parent.sync().finally(() => parent.close());
}

async function openFolder(config: Config, options: TargetOptions): Promise<OpenTarget> {
  const { data } = config;
  refuseOtherVersion(data);
  const isNew = !existsSync(data);
  const locks = await lockFolders(config, data);
  const release = () => locks.forEach((lock) => void lock.release());
  try {
    const loader = await openExistingDatabase(data);
    const end = async () => {
      await loader.close();
      release();
    };
    return {
      loader,
      files: openFiles(config, options),
      finish: end,
      async abandon() {
        await end();
        if (isNew) await rm(data, { recursive: true, force: true });
      },
    };
  } catch (error) {
    release();
    throw error;
  }
}

/** As a server locks them. */
export async function lockFolders(
  place: StorePlace,
  folder: string,
): Promise<readonly FolderLock[]> {
  const locks: FolderLock[] = [];
  try {
    for (const each of foldersOf(place, folder)) locks.push(await FolderLock.take(each));
    return locks;
  } catch (error) {
    for (const lock of locks) lock.release();
    throw error;
  }
}

/** Returns undefined when another process has locked the folder. Creates the folder when it does not exist. */
export async function tryLockFolder(folder: string): Promise<{ release(): void } | undefined> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return FolderLock.tryTake(folder);
}
