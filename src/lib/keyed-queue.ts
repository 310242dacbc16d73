// Runs tasks that share a key one after another, and other tasks at the same time, up to a limit.

interface QueuedWork {
  readonly keys: readonly string[];
  readonly run: () => Promise<unknown>;
}

export class KeyedQueue {
  readonly #maxRunning: number;
  readonly #busyKeys = new Set<string>();
  #waiting: QueuedWork[] = [];
  #running = 0;
  #onIdle: (() => void)[] = [];

  constructor(maxRunning: number) {
    this.#maxRunning = maxRunning;
  }

  /** Runs the task when all earlier tasks with one of its keys have ended. */
  run<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ keys, run: () => work().then(resolve, reject) });
      this.#startTasks();
    });
  }

  /** Resolves when no task is running or waiting. */
  async idle(): Promise<void> {
    if (this.#running > 0) await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }

  #startTasks(): void {
    const takenKeys = new Set(this.#busyKeys);
    this.#waiting = this.#waiting.filter((task) => {
      const canStart =
        this.#running < this.#maxRunning && task.keys.every((key) => !takenKeys.has(key));
      if (canStart) void this.#start(task);
      for (const key of task.keys) takenKeys.add(key);
      return !canStart;
    });
  }

  async #start({ keys, run }: QueuedWork): Promise<void> {
    this.#running++;
    for (const key of keys) this.#busyKeys.add(key);
    await run();
    for (const key of keys) this.#busyKeys.delete(key);
    this.#running--;
    this.#startTasks();
    if (this.#running === 0) for (const resolve of this.#onIdle.splice(0)) resolve();
  }
}
