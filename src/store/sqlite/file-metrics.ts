// Measures the files of the database, and the space that is left beside them.

import { statSync } from "node:fs";
import type { Metrics } from "../../lib/metrics.ts";
import type { DatabaseFile } from "./file.ts";
import { freeBytes } from "./free-space.ts";

export function measureFile(metrics: Metrics, { path }: DatabaseFile): void {
  metrics.gauge("restante_wal_bytes", "The size of the WAL.", () => sizeOf(`${path}-wal`));
  metrics.gauge("restante_database_bytes", "The size of the database file.", () => sizeOf(path));
  metrics.gauge("restante_disk_free_bytes", "The free space on the disk of the database.", () =>
    freeBytes(path),
  );
}

/** Undefined when there is no such file now. */
const sizeOf = (path: string): number | undefined =>
  statSync(path, { throwIfNoEntry: false })?.size;
