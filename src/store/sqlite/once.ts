// Keys in SQL: what was done under each, for as long as it is kept.

import type { Once } from "../store.ts";
import type { Connection, Query } from "./connection.ts";

type KeptRow = readonly [fingerprint: string, outcomes: string];

/** More than come in, so that there is an end to what is over; few, so that no commit waits for it. */
const sweptPerKept = 2;

export class OnceWriter {
  readonly #find: Query<KeptRow>;
  readonly #keep: Query<never>;
  readonly #sweep: Query<never>;
  /** How many keys the batch under way has kept, and the latest time that they know of. */
  #keptCount = 0;
  #latest = 0;

  constructor(connection: Connection) {
    this.#find = connection.query(
      "SELECT fingerprint, outcomes FROM once WHERE owner = ? AND key = ? AND until > ?",
    );
    // One whose time is over may still be there, and makes way.
    this.#keep = connection.query(
      `INSERT OR REPLACE INTO once (owner, key, fingerprint, until, outcomes)
       VALUES (?, ?, ?, ?, ?)`,
    );
    this.#sweep = connection.query(
      `DELETE FROM once WHERE rowid IN
       (SELECT rowid FROM once WHERE until <= ? ORDER BY until LIMIT ?)`,
    );
  }

  find({ owner, key, at }: Once): KeptRow | undefined {
    return this.#find.one(owner, key, at);
  }

  keep({ owner, key, fingerprint, at, keptUntil }: Once, outcomes: string): void {
    this.#keep.run(owner, key, fingerprint, keptUntil, outcomes);
    this.#keptCount++;
    this.#latest = Math.max(this.#latest, at);
  }

  /** Clears away a few of those whose time is over. */
  settle(): void {
    if (this.#keptCount === 0) return;
    this.#sweep.run(this.#latest, this.#keptCount * sweptPerKept);
    this.#keptCount = 0;
    this.#latest = 0;
  }
}
