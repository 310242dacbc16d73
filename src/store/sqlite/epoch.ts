// Stores where each earlier epoch of a collection ended (see ../epochs.ts).

import { nextEpoch, oldestStoredEpoch } from "../core/epochs.ts";
import type { Connection, Query } from "./connection.ts";

/** The key of the row with the last epoch of any writer; no collection has this key. */
const writersKey = 0;

/** The state of a collection before the batch. */
interface CollectionBefore {
  readonly key: number;
  readonly epoch: number;
  readonly before: { readonly revision: number };
}

export class EpochWriter {
  readonly #last: Query<readonly [epoch: number | null]>;
  readonly #insert: Query<never>;
  readonly #deleteOld: Query<never>;
  #isBegun = false;

  constructor(connection: Connection) {
    this.#last = connection.query(`SELECT max(epoch) FROM epochs WHERE collection = ${writersKey}`);
    this.#insert = connection.query(
      "INSERT INTO epochs (collection, epoch, last) VALUES (?, ?, ?)",
    );
    this.#deleteOld = connection.query("DELETE FROM epochs WHERE collection = ? AND epoch < ?");
  }

  /** Begins an epoch with the first batch of this writer. Another process can begin a later one. */
  latest(): number {
    const last = this.#last.one()?.[0] ?? 0;
    if (this.#isBegun) return last;
    this.#isBegun = true;
    const epoch = nextEpoch(last);
    this.#deleteOld.run(writersKey, epoch);
    this.#insert.run(writersKey, epoch, 0);
    return epoch;
  }

  /** Returns the epoch of a collection that the batch has written to. */
  advance({ key, epoch, before }: CollectionBefore, latest: number): number {
    if (epoch >= latest) return epoch;
    if (before.revision > 0) {
      this.#deleteOld.run(key, oldestStoredEpoch(latest));
      this.#insert.run(key, epoch, before.revision);
    }
    return latest;
  }
}

/** Reads where earlier epochs ended. */
export class EpochReader {
  readonly #end: Query<readonly [last: number]>;

  constructor(connection: Connection) {
    this.#end = connection.query("SELECT last FROM epochs WHERE collection = ? AND epoch = ?");
  }

  /** Returns the last revision of the collection in an earlier epoch, or undefined when it had no such epoch. */
  endOf(key: number, epoch: number): number | undefined {
    return this.#end.one(key, epoch)?.[0];
  }
}
