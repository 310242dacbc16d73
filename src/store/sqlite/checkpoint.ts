// Runs checkpoints, which copy the WAL into the database file, and reports their errors.

import { type Connection, outageOf, type PreparedQuery } from "./connection.ts";

type CheckpointRow = readonly [busy: number, walFrames: number, copiedFrames: number];

const pageBytes = 4_096;
/** 16 MiB: rare enough to cost little, small enough for a fast recovery. */
const dueFrames = 4_096;
/** 4 MiB: work in the background changes many pages, and commits wait for the checkpoint. */
const dueFramesInBackground = 1_024;
/** When a reader blocks the WAL, the checkpoint runs again after one mebibyte, not with each commit. */
const dueUncopiedFrames = 256;

export class Checkpoints {
  readonly #connection: Connection;
  readonly #count: Int32Array | undefined;
  readonly #state: PreparedQuery<CheckpointRow>;
  readonly #passive: PreparedQuery<CheckpointRow>;
  readonly #truncate: PreparedQuery<CheckpointRow>;

  constructor(connection: Connection, count?: Int32Array) {
    this.#connection = connection;
    this.#count = count;
    this.#state = connection.query("PRAGMA wal_checkpoint(NOOP)");
    this.#passive = connection.query("PRAGMA wal_checkpoint(PASSIVE)");
    this.#truncate = connection.query("PRAGMA wal_checkpoint(TRUNCATE)");
  }

  /** Runs a checkpoint when the WAL is large enough, and returns whether it did. */
  runIfDue(isInBackground: boolean): boolean {
    const [, frames, copied] = this.#state.one() ?? [0, 0, 0];
    const due = isInBackground ? dueFramesInBackground : dueFrames;
    if (frames < due || frames - copied < dueUncopiedFrames) return false;
    this.#run();
    return true;
  }

  /** Runs a checkpoint when the database can grow by so many bytes. */
  runIfLarger(bytes: number): void {
    if (bytes > dueFrames * pageBytes) return;
    const [, frames, copied] = this.#state.one() ?? [0, 0, 0];
    if (frames > copied && (frames - copied) * pageBytes >= bytes) this.#run();
  }

  /** A full disk delays the checkpoint; other errors are thrown. */
  #run(): void {
    if (this.#count !== undefined) Atomics.add(this.#count, 0, 1);
    try {
      this.#passive.one();
    } catch (error) {
      if (outageOf(error)?.reason !== "full") throw error;
    }
  }

  /** Copies and truncates the WAL, and waits so long for readers. Returns whether the WAL is empty. */
  empty(waitMs = 0): boolean {
    return this.#connection.waitingAtMost(waitMs, () => {
      try {
        const [busy] = this.#truncate.one() ?? [1];
        return busy === 0;
      } catch (error) {
        const reason = outageOf(error)?.reason;
        if (reason === "full") return false;
        throw error;
      }
    });
  }
}
