// Keeps the database that a migration replaces, so that the version that wrote it can open it again.

import { linkSync, renameSync, rmSync } from "node:fs";
import { basename, dirname } from "node:path";
import { Outage } from "../../model/outage.ts";
import { Checkpoints } from "./checkpoint.ts";
import { Connection } from "./connection.ts";
import { copyFile } from "./copy-file.ts";
import { type DatabaseFile, formerFiles, formerPath, syncDirectory } from "./file.ts";
import { schemaVersion } from "./schema.ts";
import { writtenByIn } from "./version-file.ts";
import type { Report } from "./writer-client.ts";

/**
 * Puts all that is committed into the one file, without a WAL. Throws when another process has it open,
 * such as a server of 0.1.0, which takes no lock on the folder.
 */
export function closeWal({ path }: DatabaseFile): void {
  const connection = new Connection(path, "write");
  try {
    // The change of the mode would run a checkpoint, too, but hide its errors.
    new Checkpoints(connection).empty();
    const [mode] = connection.query("PRAGMA journal_mode = delete").one() ?? [];
    if (mode !== "delete") throw inUse();
  } catch (error) {
    throw isLocked(error) ? inUse() : error;
  } finally {
    connection.close();
  }
}

const isLocked = (error: unknown): boolean =>
  error instanceof Error && error.message.includes("database is locked");

const inUse = (): Outage =>
  new Outage(
    "unavailable",
    "another process has the database open, so it cannot be migrated: stop that process, and start again",
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
  removeFiles(formerFiles(dirname(file.path)));
  try {
    linkSync(file.path, former);
  } catch {
    await copyFile(file.path, `${former}.part`, report);
    renameSync(`${former}.part`, former);
  }
  syncDirectory(dirname(file.path));
}

/** The former databases that are not needed when the start succeeds: an earlier one has migrated the folder. */
export function outlivedFormerFiles(folder: string): readonly string[] {
  const found = formerFiles(folder);
  const isMigrated = found.length > 0 && schemaOf(folder) === schemaVersion;
  return isMigrated ? found : [];
}

function schemaOf(folder: string): number | undefined {
  try {
    return writtenByIn(folder).schema;
  } catch {
    // The start that follows says what is wrong.
    return undefined;
  }
}

export function removeFormerFiles(paths: readonly string[], report?: Report): void {
  removeFiles(paths);
  for (const path of paths)
    report?.("info", `removed ${basename(path)}, the database before its migration`);
}

function removeFiles(paths: readonly string[]): void {
  for (const path of paths) rmSync(path, { force: true });
}
