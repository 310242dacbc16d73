// Runs queries that can be long: a few at a time, the callers in turn, each one with a deadline.

import { FairQueue } from "../lib/fair-queue.ts";
import type { Metrics } from "../lib/metrics.ts";
import { Outage } from "../model/outage.ts";
import type { ReadOptions } from "./store.ts";

export interface QueueLimits {
  /** How long a query may take, including its wait. */
  deadlineMs: number;
  /** How many queries run at the same time. */
  readonly running: number;
  /** How many wait. */
  readonly waiting: number;
  readonly waitingPerCaller: number;
}

/** How long a query may take by default, including its wait. */
export const defaultDeadlineMs = 10_000;

/** The limits for this many queries at a time. */
export const queueLimits = (running: number, deadlineMs = defaultDeadlineMs): QueueLimits => ({
  running,
  deadlineMs,
  waiting: 1_000,
  waitingPerCaller: 100,
});

/** A query must end soon after the signal is aborted. */
export type Job<T> = (signal: AbortSignal) => Promise<T>;

interface QueryTask {
  readonly caller: string;
  readonly start: () => void;
}

export class QueryQueue {
  readonly #limits: QueueLimits;
  readonly #waiting = new FairQueue<QueryTask>();
  /** Functions that stop the queries that run or wait. */
  readonly #stops = new Set<(reason: Outage) => void>();
  #running = 0;
  #onIdle: (() => void)[] = [];

  constructor(limits: QueueLimits, metrics?: Metrics) {
    this.#limits = { ...limits };
    metrics?.gauge(
      "restante_queries_running",
      "How many queries that can be long run now.",
      () => this.#running,
    );
    metrics?.gauge(
      "restante_queries_waiting",
      "How many queries wait for another one to end.",
      () => this.#waiting.size,
    );
  }

  /** For queries that begin from now on. */
  setDeadline(ms: number): void {
    this.#limits.deadlineMs = ms;
  }

  /** Rejects as soon as the deadline is reached or the client has left, even if the job still ends its work. */
  run<T>(options: ReadOptions, job: Job<T>): Promise<T> {
    const { caller = "", signal } = options;
    const { deadlineMs } = this.#limits;
    if (signal?.aborted) return Promise.reject(cancelled());
    if (this.#isFull(caller)) return Promise.reject(full());
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const controller = new AbortController();
    const stop = (reason: Outage) => {
      reject(reason);
      controller.abort(reason);
      this.#waiting.remove(caller, task);
    };
    const timer = setTimeout(() => stop(timeout(deadlineMs)), deadlineMs);
    const leave = () => stop(cancelled());
    signal?.addEventListener("abort", leave, { once: true });
    this.#stops.add(stop);
    const settled = () => {
      clearTimeout(timer);
      this.#stops.delete(stop);
      signal?.removeEventListener("abort", leave);
    };
    promise.then(settled, settled);
    const task: QueryTask = {
      caller,
      start: () => {
        this.#running++;
        job(controller.signal)
          .then(resolve, reject)
          .finally(() => this.#end());
      },
    };
    this.#waiting.push(caller, task);
    this.#startTasks();
    return promise;
  }

  /** Stops all queries, and resolves when they have ended. */
  async close(): Promise<void> {
    for (const stop of this.#stops) stop(new Outage("unavailable", "the store is closed"));
    if (this.#running > 0) await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }

  #isFull(caller: string): boolean {
    const { waiting, waitingPerCaller } = this.#limits;
    return this.#waiting.size >= waiting || this.#waiting.sizeOf(caller) >= waitingPerCaller;
  }

  #startTasks(): void {
    while (this.#running < this.#limits.running) {
      const task = this.#waiting.shift();
      if (task === undefined) return;
      task.start();
    }
  }

  #end(): void {
    this.#running--;
    this.#startTasks();
    if (this.#running === 0) for (const resolve of this.#onIdle.splice(0)) resolve();
  }
}

const timeout = (deadlineMs: number): Outage =>
  new Outage("timeout", `the query took longer than ${deadlineMs / 1_000} s`);

const cancelled = (): Outage => new Outage("cancelled", "the client has left");

const full = (): Outage => new Outage("crowded", "too many queries are waiting");
