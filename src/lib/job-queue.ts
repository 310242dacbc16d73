// Runs jobs that can be long: a few at a time, the callers in turn, each one with a deadline.

export interface QueueLimits {
  /** How long a job may take, including its wait. */
  deadlineMs: number;
  /** How many jobs run at the same time. */
  readonly running: number;
  /** How many wait. */
  readonly waiting: number;
  readonly waitingPerCaller: number;
}

export interface JobOptions {
  /** Callers take turns when several jobs wait. */
  readonly caller?: string;
  /** Aborted when the client has left. */
  readonly signal?: AbortSignal;
}

/** A job must end soon after the signal is aborted. */
export type Job<T> = (signal: AbortSignal) => Promise<T>;

/** Why a job has no result. `lost`: its thread has ended. */
export type JobFailure = "timeout" | "cancelled" | "crowded" | "closed" | "lost";

/** Makes the error of a job. The detail says which deadline it has reached, or why its thread has ended. */
export type MakeError = (failure: JobFailure, detail?: string) => Error;

interface QueuedJob {
  readonly caller: string;
  readonly start: () => void;
}

export class JobQueue {
  readonly #limits: QueueLimits;
  readonly errorOf: MakeError;
  readonly #waiting = new FairQueue<QueuedJob>();
  /** Functions that stop the jobs that run or wait. */
  readonly #stops = new Set<(reason: Error) => void>();
  #running = 0;
  #onIdle: (() => void)[] = [];
  #isClosed = false;

  constructor(limits: QueueLimits, errorOf: MakeError) {
    this.#limits = { ...limits };
    this.errorOf = errorOf;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** For jobs that begin from now on. */
  setDeadline(ms: number): void {
    this.#limits.deadlineMs = ms;
  }

  /** Rejects as soon as the deadline is reached or the client has left, even if the job still ends its work. */
  run<T>(options: JobOptions, job: Job<T>): Promise<T> {
    const { caller = "", signal } = options;
    const { deadlineMs } = this.#limits;
    const refused = this.#refusalOf(caller, signal);
    if (refused !== undefined) return Promise.reject(this.errorOf(refused));
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const controller = new AbortController();
    const stop = (reason: Error) => {
      reject(reason);
      controller.abort(reason);
      this.#waiting.remove(caller, task);
    };
    const late = () => stop(this.errorOf("timeout", `${deadlineMs / 1_000} s`));
    const timer = setTimeout(late, deadlineMs);
    const leave = () => stop(this.errorOf("cancelled"));
    signal?.addEventListener("abort", leave, { once: true });
    this.#stops.add(stop);
    const settled = () => {
      clearTimeout(timer);
      this.#stops.delete(stop);
      signal?.removeEventListener("abort", leave);
    };
    promise.then(settled, settled);
    const task: QueuedJob = {
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

  /** Stops all jobs, and resolves when they have ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const stop of this.#stops) stop(this.errorOf("closed"));
    if (this.#running > 0) await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }

  #refusalOf(caller: string, signal: AbortSignal | undefined): JobFailure | undefined {
    const { waiting, waitingPerCaller } = this.#limits;
    if (this.#isClosed) return "closed";
    if (signal?.aborted) return "cancelled";
    const isFull =
      this.#waiting.size >= waiting || this.#waiting.sizeOf(caller) >= waitingPerCaller;
    return isFull ? "crowded" : undefined;
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

/** Queues items of several callers, and takes one of each caller in turn. */
class FairQueue<T> {
  /** The items by caller. The first caller is the next one to be served. */
  readonly #byCaller = new Map<string, T[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  sizeOf(caller: string): number {
    return this.#byCaller.get(caller)?.length ?? 0;
  }

  push(caller: string, item: T): void {
    const items = this.#byCaller.get(caller) ?? [];
    items.push(item);
    this.#byCaller.set(caller, items);
    this.#size++;
  }

  /** Takes the oldest item of the next caller, who then is the last one to be served again. */
  shift(): T | undefined {
    for (const [caller, items] of this.#byCaller) {
      const item = items.shift();
      this.#byCaller.delete(caller);
      if (items.length > 0) this.#byCaller.set(caller, items);
      if (item === undefined) continue;
      this.#size--;
      return item;
    }
    return undefined;
  }

  remove(caller: string, item: T): void {
    const items = this.#byCaller.get(caller);
    const index = items?.indexOf(item) ?? -1;
    if (items === undefined || index < 0) return;
    items.splice(index, 1);
    this.#size--;
    if (items.length === 0) this.#byCaller.delete(caller);
  }
}
