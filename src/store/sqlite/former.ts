// Keeps the database that a migration replaces, so that the version that wrote it can open it again.

import { existsSync, linkSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { Outage } from "../../model/outage.ts";
import { Checkpoints } from "./checkpoint.ts";
import { Connection } from "./connection.ts";
import { copyFile } from "./copy-file.ts";
import { createFile, type DatabaseFile, formerFiles, formerPath, syncDirectory } from "./file.ts";
import { usersOf } from "./other-programs.ts";
import type { Report } from "./writer-client.ts";

/**
 * Puts all that is committed into the one file, without a WAL. Throws when another process has it open,
 * such as a command that reads.
 */
export function closeWal(file: DatabaseFile): void {
  const connection = new Connection(file.path, "write");
  try {
    // The change of the mode would run a checkpoint, too, but hide its errors.
    new Checkpoints(connection).empty();
    const [mode] = connection.query("PRAGMA journal_mode = delete").one() ?? [];
    if (mode !== "delete") throw inUse(file);
  } catch (error) {
    throw isLocked(error) ? inUse(file) : error;
  } finally {
    connection.close();
  }
}

const isLocked = (error: unknown): boolean =>
  error instanceof Error && error.message.includes("database is locked");

const inUse = (file: DatabaseFile): Outage =>
  new Outage(
    "unavailable",
    `${usersOf(file) ?? "another process"} has the database open, so it cannot be migrated: stop that process, and start again`,
  );

/**
 * Gives the database, which has no WAL, a second name. The only former one that is kept is the last. A
 * file system without links needs a copy.
 */
export async function keepFormer(
  file: DatabaseFile,
  version: number,
  report: (done: number) => void,
): Promise<void> {
  const former = formerPath(file, version);
  const folder = dirname(file.path);
  removeFiles([...formerFiles(folder), markIn(folder)]);
  try {
    linkSync(file.path, former);
  } catch {
    await copyFile(file.path, `${former}.part`, report);
    renameSync(`${former}.part`, former);
  }
  syncDirectory(folder);
}

/**
 * Called when a server has started. The first one after a migration leaves a mark, so that the next one
 * removes the former database. A file that cannot be written or removed does not stop a server.
 */
export function finishStart(folder: string, report: Report = () => undefined): void {
  const former = formerFiles(folder);
  const mark = markIn(folder);
  try {
    if (former.length > 0 && !existsSync(mark)) createFile(mark);
    else removeFiles([...former, mark]);
  } catch {}
  for (const path of former)
    if (!existsSync(path))
      report("info", `removed ${basename(path)}, the database before its migration`);
}

/** Exists when a server has started since the last migration. */
const markIn = (folder: string): string => join(folder, "restante.started");

function removeFiles(paths: readonly string[]): void {
  for (const path of paths) rmSync(path, { force: true });
}
