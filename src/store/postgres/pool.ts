// Pools the connections for reads: uses the least busy one, and replaces lost ones.

import type { Metrics } from "../../lib/metrics.ts";
import { Outage } from "../../model/outage.ts";
import type { Connection, Sql } from "./connection.ts";
import { isRepeatableRead, readOutageOf } from "./errors.ts";

/** When this many reads wait on every connection, new ones are rejected. */
const maxInFlight = 200;
/** The pause between attempts to open another connection, as the server may be at its limit. */
const growMs = 100;

export class Pool {
  readonly #open: () => Promise<Connection>;
  readonly #size: number;
  #connections: readonly Connection[] = [];
  #opening: Promise<Connection> | undefined;
  #growAt = 0;
  /** Counts the reconnects: a connection that was begun before the last one may be to the former server. */
  #generation = 0;
  #isClosed = false;

  constructor(open: () => Promise<Connection>, size: number, metrics?: Metrics) {
    this.#open = open;
    this.#size = size;
    metrics?.gauge(
      "restante_postgres_read_connections",
      "How many connections for short reads are open.",
      () => this.#connections.length,
    );
    metrics?.gauge(
      "restante_postgres_reads_in_flight",
      "How many short reads wait for the database.",
      () => this.#connections.reduce((sum, { inFlight }) => sum + inFlight, 0),
    );
  }

  get size(): number {
    return this.#size;
  }

  /** Repeats a read when its connection is lost. All that were open can be, so the last try opens another. */
  async read<T>(send: (sql: Sql) => Promise<T>): Promise<T> {
    for (let others = this.#connections.length; ; others--)
      try {
        return await this.#ask(send);
      } catch (error) {
        if (!isRepeatableRead(error) || others < 0) throw readOutageOf(error) ?? error;
      }
  }

  /** Opens new connections for later reads, possibly to another server; reads in flight are finished. */
  reconnect(): void {
    const before = this.#connections;
    this.#generation++;
    this.#connections = [];
    for (const connection of before) void connection.close();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled([this.#opening]);
    await Promise.all(this.#connections.map((connection) => connection.close()));
  }

  async #ask<T>(send: (sql: Sql) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new Outage("unavailable", "the store is closed");
    const connection = this.#leastBusy() ?? (await this.#grow());
    if (connection.inFlight >= maxInFlight) throw new Outage("busy", "too many reads are waiting");
    const generation = this.#generation;
    try {
      return await connection.run(send);
    } finally {
      // The other connections go the same way.
      if (connection.isSilent && generation === this.#generation) this.reconnect();
    }
  }

  /** Opens another connection in the background when all are busy. */
  #leastBusy(): Connection | undefined {
    this.#connections = this.#connections.filter(({ isLost }) => !isLost);
    const [best] = this.#connections.toSorted((one, other) => one.inFlight - other.inFlight);
    const isTight = best && best.inFlight > 0 && this.#connections.length < this.#size;
    if (isTight && performance.now() >= this.#growAt) this.#grow().catch(() => undefined);
    return best;
  }

  async #grow(): Promise<Connection> {
    this.#opening ??= this.#add().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #add(): Promise<Connection> {
    this.#growAt = performance.now() + growMs;
    const generation = this.#generation;
    const connection = await this.#open();
    if (generation !== this.#generation) {
      void connection.close();
      return this.#add();
    }
    this.#connections = [...this.#connections, connection];
    return connection;
  }
}
