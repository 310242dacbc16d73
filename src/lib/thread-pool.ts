// Runs jobs on threads: a thread that has ended, or does not stop, is replaced when the next job begins.

import { type ResourceLimits, Worker } from "node:worker_threads";
import type { JobOptions, JobQueue } from "./job-queue.ts";

export interface ThreadPoolOptions {
  /** Answers each message with one message, and `close`, the last one, when it has closed its files. */
  readonly script: URL;
  /** Gets as `workerData` what it needs, and what a `ThreadData` has. */
  readonly data: object;
  /** How many jobs run at a time, and how long. */
  readonly queue: JobQueue;
  /** How long a thread may go on with a job that was stopped, before it is ended. */
  readonly graceMs: number;
  readonly resourceLimits?: ResourceLimits;
}

export interface ThreadData {
  /** Holds 1 when nobody waits for the job any more. */
  readonly stopped: Int32Array<SharedArrayBuffer>;
}

/** Sends one message to the thread, and resolves with its answer. */
export type Ask<Message, Answer> = (message: Message) => Promise<Answer>;

export class ThreadPool<Message, Answer> {
  readonly #options: ThreadPoolOptions;
  #idle: Thread<Message, Answer>[] = [];
  /** The number of threads, idle and busy. */
  size = 0;

  constructor(options: ThreadPoolOptions) {
    this.#options = options;
  }

  /** A job has a thread of its own until it ends. */
  run<T>(
    options: JobOptions,
    job: (ask: Ask<Message, Answer>, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    return this.#options.queue.run(options, async (signal) => {
      const thread = this.#idle.pop() ?? this.#start();
      const release = thread.stopWith(signal);
      try {
        return await job((message) => thread.ask(message), signal);
      } finally {
        release();
        if (thread.hasExited) this.size--;
        else this.#idle.push(thread);
      }
    });
  }

  async close(): Promise<void> {
    await this.#options.queue.close();
    await Promise.all(this.#idle.splice(0).map((thread) => thread.close()));
  }

  #start(): Thread<Message, Answer> {
    this.size++;
    return new Thread(this.#options);
  }
}

class Thread<Message, Answer> {
  readonly #options: ThreadPoolOptions;
  readonly #worker: Worker;
  readonly #stopped = new Int32Array(new SharedArrayBuffer(4));
  #pending: PromiseWithResolvers<Answer> | undefined;
  hasExited = false;

  constructor(options: ThreadPoolOptions) {
    const { script, data, resourceLimits = {} } = options;
    this.#options = options;
    const workerData = { ...data, stopped: this.#stopped } satisfies ThreadData;
    this.#worker = new Worker(script, { workerData, resourceLimits });
    this.#worker.on("message", (answer: Answer) => this.#pending?.resolve(answer));
    this.#worker.on("error", (error) => this.#handleExit(String(error)));
    this.#worker.on("exit", (code) => this.#handleExit(`exit code ${code}`));
    // An idle thread does not keep the process alive.
    this.#worker.unref();
  }

  ask(message: Message | "close"): Promise<Answer> {
    const pending = Promise.withResolvers<Answer>();
    this.#pending = pending;
    this.#worker.ref();
    this.#worker.postMessage(message);
    return pending.promise.finally(() => this.#worker.unref());
  }

  /** Stops the next job when the signal is aborted. Returns a function to call when the job has ended. */
  stopWith(signal: AbortSignal): () => void {
    let timer: NodeJS.Timeout | undefined;
    const stop = () => {
      Atomics.store(this.#stopped, 0, 1);
      timer = setTimeout(() => void this.#worker.terminate(), this.#options.graceMs);
    };
    Atomics.store(this.#stopped, 0, 0);
    signal.addEventListener("abort", stop, { once: true });
    return () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    };
  }

  async close(): Promise<void> {
    if (this.hasExited) return;
    await Promise.allSettled([this.ask("close")]);
    this.hasExited = true;
    await this.#worker.terminate();
  }

  #handleExit(reason: string): void {
    this.hasExited = true;
    this.#pending?.reject(this.#options.queue.errorOf("lost", reason));
  }
}
