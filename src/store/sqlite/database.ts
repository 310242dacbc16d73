// The database as its writer holds it open: connections, checkpoints, and whether the files are still the same.

import { type Change, Outage } from "../store.ts";
import { BatchWriter } from "./batch.ts";
import { Checkpoints } from "./checkpoint.ts";
import { CommitCounterWriter } from "./commit-counter.ts";
import { Connection, isOfMissingTable } from "./connection.ts";
import { Eraser } from "./erase.ts";
import { assertStillThere, type DatabaseFile, watchBeside } from "./file.ts";
import { movedBatch } from "./moved.ts";
import { migrate } from "./schema.ts";

type Verdicts = ReturnType<BatchWriter["commit"]>;

/** Well under ten minutes, and rare enough to cost little. */
const defaultEraseAfterMs = 60_000;

/** What leaves something behind; `done` may be the end of a collection. */
const erasingKinds: ReadonlySet<Verdicts[number][0]> = new Set(["removed", "replaced", "done"]);

export class Database {
  /**
   * Only reads. While it is open, closing the other connection never runs SQLite's own checkpoint,
   * whose errors nobody would see. It also keeps a deleted WAL readable, so that it can be saved.
   */
  readonly guard: Connection;
  readonly #file: DatabaseFile;
  readonly #eraser: Eraser;
  readonly #connection: Connection;
  readonly #checkpoints: Checkpoints;
  readonly #bell: CommitCounterWriter;
  readonly #isBesideSame: () => boolean;
  #batches: BatchWriter | undefined;

  constructor(file: DatabaseFile, eraseAfterMs = defaultEraseAfterMs) {
    this.#file = file;
    this.guard = new Connection(file.path, "copy");
    let connection: Connection | undefined;
    try {
      hold(this.guard);
      connection = new Connection(file.path, "write");
      this.#connection = connection;
      // Again: the file may only now have become one with a WAL.
      hold(this.guard);
      this.#checkpoints = new Checkpoints(connection);
      this.#eraser = new Eraser(connection, this.#checkpoints, eraseAfterMs);
      this.#bell = new CommitCounterWriter(file.bell);
      this.#isBesideSame = watchBeside(file);
    } catch (error) {
      closeAll(connection, this.guard);
      throw error;
    }
  }

  /** The number of the last batch that was committed here. */
  get lastBatch(): number {
    return this.#batches?.lastBatch ?? 0;
  }

  commit(changes: readonly Change[]): Verdicts {
    this.#batches ??= this.#prepare();
    const verdicts = this.#batches.commit(changes);
    try {
      this.assertSame();
    } catch (error) {
      // What was committed into a file that is no longer there must not be acknowledged. It is not
      // lost for that: a deleted WAL is still open here, and is copied.
      throw new Outage("unknown", String(error), { cause: error });
    }
    if (verdicts.some(([kind]) => erasingKinds.has(kind))) this.#eraser.note();
    return verdicts;
  }

  /** Takes a little of what was deleted out of the files. Says whether there is more to do now. */
  eraseSome(): boolean {
    return this.#batches !== undefined && this.#eraser.work();
  }

  runCheckpointIfDue(): void {
    this.#checkpoints.runIfDue();
  }

  /** Throws when the database, its WAL or its shared memory is another file than the one held open. */
  assertSame(): void {
    const { path } = this.#file;
    assertStillThere(this.#file);
    if (!this.#isBesideSame())
      throw new Outage("suspect", `${path}-wal or ${path}-shm was deleted or replaced`);
  }

  /** Tells every reader of this file, in whichever process, that the database is in another file now. */
  tellMoved(): void {
    this.#connection.rollback();
    try {
      this.#connection.run(`UPDATE ledger SET batch = ${movedBatch}`);
    } catch (error) {
      // A database that never came to have tables has no readers either.
      if (!isOfMissingTable(error)) throw error;
    }
    this.#bell.ring(movedBatch);
  }

  /** Empties the WAL and closes; what goes wrong is thrown after all is closed. */
  close(): void {
    let isEmpty = false;
    try {
      this.#connection.rollback();
      isEmpty = this.#checkpoints.empty();
    } finally {
      // Without anything left in the WAL, SQLite's last close only removes it.
      if (isEmpty) closeAll(this.guard, this.#connection, this.#bell);
      else this.abandon();
    }
  }

  /** Closes without a checkpoint: the files stay as they are. */
  abandon(): void {
    closeAll(this.#connection, this.guard, this.#bell);
  }

  #prepare(): BatchWriter {
    migrate(this.#connection);
    // The process before may not have come to it.
    this.#eraser.note();
    return new BatchWriter(this.#connection, this.#bell);
  }
}

/** In WAL mode a connection that has read once keeps its shared lock on the file. */
function hold(connection: Connection): void {
  connection.query("SELECT count(*) FROM sqlite_schema").one();
}

/** In this order. Of what fails nothing is told: the error that led here is the one to tell. */
function closeAll(...all: readonly ({ close(): void } | undefined)[]): void {
  for (const each of all)
    try {
      each?.close();
    } catch {}
}
