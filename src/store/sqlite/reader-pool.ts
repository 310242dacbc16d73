// Runs queries that can be long on reader threads, so that they do not block the event loop.

import type { QueueLimits } from "../../lib/job-queue.ts";
import type { Metrics } from "../../lib/metrics.ts";
import { scriptUrl } from "../../lib/program.ts";
import { type Ask, ThreadPool } from "../../lib/thread-pool.ts";
import { Outage } from "../../model/outage.ts";
import type { Query } from "../../model/query/query.ts";
import { Damage, type StoredResource } from "../core/stored-resource.ts";
import { QueryQueue } from "../query-queue.ts";
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

/** Node collects garbage earlier with a limit. A query needs far less; Bun ignores it. */
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 16 };

/** A query looks often whether it was stopped. A step of SQLite cannot be ended before its end. */
const graceMs = 60_000;

export interface ReaderPoolOptions {
  readonly file: DatabaseFile;
  readonly limits: QueueLimits;
  readonly maxCounted: number | undefined;
  readonly metrics?: Metrics | undefined;
}

export class ReaderPool {
  readonly #queue: QueryQueue;
  readonly #threads: ThreadPool<ReaderRequest, ReaderReply>;

  constructor({ file, limits, maxCounted, metrics }: ReaderPoolOptions) {
    const { path, commitCounter } = file;
    const data: Omit<ReaderData, "stopped"> = { path, commitCounter, maxCounted };
    const queue = new QueryQueue(limits, metrics);
    const threads = new ThreadPool<ReaderRequest, ReaderReply>({
      ...{ script, data, queue, graceMs, resourceLimits },
    });
    this.#queue = queue;
    this.#threads = threads;
    metrics?.gauge(
      "restante_reader_threads",
      "How many threads answer queries.",
      () => threads.size,
    );
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

  close(): Promise<void> {
    return this.#threads.close();
  }

  #read(read: LongRead, options: ReadOptions): Promise<LongResult | undefined> {
    return this.#threads.run(options, (ask, signal) => resultOf(read, ask, signal));
  }
}

async function resultOf(
  read: LongRead,
  ask: Ask<ReaderRequest, ReaderReply>,
  signal: AbortSignal,
): Promise<LongResult | undefined> {
  const rows: StoredResource<string | Uint8Array>[] = [];
  let reply = await ask(read);
  while (reply.kind === "rows") {
    rows.push(...reply.rows);
    signal.throwIfAborted();
    reply = await ask("next");
  }
  if (reply.kind === "result") return reply.result && unpackResult(rows, reply.result);
  if (reply.kind === "bug") throw new Error(`a query failed: ${reply.message}`);
  const { reason, message, id } = reply;
  throw id === undefined ? new Outage(reason, message) : new Damage(id, read.collection);
}
