// The queue of the queries that can be long, with its limits, its errors and what the metrics show of it.

import { JobQueue, type MakeError, type QueueLimits } from "../lib/job-queue.ts";
import type { Metrics } from "../lib/metrics.ts";
import { Outage } from "../model/outage.ts";

/** How long a query may take by default, including its wait. */
export const defaultDeadlineMs = 10_000;

/** The limits for this many queries at a time. */
export const queueLimits = (running: number, deadlineMs = defaultDeadlineMs): QueueLimits => ({
  running,
  deadlineMs,
  waiting: 1_000,
  waitingPerCaller: 100,
});

export class QueryQueue extends JobQueue {
  constructor(limits: QueueLimits, metrics?: Metrics) {
    super(limits, outageOf);
    metrics?.gauge(
      "restante_queries_running",
      "How many queries that can be long run now.",
      () => this.running,
    );
    metrics?.gauge(
      "restante_queries_waiting",
      "How many queries wait for another one to end.",
      () => this.waiting,
    );
  }
}

const outageOf: MakeError = (failure, detail) => {
  switch (failure) {
    case "timeout":
      return new Outage("timeout", `the query took longer than ${detail}`);
    case "cancelled":
      return new Outage("cancelled", "the client has left");
    case "crowded":
      return new Outage("crowded", "too many queries are waiting");
    case "closed":
      return new Outage("unavailable", "the store is closed");
    case "lost":
      return new Outage("unavailable", `a reader thread has stopped: ${detail}`);
  }
};
