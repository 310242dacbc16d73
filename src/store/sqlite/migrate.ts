// Migrates a database of an older version: a copy with the newest tables replaces it, and it is kept.

import { basename, dirname } from "node:path";
import { setImmediate } from "node:timers/promises";
import { codeOf } from "../../lib/system-error.ts";
import { Outage } from "../../model/outage.ts";
import { indexPlanOf } from "../../model/query/index-plan.ts";
import { Connection, outageOf } from "./connection.ts";
import { copyFile } from "./copy-file.ts";
import { type DatabaseFile, finishSwap, formerPath, removeCopy, swapIn } from "./file.ts";
import { closeWal, keepFormer } from "./former.ts";
import { assertFreeSpace, migratedSize, untouched } from "./free-space.ts";
import { assertOldComplete, copyOldLayout } from "./migrate-old.ts";
import { assertOnDisk } from "./on-disk.ts";
import { replaceByCopy } from "./repair.ts";
import { firstVersion, schemaVersion, versionOf } from "./schema.ts";
import { readSuspectMark } from "./suspect.ts";
import { upgradeTables } from "./upgrade.ts";
import type { Report } from "./writer-client.ts";

const progressMs = 1_000;

/** The search words of earlier versions are built again. */
const firstVersionWithWords = 9;

/**
 * Returns the file to open, which is another one when the database was migrated. The database is not
 * changed before its copy is complete and on disk, and is then replaced in one step. After a crash the
 * next start begins again, or finds the new database.
 */
export async function migrate(given: DatabaseFile, report: Report): Promise<DatabaseFile> {
  const version = oldVersionOf(given);
  if (version === undefined) return given;
  const file = rescue(given, version);
  removeCopy(file);
  try {
    closeWal(file);
    const progress = everySecond(report);
    if (version < firstVersion) await copyOldLayout(file, progress);
    else await upgradeCopy(file, version, progress);
    assertOnDisk(file.copy);
    closeWal(file);
    await keepFormer(file, version, (done) => progress("keeping the previous database", done));
    const migrated = swapIn(file);
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

/** Undefined when there is nothing to migrate. An error is reported by the writer, which opens the file next. */
function oldVersionOf({ path }: DatabaseFile): number | undefined {
  let connection: Connection | undefined;
  try {
    connection = new Connection(path, "read");
    const version = versionOf(connection);
    return version === 0 || version === schemaVersion ? undefined : version;
  } catch {
    return undefined;
  } finally {
    connection?.close();
  }
}

/** After the disk has failed, the files may only be read: first a verified copy replaces them. */
function rescue(file: DatabaseFile, version: number): DatabaseFile {
  const mark = readSuspectMark(file);
  if (!mark) return file;
  const source = new Connection(file.path, "copy");
  try {
    if (version < firstVersion) assertOldComplete(source, mark.batch);
    replaceByCopy(file, source, mark.batch);
  } finally {
    source.close();
  }
  return finishSwap(file);
}

/** Reports the progress of long work. */
export type ReportCount = (what: string, done: number) => void;

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
  version: number,
  report: ReportCount,
): Promise<void> {
  assertFreeSpace(file, expectedSize(file, version), untouched);
  await copyFile(file.path, file.copy, (done) => report("copying the database", done));
  const copy = new Connection(file.copy, "fill");
  try {
    for (const [next, done] of upgradeTables(copy)) {
      report(`migrating the database to version ${next}`, done);
      await setImmediate();
    }
  } finally {
    copy.close();
  }
}

function expectedSize({ path }: DatabaseFile, version: number): number {
  const source = new Connection(path, "read");
  try {
    return migratedSize(source, version < firstVersionWithWords ? searchedBytes(source) : 0);
  } finally {
    source.close();
  }
}

/** The size of the resources of collections that can be searched. */
function searchedBytes(source: Connection): number {
  const collections = source.query<readonly [part: number, definition: string]>(
    "SELECT part, definition FROM collections",
  );
  const size = source.query<readonly [number]>(
    "SELECT coalesce(sum(octet_length(fields)), 0) FROM resources WHERE part = ?",
  );
  return collections
    .all()
    .filter(([, definition]) => indexPlanOf(definition).searchable.length > 0)
    .reduce((sum, [part]) => sum + (size.one(part)?.[0] ?? 0), 0);
}
