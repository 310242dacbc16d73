// Lends connections to queries that can be long: one query at a time on each, so that no other read waits for it.

import { defaultDeadlineMs, QueryQueue, queueLimits } from "../query-queue.ts";
import { maxCounted, type ReadOptions } from "../store.ts";
import { Connection, rows, type Sql } from "./connection.ts";
import { isRepeatableRead, readOutageOf } from "./errors.ts";
import type { PostgresSettings } from "./options.ts";
import type { Pool } from "./pool.ts";

interface Lent {
  readonly connection: Connection;
  readonly generation: number;
}

export class QueryPool {
  readonly #open: () => Promise<Connection>;
  readonly #pool: Pool;
  readonly #queue: QueryQueue;
  readonly maxCounted: number;
  #idle: Lent[] = [];
  /** Counts the reconnects: a connection that was begun before the last one is not used again. */
  #generation = 0;
  /** The server ends statements at it, too. */
  #deadlineMs: number;

  /** `pool` is for short reads. */
  constructor(settings: PostgresSettings, pool: Pool) {
    const { url, readUrl, queries, queryDeadlineMs, maxCounted: most, metrics } = settings;
    const deadlineMs = queryDeadlineMs ?? defaultDeadlineMs;
    this.#deadlineMs = deadlineMs;
    this.#open = () =>
      Connection.open({ ...settings, url: readUrl ?? url, deadlineMs: this.#deadlineMs });
    this.#pool = pool;
    this.#queue = new QueryQueue(queueLimits(queries, deadlineMs), metrics);
    this.maxCounted = most ?? maxCounted;
  }

  run<T>(options: ReadOptions, work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#queue.run(options, async (signal) => {
      try {
        return await this.#repeat(signal, work);
      } catch (error) {
        throw readOutageOf(error) ?? error;
      }
    });
  }

  /** A connection keeps the deadline that it was opened with. */
  setDeadline(ms: number): void {
    if (ms === this.#deadlineMs) return;
    this.#deadlineMs = ms;
    this.#queue.setDeadline(ms);
    this.reconnect();
  }

  /** Later queries open new connections, possibly to another server. */
  reconnect(): void {
    this.#generation++;
    for (const { connection } of this.#idle.splice(0)) void connection.close();
  }

  async close(): Promise<void> {
    await this.#queue.close();
    await Promise.all(this.#idle.splice(0).map(({ connection }) => connection.close()));
  }

  /** Repeats a query when its connection is lost. All that were idle can be, so the last try opens another. */
  async #repeat<T>(signal: AbortSignal, work: (sql: Sql) => Promise<T>): Promise<T> {
    for (let others = this.#idle.length; ; others--)
      try {
        return await this.#use(signal, work);
      } catch (error) {
        if (signal.aborted || !isRepeatableRead(error) || others < 0) throw error;
      }
  }

  async #use<T>(signal: AbortSignal, work: (sql: Sql) => Promise<T>): Promise<T> {
    const lent = await this.#take();
    const { connection } = lent;
    const stop = () => {
      // When the server cannot be reached, the other connections go the same way.
      this.#cancel(connection.pid).catch(() => this.reconnect());
      connection.destroy();
    };
    signal.addEventListener("abort", stop, { once: true });
    try {
      signal.throwIfAborted();
      return await connection.run(work);
    } finally {
      signal.removeEventListener("abort", stop);
      if (lent.generation !== this.#generation) void connection.close();
      else if (!connection.isLost) this.#idle.push(lent);
    }
  }

  async #take(): Promise<Lent> {
    this.#idle = this.#idle.filter(({ connection }) => !connection.isLost);
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle;
    const generation = this.#generation;
    const connection = await this.#open();
    if (generation !== this.#generation) {
      void connection.close();
      return this.#take();
    }
    return { connection, generation };
  }

  /** Ends the statement of another connection: the server does not notice that its client has left. */
  #cancel(pid: number): Promise<unknown> {
    return this.#pool.read((sql) => rows(sql`SELECT pg_cancel_backend(${pid}::bigint::int)`));
  }
}
