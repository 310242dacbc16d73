// Prepares the database file, and starts the writer thread, before a store is opened.

import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Metrics } from "../../lib/metrics.ts";
import { scriptUrl } from "../../lib/program.ts";
import { requireNewestTables } from "./check-writes.ts";
import { type DatabaseFile, prepareFile } from "./file.ts";
import { freeBytes } from "./free-space.ts";
import { migrate } from "./migrate.ts";
import type { SqliteOptions } from "./options.ts";
import { type MigrationStep, migrationSteps, requireSupportedFile } from "./schema.ts";
import { WriterClient } from "./writer-client.ts";

/** The script of the writer thread, as source or built. */
const writerScript = scriptUrl("store/sqlite/writer");

export function openWriter(file: DatabaseFile, options: SqliteOptions): WriterClient {
  const { metrics } = options;
  const checkpointCount = new Int32Array(new SharedArrayBuffer(4));
  metrics?.count(
    "restante_checkpoints_total",
    "How often the WAL was copied into the database file.",
    () => Atomics.load(checkpointCount, 0),
  );
  if (metrics) measureFile(metrics, file);
  return new WriterClient(file, writerScript, { ...options, checkpointCount });
}

/** Throws when the folder has a database that this program neither opens nor migrates. Changes nothing. */
export function refuseOtherVersion(folder: string, steps = migrationSteps): void {
  const path = join(resolve(folder), "restante.db");
  try {
    requireSupportedFile(path, steps);
  } catch (error) {
    throw cannotOpen({ path }, error);
  }
}

/**
 * Creates the file when it does not exist, and migrates one that the steps can. A process that only reads
 * cannot.
 */
export async function openFile(
  { path, committer, report = () => undefined }: SqliteOptions,
  steps: readonly MigrationStep[] = migrationSteps,
): Promise<DatabaseFile> {
  refuseOtherVersion(path, steps);
  const file = prepareFile(path);
  try {
    if (committer) {
      requireNewestTables(file);
      return file;
    }
    return await migrate(file, steps, report);
  } catch (error) {
    throw cannotOpen(file, error);
  }
}

export function cannotOpen({ path }: Pick<DatabaseFile, "path">, error: unknown): Error {
  const message = error instanceof Error ? error.message : String(error);
  return new Error(`Cannot open ${path}: ${message}`, { cause: error });
}

function measureFile(metrics: Metrics, { path }: DatabaseFile): void {
  metrics.gauge("restante_wal_bytes", "The size of the WAL.", () => sizeOf(`${path}-wal`));
  metrics.gauge("restante_database_bytes", "The size of the database file.", () => sizeOf(path));
  metrics.gauge("restante_disk_free_bytes", "The free space on the disk of the database.", () =>
    freeBytes(path),
  );
}

/** Undefined when there is no such file now. */
const sizeOf = (path: string): number | undefined =>
  statSync(path, { throwIfNoEntry: false })?.size;
