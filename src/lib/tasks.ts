// Runs named tasks in the background, each again and again, and says how they went.

import type { Labels, Metrics } from "./metrics.ts";

const firstRetryMs = 1_000;
/** The longest pause after a failure of a task without an interval. */
const longestRetryMs = 60_000;

export interface TaskOptions {
  readonly name: string;
  /** The pause after each run. Without it, the task runs only when it is scheduled. */
  readonly everyMs?: number;
  /** The pause after the first failure in a row; it doubles with each one that follows. */
  readonly retryMs?: number;
  /** What the log says of a failure. */
  readonly failure?: string;
  /** A long run ends when it is stopped. */
  readonly run: (isStopped: () => boolean) => Promise<unknown>;
}

/** How a task is doing. Times are in milliseconds since 1970. */
export interface TaskState {
  readonly name: string;
  readonly isRunning: boolean;
  /** When the last run began, or the one that is running. */
  readonly startedAt?: number | undefined;
  /** How long the last run took. */
  readonly seconds?: number | undefined;
  /** Why the last run failed, if it did. */
  readonly error?: string | undefined;
  /** When the next run begins. */
  readonly nextAt?: number | undefined;
}

/** Called after each run; with what was thrown when it has failed. */
type RunEnded = (task: Task, failure?: { readonly error: unknown }) => void;

export class Task {
  readonly options: TaskOptions;
  readonly #ended: RunEnded;
  #retryMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #dueAt = 0;
  #running: Promise<void> | undefined;
  #isClosed = false;
  #state: TaskState;

  constructor(options: TaskOptions, ended: RunEnded) {
    this.options = options;
    this.#ended = ended;
    this.#retryMs = options.retryMs ?? firstRetryMs;
    this.#state = { name: options.name, isRunning: false };
  }

  get state(): TaskState {
    return this.#state;
  }

  /** Does nothing when the task is scheduled for an earlier time already. */
  schedule(delayMs: number): void {
    const dueAt = performance.now() + delayMs;
    if (this.#isClosed || (this.#timer !== undefined && this.#dueAt <= dueAt)) return;
    clearTimeout(this.#timer);
    this.#dueAt = dueAt;
    this.#state = { ...this.#state, nextAt: Date.now() + delayMs };
    this.#timer = setTimeout(() => this.#start(), delayMs);
    this.#timer.unref();
  }

  /** Waits for the run in progress, which is told to stop. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #start(): void {
    this.#timer = undefined;
    const before = this.#running ?? Promise.resolve();
    this.#running = before.then(() => this.#run());
  }

  async #run(): Promise<void> {
    if (this.#isClosed) return;
    const { name, run, everyMs, retryMs = firstRetryMs } = this.options;
    const [startedAt, since] = [Date.now(), performance.now()];
    this.#state = { ...this.#state, isRunning: true, startedAt, nextAt: undefined };
    const failure = await run(() => this.#isClosed).then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    const seconds = (performance.now() - since) / 1_000;
    const { nextAt } = this.#state;
    this.#state = { name, isRunning: false, startedAt, seconds, nextAt };
    if (failure === undefined) {
      this.#retryMs = retryMs;
      if (everyMs !== undefined) this.schedule(everyMs);
      this.#ended(this);
      return;
    }
    const { error } = failure;
    this.#state = { ...this.#state, error: error instanceof Error ? error.message : String(error) };
    this.schedule(this.#retryMs);
    this.#retryMs = Math.min(2 * this.#retryMs, everyMs ?? Math.max(retryMs, longestRetryMs));
    // What it uses may be closed.
    if (!this.#isClosed) this.#ended(this, failure);
  }
}

export interface TasksOptions {
  /** Called when a run fails, with what the log says. */
  readonly onFailure?: (message: string, name: string, error: unknown) => void;
  readonly metrics?: Metrics | undefined;
}

interface RunCounts {
  done: number;
  failed: number;
}

export class Tasks {
  readonly #onFailure: TasksOptions["onFailure"];
  readonly #tasks: Task[] = [];
  readonly #counts = new Map<string, RunCounts>();

  constructor({ onFailure, metrics }: TasksOptions = {}) {
    this.#onFailure = onFailure;
    metrics?.counts(
      "restante_task_runs_total",
      "Runs of tasks in the background, by how they ended.",
      () => this.#samples(),
    );
  }

  /** The task begins when it is scheduled. */
  add(options: TaskOptions): Task {
    const task = new Task(options, (ended, failure) => this.#count(ended, failure));
    this.#tasks.push(task);
    this.#counts.set(options.name, { done: 0, failed: 0 });
    return task;
  }

  /** How they are doing, in the order of their names. */
  list(): readonly TaskState[] {
    return this.#tasks.map(({ state }) => state).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** No run begins any more. Does not wait for those in progress. */
  stop(): void {
    for (const task of this.#tasks) void task.close();
  }

  #count(
    { options: { name, failure = "a task in the background failed" } }: Task,
    failed: { readonly error: unknown } | undefined,
  ): void {
    const counts = this.#counts.get(name);
    if (counts !== undefined) counts[failed ? "failed" : "done"]++;
    if (failed) this.#onFailure?.(failure, name, failed.error);
  }

  *#samples(): Generator<readonly [Labels, number]> {
    for (const [task, counts] of this.#counts)
      for (const outcome of ["done", "failed"] as const) yield [{ task, outcome }, counts[outcome]];
  }
}
