// Runs queries that can be long on reader threads, so that they do not block the event loop.

import { Worker } from "node:worker_threads";
import type { Metrics } from "../../lib/metrics.ts";
import { scriptUrl } from "../../lib/program.ts";
import { Outage } from "../../model/outage.ts";
import type { Query } from "../../model/query/query.ts";
import { Damage, type StoredResource } from "../core/stored-resource.ts";
import { QueryQueue, type QueueLimits } from "../query-queue.ts";
import type { QueryResult, Range, ReadOptions, Slice } from "../store.ts";
import type { DatabaseFile } from "./file.ts";
import {
  type LongRead,
  type LongResult,
  type ReaderData,
  type ReaderReply,
  type ReaderRequest,
  unpackResult,
} from "./reader-messages.ts";

/** The script of a reader thread, as source or built. */
const script = scriptUrl("store/sqlite/reader-thread");

export interface ReaderPoolOptions {
  readonly file: DatabaseFile;
  readonly limits: QueueLimits;
  readonly maxCounted: number | undefined;
  readonly metrics?: Metrics | undefined;
}

export class ReaderPool {
  readonly #options: ReaderPoolOptions;
  readonly #queue: QueryQueue;
  #idle: ReaderThread[] = [];
  /** The number of threads, idle and busy. */
  #size = 0;
  #isClosed = false;

  constructor(options: ReaderPoolOptions) {
    this.#options = options;
    const { limits, metrics } = options;
    this.#queue = new QueryQueue(limits, metrics);
    metrics?.gauge("restante_reader_threads", "How many threads answer queries.", () => this.#size);
  }

  query(
    collection: string,
    query: Query,
    options: ReadOptions = {},
  ): Promise<QueryResult | undefined> {
    return this.#read({ collection, query }, options) as Promise<QueryResult | undefined>;
  }

  slice(collection: string, range: Range, options: ReadOptions = {}): Promise<Slice | undefined> {
    return this.#read({ collection, range }, options);
  }

  setDeadline(ms: number): void {
    this.#queue.setDeadline(ms);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#queue.close();
    await Promise.all(this.#idle.splice(0).map((thread) => thread.close()));
  }

  #read(read: LongRead, options: ReadOptions): Promise<LongResult | undefined> {
    return this.#queue.run(options, (signal) => this.#run(read, signal));
  }

  async #run(read: LongRead, signal: AbortSignal): Promise<LongResult | undefined> {
    if (this.#isClosed) throw new Outage("unavailable", "the store is closed");
    const thread = this.#idle.pop() ?? this.#start();
    try {
      return await thread.read(read, signal);
    } finally {
      if (thread.hasExited) this.#size--;
      else this.#idle.push(thread);
    }
  }

  #start(): ReaderThread {
    this.#size++;
    return new ReaderThread(this.#options);
  }
}

/** Node collects garbage earlier with a limit. A query needs far less; Bun ignores it. */
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 16 };

class ReaderThread {
  readonly #worker: Worker;
  readonly #stopped = new Int32Array(new SharedArrayBuffer(4));
  #number = 0;
  #pending: PromiseWithResolvers<ReaderReply | "closed"> | undefined;
  hasExited = false;

  constructor({ file: { path, commitCounter }, maxCounted }: ReaderPoolOptions) {
    const workerData: ReaderData = { path, commitCounter, maxCounted, stopped: this.#stopped };
    this.#worker = new Worker(script, { workerData, resourceLimits });
    this.#worker.on("message", (reply: ReaderReply | "closed") => this.#pending?.resolve(reply));
    this.#worker.on("error", (error) => this.#handleExit(String(error)));
    this.#worker.on("exit", (code) => this.#handleExit(`exit code ${code}`));
    // An idle thread does not keep the process alive.
    this.#worker.unref();
  }

  async read(read: LongRead, signal: AbortSignal): Promise<LongResult | undefined> {
    const number = ++this.#number;
    const stop = () => void Atomics.store(this.#stopped, 0, number);
    signal.addEventListener("abort", stop, { once: true });
    try {
      const rows: StoredResource<string | Uint8Array>[] = [];
      let reply = await this.#send({ ...read, number });
      while (reply !== "closed" && reply.kind === "rows") {
        rows.push(...reply.rows);
        signal.throwIfAborted();
        reply = await this.#send("next");
      }
      return resultOf(reply, rows, read.collection);
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  async close(): Promise<void> {
    if (this.hasExited) return;
    await Promise.allSettled([this.#send("close")]);
    this.hasExited = true;
    await this.#worker.terminate();
  }

  #send(message: ReaderRequest | "next" | "close"): Promise<ReaderReply | "closed"> {
    const pending = Promise.withResolvers<ReaderReply | "closed">();
    this.#pending = pending;
    this.#worker.ref();
    this.#worker.postMessage(message);
    return pending.promise.finally(() => this.#worker.unref());
  }

  #handleExit(reason: string): void {
    this.hasExited = true;
    this.#pending?.reject(new Outage("unavailable", `a reader thread has stopped: ${reason}`));
  }
}

function resultOf(
  reply: Exclude<ReaderReply, { kind: "rows" }> | "closed",
  rows: readonly StoredResource<string | Uint8Array>[],
  collection: string,
): LongResult | undefined {
  if (reply === "closed") throw new Outage("unavailable", "the store is closed");
  if (reply.kind === "result") return reply.result && unpackResult(rows, reply.result);
  if (reply.kind === "bug") throw new Error(`a query failed: ${reply.message}`);
  const { reason, message, id } = reply;
  throw id === undefined ? new Outage(reason, message) : new Damage(id, collection);
}
