// Epochs in SQL: where each earlier epoch of a collection ended (see ../epochs.ts).

import { nextEpoch, oldestKept } from "../epochs.ts";
import type { Connection, Query } from "./connection.ts";

/** The row of the last epoch that any writer has begun stands under this key, which no collection has. */
const everyCollection = 0;

/** What a collection is before the batch that writes to it. */
interface Before {
  readonly key: number;
  readonly epoch: number;
  readonly before: { readonly revision: number };
}

export class EpochWriter {
  readonly #last: Query<readonly [epoch: number | null]>;
  readonly #keep: Query<never>;
  readonly #forget: Query<never>;
  #isBegun = false;

  constructor(connection: Connection) {
    this.#last = connection.query(
      `SELECT max(epoch) FROM epochs WHERE collection = ${everyCollection}`,
    );
    this.#keep = connection.query("INSERT INTO epochs (collection, epoch, last) VALUES (?, ?, ?)");
    this.#forget = connection.query("DELETE FROM epochs WHERE collection = ? AND epoch < ?");
  }

  /** Begins an epoch with the first batch of this writer. Another process may begin a later one. */
  latest(): number {
    const last = this.#last.one()?.[0] ?? 0;
    if (this.#isBegun) return last;
    this.#isBegun = true;
    const epoch = nextEpoch(last);
    this.#forget.run(everyCollection, epoch);
    this.#keep.run(everyCollection, epoch, 0);
    return epoch;
  }

  /** The epoch of a collection that the batch has written to. */
  follow({ key, epoch, before }: Before, latest: number): number {
    if (epoch >= latest) return epoch;
    if (before.revision > 0) {
      this.#forget.run(key, oldestKept(latest));
      this.#keep.run(key, epoch, before.revision);
    }
    return latest;
  }
}

/** Whether a position is of the history that the collection has. */
export class EpochReader {
  readonly #end: Query<readonly [last: number]>;

  constructor(connection: Connection) {
    this.#end = connection.query("SELECT last FROM epochs WHERE collection = ? AND epoch = ?");
  }

  /** The last revision of the collection in an earlier epoch; none when it had no such epoch. */
  endOf(key: number, epoch: number): number | undefined {
    return this.#end.one(key, epoch)?.[0];
  }
}
