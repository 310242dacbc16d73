// The connections that answer reads: the least busy one is asked, and a lost one is replaced.

import { Outage } from "../store.ts";
import type { Connection, Sql } from "./connection.ts";
import { isLoss, storageTrouble } from "./errors.ts";

/** More than this waiting on each connection, and new reads are turned away. */
const maxUnderWay = 200;
/** So long after an attempt to have one connection more, another is made: the server may be at its limit. */
const growMs = 100;

export class Pool {
  readonly #open: () => Promise<Connection>;
  readonly #size: number;
  #connections: readonly Connection[] = [];
  #opening: Promise<Connection> | undefined;
  #growAt = 0;
  #isClosed = false;

  constructor(open: () => Promise<Connection>, size: number) {
    this.#open = open;
    this.#size = size;
  }

  get size(): number {
    return this.#size;
  }

  /** A read does no harm when it is asked twice: so a connection lost meanwhile goes unnoticed. */
  async read<T>(send: (sql: Sql) => Promise<T>): Promise<T> {
    try {
      return await this.#ask(send).catch((error) => {
        if (isLoss(error)) return this.#ask(send);
        throw error;
      });
    } catch (error) {
      throw storageTrouble(error) ?? error;
    }
  }

  /** What is under way is answered; all that comes later goes to wherever the address leads by then. */
  renew(): void {
    const before = this.#connections;
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
    if (connection.underWay >= maxUnderWay) throw new Outage("busy", "too many reads are waiting");
    return connection.ask(send);
  }

  /** Nobody waits for one connection more while there is any. */
  #leastBusy(): Connection | undefined {
    this.#connections = this.#connections.filter(({ isLost }) => !isLost);
    const [best] = this.#connections.toSorted((one, other) => one.underWay - other.underWay);
    const isTight = best && best.underWay > 0 && this.#connections.length < this.#size;
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
    const connection = await this.#open();
    this.#connections = [...this.#connections, connection];
    return connection;
  }
}
