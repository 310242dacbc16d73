// Hears at once, from whichever node, that a token was revoked or a collection defined.

import { type Connection, rows, type Sql } from "./connection.ts";
import { storageTrouble } from "./errors.ts";

/** So often a lost connection is noticed and replaced. */
const lookMs = 500;

export class Listener {
  readonly #open: () => Promise<Connection>;
  readonly #channel: string;
  readonly #onHeard: () => void;
  #connection: Connection | undefined;
  #attempt: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Some engines know neither LISTEN nor NOTIFY. */
  #isPossible = true;

  /** `onHeard` is also called when something may have been missed. */
  constructor(
    open: (onNotify: () => void) => Promise<Connection>,
    channel: string,
    onHeard: () => void,
  ) {
    this.#open = () => open(onHeard);
    this.#channel = channel;
    this.#onHeard = onHeard;
  }

  /** Part of the transaction in which it is sent. */
  async tell(sql: Sql): Promise<void> {
    if (this.#isPossible) await rows(sql`SELECT pg_notify(${this.#channel}, '')`);
  }

  async listen(): Promise<void> {
    this.#timer = setInterval(() => void this.#look(), lookMs);
    this.#timer.unref();
    await this.#look();
  }

  /** Listens wherever the address leads by now. */
  renew(): void {
    this.#connection?.drop();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#attempt;
    await this.#connection?.close();
  }

  async #look(): Promise<void> {
    if (!this.#isPossible || this.#connection?.isLost === false) return;
    this.#attempt ??= this.#connect().finally(() => {
      this.#attempt = undefined;
    });
    await this.#attempt;
  }

  async #connect(): Promise<void> {
    try {
      this.#connection = await this.#open();
      await this.#connection.ask((sql) => rows(sql`LISTEN ${sql(this.#channel)}`));
      this.#onHeard();
    } catch (error) {
      // A server in trouble is tried again; one that does not understand is not.
      if (!storageTrouble(error)) this.#isPossible = false;
    }
  }
}
