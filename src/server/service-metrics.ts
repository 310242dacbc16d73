// Measures what all requests share: the memory in flight, slow queries and backups.

import type { Backups } from "../domain/backups.ts";
import type { SlowQueries } from "../domain/slow-queries.ts";
import type { MemoryBudget } from "../lib/memory-budget.ts";
import type { Metrics } from "../lib/metrics.ts";
import { system } from "../model/principal.ts";
import { Problem } from "../model/problem.ts";

export interface MeasuredServices {
  readonly memory: MemoryBudget;
  readonly slowQueries: SlowQueries;
  readonly backups: Backups;
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
  measureBackups(metrics, backups);
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
