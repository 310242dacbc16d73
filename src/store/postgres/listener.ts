// Sends and receives the notifications of all nodes: of commits, and of changes to what nodes cache.

import { setTimeout as sleep } from "node:timers/promises";
import { type Connection, rows, type Sql } from "./connection.ts";
import { outageOf } from "./errors.ts";

/** `cached`: a token was revoked, or a collection was redefined. `commit`: anything was committed. */
export type Notification = "cached" | "commit";

/** How often the connection is checked and replaced when it is lost. */
const checkMs = 500;
/** The least time between two notifications of commits, so that they cost little with many commits. */
const pauseMs = 50;

export class Listener {
  readonly #open: () => Promise<Connection>;
  readonly #channel: string;
  readonly #onNotified: (notification: Notification) => void;
  readonly #pingMs: number;
  #pingAt = 0;
  #connection: Connection | undefined;
  #attempt: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isAnnouncing = false;
  /** Whether there was a commit of which the other nodes have not been notified. */
  #isDue = false;
  /** Some Postgres-compatible servers have neither LISTEN nor NOTIFY. */
  #isSupported = true;

  /** `onNotified` is also called after a reconnect, when notifications may have been missed. */
  constructor(
    open: (onNotify: (payload: string) => void) => Promise<Connection>,
    channel: string,
    onNotified: (notification: Notification) => void,
    pingMs: number,
  ) {
    this.#pingMs = pingMs;
    this.#open = () => open((payload) => onNotified(payload === "commit" ? "commit" : "cached"));
    this.#channel = channel;
    this.#onNotified = onNotified;
  }

  /** Nodes are notified when the current transaction commits that what they cache has changed. */
  async notify(sql: Sql): Promise<void> {
    if (this.#isSupported) await send(sql, this.#channel, "cached");
  }

  /** Notifies all nodes of a commit, after it. Commits that come together are one notification. */
  announce(): void {
    this.#isDue = true;
    if (!this.#isAnnouncing) void this.#announce();
  }

  async listen(): Promise<void> {
    this.#timer = setInterval(() => void this.#check(), checkMs);
    this.#timer.unref();
    await this.#check();
  }

  /** Connects again, possibly to another server at the same address. */
  async reconnect(): Promise<void> {
    // The one that is being opened may be to the former server, too.
    await this.#attempt;
    this.#connection?.destroy();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#attempt;
    if (this.#isDue) await this.#announceOnce();
    await this.#connection?.close();
  }

  async #check(): Promise<void> {
    if (!this.#isSupported) return;
    if (this.#connection?.isLost === false) return this.#ping(this.#connection);
    this.#attempt ??= this.#connect().finally(() => {
      this.#attempt = undefined;
    });
    await this.#attempt;
  }

  /** Without an answer the connection is replaced: notifications would not arrive either. */
  async #ping(connection: Connection): Promise<void> {
    if (performance.now() < this.#pingAt || connection.inFlight > 0) return;
    this.#pingAt = performance.now() + this.#pingMs;
    await connection.run((sql) => rows(sql`SELECT 1`)).catch(() => undefined);
  }

  async #announce(): Promise<void> {
    this.#isAnnouncing = true;
    while (this.#isDue && (await this.#announceOnce()))
      await sleep(pauseMs, undefined, { ref: false });
    this.#isAnnouncing = false;
  }

  /** Returns false when it fails: then the notification is sent when the connection is back. */
  async #announceOnce(): Promise<boolean> {
    if (this.#connection?.isLost !== false) return false;
    this.#isDue = false;
    try {
      await this.#connection.run((sql) => send(sql, this.#channel, "commit"));
      return true;
    } catch {
      this.#isDue = true;
      return false;
    }
  }

  async #connect(): Promise<void> {
    try {
      this.#connection = await this.#open();
      await this.#connection.run((sql) => listen(sql, this.#channel));
      this.#onNotified("cached");
      this.#onNotified("commit");
      if (this.#isDue) this.announce();
    } catch (error) {
      this.#connection?.destroy();
      // After an outage it tries again; when LISTEN is not supported it stops.
      if (!outageOf(error)) this.#isSupported = false;
    }
  }
}

/** The channel of the nodes whose tables are in the schema. */
export const channelOf = (schema: string): string => `restante_${schema}`;

/** Lets all nodes look again at what they know of the database, where the server has NOTIFY. */
export async function notifyNodes(sql: Sql, schema: string): Promise<void> {
  await send(sql, channelOf(schema), "cached").catch(() => undefined);
}

const send = (sql: Sql, channel: string, notification: Notification): Promise<unknown> =>
  rows(sql`SELECT pg_notify(${channel}, ${notification})`);

/** A notification is no data, so on this connection its transaction does not wait for the disk. */
async function listen(sql: Sql, channel: string): Promise<void> {
  await rows(sql`SELECT set_config('synchronous_commit', 'off', false)`);
  await rows(sql`LISTEN ${sql(channel)}`);
}
