// Checkpoints: moves what the WAL holds into the database file, and lets no error pass unseen.

import { type Connection, type Query, storageTrouble } from "./connection.ts";

type StateRow = readonly [busy: number, walFrames: number, copiedFrames: number];

/** 16 MiB: rare enough to cost little, small enough to recover from quickly. */
const dueFrames = 4_096;
/** A WAL that a reader holds on to is not copied again for each commit, but each mebibyte. */
const dueUncopiedFrames = 256;

export class Checkpoints {
  readonly #connection: Connection;
  readonly #state: Query<StateRow>;
  readonly #passive: Query<StateRow>;
  readonly #truncate: Query<StateRow>;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#state = connection.query("PRAGMA wal_checkpoint(NOOP)");
    this.#passive = connection.query("PRAGMA wal_checkpoint(PASSIVE)");
    this.#truncate = connection.query("PRAGMA wal_checkpoint(TRUNCATE)");
  }

  /** Runs one when the WAL has grown enough. A full disk only delays it; other errors are thrown. */
  runIfDue(): void {
    const [, frames, copied] = this.#state.one() ?? [0, 0, 0];
    if (frames < dueFrames || frames - copied < dueUncopiedFrames) return;
    try {
      this.#passive.one();
    } catch (error) {
      if (storageTrouble(error)?.reason !== "full") throw error;
    }
  }

  /** Copies everything and empties the WAL, waiting for nobody. Says whether the WAL is empty. */
  empty(): boolean {
    return this.#connection.withoutWaiting(() => {
      try {
        const [busy] = this.#truncate.one() ?? [1];
        return busy === 0;
      } catch (error) {
        const reason = storageTrouble(error)?.reason;
        if (reason === "full") return false;
        throw error;
      }
    });
  }
}
