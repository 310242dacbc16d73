// Pools the connections for writes. Each one begins a new epoch when it is opened (see ../core/epochs.ts).

import { nextEpoch } from "../core/epochs.ts";
import { type Connection, rows, type Sql } from "./connection.ts";

export interface WriterConnection {
  readonly connection: Connection;
  readonly epoch: number;
}

/** The caller limits how many connections are in use at a time. */
export class WriterPool {
  readonly #open: () => Promise<Connection>;
  #idle: WriterConnection[] = [];
  #inUse = 0;
  /** Counts the calls of `disconnect`. */
  #generation = 0;
  readonly #waiting: ((writer: WriterConnection | undefined) => void)[] = [];

  constructor(open: () => Promise<Connection>) {
    this.#open = open;
  }

  /** The number of open connections that are not in use. */
  get idle(): number {
    return this.#idle.length;
  }

  /** Calls `work` with a connection that nothing else uses meanwhile. */
  async use<T>(work: (writer: WriterConnection) => Promise<T>): Promise<T> {
    const generation = this.#generation;
    const writer = await this.#take();
    this.#inUse++;
    try {
      return await work(writer);
    } finally {
      this.#inUse--;
      // The others go the same way.
      if (writer.connection.isSilent && generation === this.#generation) this.disconnect();
      if (generation !== this.#generation) writer.connection.destroy();
      this.#release(writer);
    }
  }

  /** Closes the connections, those in use after their work: the next ones may reach the new primary server. */
  disconnect(): void {
    this.#generation++;
    for (const { connection } of this.#idle.splice(0)) connection.destroy();
  }

  /** Must be called when no connection is in use. */
  async close(): Promise<void> {
    await Promise.all(this.#idle.splice(0).map(({ connection }) => connection.close()));
  }

  async #take(): Promise<WriterConnection> {
    this.#idle = this.#idle.filter(({ connection }) => !connection.isLost);
    return this.#idle.pop() ?? (await this.#add());
  }

  #release(writer: WriterConnection): void {
    const isLost = writer.connection.isLost;
    const next = this.#waiting.shift();
    if (next) next(isLost ? undefined : writer);
    else if (!isLost) this.#idle.push(writer);
  }

  /** When the server accepts no more connections, it waits for one that is in use. */
  async #add(): Promise<WriterConnection> {
    try {
      return await openWriter(this.#open);
    } catch (error) {
      if (this.#inUse === 0) return this.#fail(error);
      const released = await new Promise<WriterConnection | undefined>((resolve) => {
        this.#waiting.push(resolve);
      });
      return released ?? this.#take();
    }
  }

  /** No connection will be released: those who wait for one try to open their own. */
  #fail(error: unknown): never {
    for (const wake of this.#waiting.splice(0)) wake(undefined);
    throw error;
  }
}

/** The caller closes it. */
export async function openWriter(open: () => Promise<Connection>): Promise<WriterConnection> {
  const connection = await open();
  try {
    return { connection, epoch: await connection.run(beginEpoch) };
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

/** A new connection may have reached a server that was restored from a backup. */
async function beginEpoch(sql: Sql): Promise<number> {
  const [before] = await rows<readonly [number]>(sql`SELECT epoch FROM store WHERE one`);
  const epoch = nextEpoch(before?.[0] ?? 0);
  await rows(sql`UPDATE store SET epoch = greatest(epoch, ${epoch}::bigint) WHERE one`);
  return epoch;
}
