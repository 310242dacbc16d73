// Measures what all requests share: the memory in flight, slow queries, files and backups.

import type { Backups } from "../domain/backups.ts";
import type { ResumableUploads } from "../domain/resumable-uploads.ts";
import type { SlowQueries } from "../domain/slow-queries.ts";
import type { Uploads } from "../domain/uploads.ts";
import type { MemoryBudget } from "../lib/memory-budget.ts";
import type { Metrics } from "../lib/metrics.ts";
import { Outage } from "../model/outage.ts";
import { system } from "../model/principal.ts";
import { Problem } from "../model/problem.ts";
import type { Store } from "../store/store.ts";

export interface MeasuredServices {
  readonly memory: MemoryBudget;
  readonly slowQueries: SlowQueries;
  readonly backups: Backups;
  readonly uploads: Pick<Uploads, "counts">;
  readonly resumableUploads: Pick<ResumableUploads, "counts">;
  readonly store: Pick<Store, "fileBytes">;
}

export function measureServices(metrics: Metrics, services: MeasuredServices): void {
  const { memory, slowQueries, backups } = services;
  metrics.gauge(
    "restante_in_flight_bytes",
    "The bytes of requests and responses in memory.",
    () => memory.usedBytes,
  );
  metrics.count(
    "restante_slow_queries_total",
    "Queries that took a second, checked 1,000 resources one by one or were stopped.",
    () => slowQueries.count,
  );
  measureFiles(metrics, services);
  metrics.gauge(
    "restante_stored_file_bytes",
    "The bytes of all files of resources, at most a minute old.",
    storedBytes(services.store),
    "max",
  );
  measureBackups(metrics, backups);
}

function measureFiles(
  metrics: Metrics,
  { uploads, resumableUploads }: Pick<MeasuredServices, "uploads" | "resumableUploads">,
): void {
  const files = uploads.counts;
  const resumable = resumableUploads.counts;
  const counts: readonly (readonly [string, string, () => number])[] = [
    ["files_saved", "Files that were uploaded.", () => files.saved],
    ["file_bytes_saved", "The bytes of files that were uploaded.", () => files.savedBytes],
    ["files_read", "Downloads of files, whole or in part.", () => files.read],
    ["file_bytes_read", "The bytes that downloads asked for.", () => files.readBytes],
    [
      "files_swept",
      "Files that were removed because no resource referred to them.",
      () => files.swept,
    ],
    ["resumable_uploads_begun", "Resumable uploads that were begun.", () => resumable.begun],
    [
      "resumable_uploads_completed",
      "Resumable uploads that were completed.",
      () => resumable.completed,
    ],
    [
      "resumable_uploads_expired",
      "Resumable uploads that expired unfinished.",
      () => resumable.expired,
    ],
  ];
  for (const [name, help, read] of counts) metrics.count(`restante_${name}_total`, help, read);
}

const minuteMs = 60_000;

/** Adding up all files takes a moment, so it is done once a minute at most, when someone asks. */
function storedBytes(store: Pick<Store, "fileBytes">): () => number | undefined {
  let bytes: number | undefined;
  let readAt = Number.NEGATIVE_INFINITY;
  const keep = (found: number): void => {
    bytes = found;
  };
  return () => {
    if (performance.now() - readAt < minuteMs) return bytes;
    readAt = performance.now();
    // An outage is reported by what needs the store; the last value stays.
    try {
      const found = store.fileBytes();
      if (typeof found === "number") keep(found);
      else void found.then(keep, () => undefined);
    } catch (error) {
      if (!(error instanceof Outage)) throw error;
    }
    return bytes;
  };
}

/** Every process shows the same backups, so the largest value is the value. */
function measureBackups(metrics: Metrics, backups: Backups): void {
  const runs = () => {
    const status = backups.list(system);
    return status instanceof Problem ? [] : status.runs;
  };
  const lastDone = () => runs().find(({ state }) => state === "done");
  metrics.gauge(
    "restante_backup_last_success_timestamp_seconds",
    "When the last scheduled backup that succeeded began, in seconds since 1970.",
    () => seconds(lastDone()?.startedAt),
    "max",
  );
  metrics.gauge(
    "restante_backup_last_duration_seconds",
    "How long that backup took.",
    () => lastDone()?.seconds,
    "max",
  );
  metrics.gauge(
    "restante_backup_last_bytes",
    "The size of that backup: all rows and files.",
    () => lastDone()?.bytes,
    "max",
  );
  metrics.gauge(
    "restante_backup_last_written_bytes",
    "How many of its bytes were new, and were written.",
    () => lastDone()?.writtenBytes,
    "max",
  );
  metrics.gauge(
    "restante_backup_last_failed",
    "1 when the last scheduled backup failed, otherwise 0.",
    () => {
      const last = runs().find(({ state }) => state !== "running");
      return last && Number(last.state === "failed");
    },
    "max",
  );
}

const seconds = (ms: number | undefined): number | undefined =>
  ms === undefined ? undefined : ms / 1_000;
