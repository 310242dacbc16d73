// Migrates a database of an older version: a copy with the newest tables replaces it, and it is kept.

import { basename, dirname } from "node:path";
import { setImmediate } from "node:timers/promises";
import { codeOf } from "../../lib/system-error.ts";
import { Outage } from "../../model/outage.ts";
import type { WrittenBy } from "../version.ts";
import { Connection, outageOf } from "./connection.ts";
import { copyFile } from "./copy-file.ts";
import { type DatabaseFile, finishSwap, formerPath, removeCopy, swapIn } from "./file.ts";
import { closeWal, keepFormer } from "./former.ts";
import { assertFreeSpace, migratedSize, untouched } from "./free-space.ts";
import { assertOnDisk } from "./on-disk.ts";
import { afterSwap, hasLitestream } from "./other-programs.ts";
import { replaceByCopy } from "./repair.ts";
import {
  type MigrationStep,
  readWrittenBy,
  requireSupported,
  schemaVersion,
  setVersion,
} from "./schema.ts";
import { readSuspectMark } from "./suspect.ts";
import { finishChange } from "./unfinished.ts";
import type { Report } from "./writer-client.ts";

const progressMs = 1_000;

/**
 * Returns the file to open, which is another one when the database was migrated. The database is not
 * changed before its copy is complete and on disk, and is then replaced in one step. After a crash the
 * next start begins again, or finds the new database. Rejects when no step begins with its version. The
 * caller owns the folder.
 */
export async function migrate(
  given: DatabaseFile,
  steps: readonly MigrationStep[],
  report: Report,
): Promise<DatabaseFile> {
  const found = finishSwap(given);
  finishChange(found.path);
  const version = olderVersionOf(found, steps);
  if (version === undefined) return found;
  const file = rescue(found);
  removeCopy(file);
  try {
    closeWal(file);
    const progress = everySecond(report);
    await upgradeCopy(file, steps.slice(version - schemaVersion), progress);
    assertOnDisk(file.copy);
    closeWal(file);
    await keepFormer(file, version, (done) => progress("keeping the previous database", done));
    const migrated = swapIn(file);
    if (hasLitestream(file)) report("error", afterSwap);
    const kept = basename(formerPath(file, version));
    report(
      "info",
      `the database is migrated; ${kept} is the previous one, kept until the next start`,
    );
    return migrated;
  } catch (error) {
    removeCopy(file);
    throw isFull(error) ? full(file) : error;
  }
}

const isFull = (error: unknown): boolean =>
  outageOf(error)?.reason === "full" || codeOf(error) === "ENOSPC";

const full = ({ path }: DatabaseFile): Outage =>
  new Outage("full", `the disk became full: free up disk space in ${dirname(path)}${untouched}`);

/** Undefined when there is nothing to migrate. Throws when no step begins with the version. */
function olderVersionOf(file: DatabaseFile, steps: readonly MigrationStep[]): number | undefined {
  const found = read(file);
  if (found === undefined) return undefined;
  requireSupported(found, steps);
  return found.schema === 0 || found.schema === schemaVersion ? undefined : found.schema;
}

/** Undefined when the file cannot be read. The writer, which opens it next, reports that. */
function read({ path }: DatabaseFile): WrittenBy | undefined {
  let connection: Connection | undefined;
  try {
    connection = new Connection(path, "read");
    return readWrittenBy(connection);
  } catch {
    return undefined;
  } finally {
    connection?.close();
  }
}

/** After the disk has failed, the files may only be read: first a verified copy replaces them. */
function rescue(file: DatabaseFile): DatabaseFile {
  const mark = readSuspectMark(file);
  if (!mark) return file;
  const source = new Connection(file.path, "copy");
  try {
    replaceByCopy(file, source, mark.batch);
  } finally {
    source.close();
  }
  return finishSwap(file);
}

/** Reports the progress of long work. */
type ReportCount = (what: string, done: number) => void;

/** The first progress of each kind of work is always reported. */
function everySecond(report: Report): ReportCount {
  let nextAt = 0;
  let last = "";
  return (what, done) => {
    if (what === last && performance.now() < nextAt) return;
    last = what;
    nextAt = performance.now() + progressMs;
    report("info", `${what}: ${Math.floor(100 * done)} %`);
  };
}

async function upgradeCopy(
  file: DatabaseFile,
  steps: readonly MigrationStep[],
  report: ReportCount,
): Promise<void> {
  assertFreeSpace(file, expectedSize(file), untouched);
  await copyFile(file.path, file.copy, (done) => report("copying the database", done));
  const copy = new Connection(file.copy, "fill");
  try {
    for (const [index, step] of steps.entries())
      for (const done of step(copy)) {
        const version = schemaVersion - steps.length + index + 1;
        report(`migrating the database to version ${version}`, done);
        await setImmediate();
      }
    copy.transact(() => setVersion(copy));
  } finally {
    copy.close();
  }
}

function expectedSize({ path }: DatabaseFile): number {
  const source = new Connection(path, "read");
  try {
    return migratedSize(source);
  } finally {
    source.close();
  }
}
