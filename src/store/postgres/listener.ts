// Sends and receives the notifications of all nodes: of commits, and of changes to what nodes cache.

import { type Connection, rows, type Sql } from "./connection.ts";
import { outageOf } from "./errors.ts";

/** `cached`: a token was revoked, or a collection was redefined. `commit`: anything was committed. */
export type Notification = "cached" | "commit";

/** How often the connection is checked and replaced when it is lost. */
const checkMs = 500;

export class Listener {
  readonly #open: () => Promise<Connection>;
  readonly #channel: string;
  readonly #onNotified: (notification: Notification) => void;
  #connection: Connection | undefined;
  #attempt: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Some Postgres-compatible servers have neither LISTEN nor NOTIFY. */
  #isSupported = true;

  /** `onNotified` is also called after a reconnect, when notifications may have been missed. */
  constructor(
    open: (onNotify: (payload: string) => void) => Promise<Connection>,
    channel: string,
    onNotified: (notification: Notification) => void,
  ) {
    this.#open = () => open((payload) => onNotified(payload === "commit" ? "commit" : "cached"));
    this.#channel = channel;
    this.#onNotified = onNotified;
  }

  /** The notification is sent when the current transaction commits. */
  async notify(sql: Sql, notification: Notification): Promise<void> {
    if (this.#isSupported) await rows(sql`SELECT pg_notify(${this.#channel}, ${notification})`);
  }

  async listen(): Promise<void> {
    this.#timer = setInterval(() => void this.#check(), checkMs);
    this.#timer.unref();
    await this.#check();
  }

  /** Connects again, possibly to another server at the same address. */
  reconnect(): void {
    this.#connection?.destroy();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#attempt;
    await this.#connection?.close();
  }

  async #check(): Promise<void> {
    if (!this.#isSupported || this.#connection?.isLost === false) return;
    this.#attempt ??= this.#connect().finally(() => {
      this.#attempt = undefined;
    });
    await this.#attempt;
  }

  async #connect(): Promise<void> {
    try {
      this.#connection = await this.#open();
      await this.#connection.run((sql) => rows(sql`LISTEN ${sql(this.#channel)}`));
      this.#onNotified("cached");
      this.#onNotified("commit");
    } catch (error) {
      // After an outage it tries again; when LISTEN is not supported it stops.
      if (!outageOf(error)) this.#isSupported = false;
    }
  }
}
