// Runs a task in the background some time after it is scheduled, and again when it fails, at growing intervals.

const firstRetryMs = 1_000;

export class BackgroundTask {
  readonly #run: (isStopped: () => boolean) => Promise<void>;
  readonly #maxRetryMs: number;
  #retryMs = firstRetryMs;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = 0;
  #running: Promise<void> | undefined;
  #isClosed = false;

  constructor(run: (isStopped: () => boolean) => Promise<void>, maxRetryMs: number) {
    this.#run = run;
    this.#maxRetryMs = maxRetryMs;
  }

  /** Runs a task again and again, with this pause. */
  static repeat(run: (isStopped: () => boolean) => Promise<void>, pauseMs: number): BackgroundTask {
    const task: BackgroundTask = new BackgroundTask(async (isStopped) => {
      await run(isStopped);
      task.schedule(pauseMs);
    }, pauseMs);
    task.schedule(pauseMs);
    return task;
  }

  /** Does nothing when the task is scheduled for an earlier time already. */
  schedule(delayMs: number): void {
    const dueAt = performance.now() + delayMs;
    if (this.#isClosed || (this.#timer !== undefined && this.#dueAt <= dueAt)) return;
    clearTimeout(this.#timer);
    this.#dueAt = dueAt;
    this.#timer = setTimeout(() => this.#start(), delayMs).unref();
  }

  /** Waits for the step that is running. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #start(): void {
    this.#timer = undefined;
    const before = this.#running ?? Promise.resolve();
    this.#running = before
      .then(() => this.#run(() => this.#isClosed))
      .then(
        () => {
          this.#retryMs = firstRetryMs;
        },
        // The database is not reachable, which requests report.
        () => {
          this.schedule(this.#retryMs);
          this.#retryMs = Math.min(2 * this.#retryMs, this.#maxRetryMs);
        },
      );
  }
}
