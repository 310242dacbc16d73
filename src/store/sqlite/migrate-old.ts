// Migrates a database with the former layout by copying it to a new file, which then replaces it.

import { setImmediate } from "node:timers/promises";
import { Outage } from "../../model/outage.ts";
import { indexPlanOf } from "../../model/query/index-plan.ts";
import { Connection } from "./connection.ts";
import { copyOld } from "./copy-old.ts";
import { acceptCopy, createFile, type DatabaseFile, finishSwap, removeCopy } from "./file.ts";
import { assertFreeSpace, sizeOf } from "./free-space.ts";
import { readOldCollections } from "./old-collections.ts";
import { upgradeOld } from "./old-schema.ts";
import { assertOnDisk } from "./on-disk.ts";
import { createTables, firstVersion, versionOf } from "./schema.ts";
import { readSuspectMark } from "./suspect.ts";
import type { Report } from "./writer-client.ts";

/** The copy has more indexes, and rows for the words and prefixes of a searchable resource. */
const copyToSource = 1.5;
const wordsToFields = 7;

const progressMs = 1_000;

/**
 * Returns the file to open, which is a new one when the database was migrated. The old file is not
 * changed before its copy is complete and on disk. After a crash the next start copies it again, or
 * finishes the replacement.
 */
export async function migrateOld(file: DatabaseFile, report: Report): Promise<DatabaseFile> {
  if (!isOld(file)) return file;
  removeCopy(file);
  const source = new Connection(file.path, "write");
  try {
    upgradeOld(source);
    // Holds the write lock, so that the copy is complete.
    source.run("BEGIN IMMEDIATE");
    assertFreeSpace(file, expectedSize(source));
    assertComplete(file, source);
    report("info", "migrating the database to a new layout");
    await copy(source, file.copy, report);
    assertOnDisk(file.copy);
    acceptCopy(file);
  } catch (error) {
    removeCopy(file);
    throw error;
  } finally {
    source.close();
  }
  const migrated = finishSwap(file);
  report("info", "the database is migrated");
  return migrated;
}

/** An error is reported by the writer, which opens the file next. */
function isOld({ path }: DatabaseFile): boolean {
  let connection: Connection | undefined;
  try {
    connection = new Connection(path, "read");
    const version = versionOf(connection);
    return version > 0 && version < firstVersion;
  } catch {
    return false;
  } finally {
    connection?.close();
  }
}

function expectedSize(source: Connection): number {
  const searched = readOldCollections(source)
    .filter(({ definition }) => indexPlanOf(definition).searchable.length > 0)
    .map(({ part }) => {
      const size = source.query<readonly [number]>(
        `SELECT coalesce(sum(octet_length(fields)), 0) FROM resources_${part}`,
      );
      return size.one()?.[0] ?? 0;
    });
  const fields = searched.reduce((sum, bytes) => sum + bytes, 0);
  return Math.ceil(copyToSource * sizeOf(source) + wordsToFields * fields);
}

/** Throws when acknowledged writes are missing after the disk has failed. */
function assertComplete(file: DatabaseFile, source: Connection): void {
  const { batch: acknowledged = 0 } = readSuspectMark(file) ?? {};
  const [batch = 0] = source.query<readonly [number]>("SELECT batch FROM ledger").one() ?? [];
  if (batch < acknowledged)
    throw new Outage(
      "suspect",
      `acknowledged writes are missing: the last one was ${acknowledged}, and the files end at ${batch}. Restore a backup; or accept the loss by deleting restante.suspect and starting again`,
    );
}

/** Copies in small steps. Between them the process can react to signals. */
async function copy(source: Connection, path: string, report: Report): Promise<void> {
  createFile(path);
  const target = new Connection(path, "fill");
  try {
    createTables(target);
    let reportedAt = performance.now();
    for (const fraction of copyOld(source, target)) {
      if (performance.now() - reportedAt >= progressMs) {
        reportedAt = performance.now();
        report("info", `migrating the database: ${Math.floor(100 * fraction)} %`);
      }
      await setImmediate();
    }
  } finally {
    target.close();
  }
}
