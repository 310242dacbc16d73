// Holds the database open for the writer: connections, checkpoints, and checks of the files.

import { dirname } from "node:path";
import { Outage } from "../../model/outage.ts";
import { isDeletion } from "../change.ts";
import type { FileQuotas } from "../core/file-use.ts";
import type { Retention } from "../core/retention.ts";
import { roomForRows } from "../disk-reserve.ts";
import type { Erased, Erasure, ScrubOptions, ScrubState } from "../erasure.ts";
import type { Change, Outcome } from "../store.ts";
import { BatchWriter } from "./batch.ts";
import { Checkpoints } from "./checkpoint.ts";
import { CommitCounterWriter } from "./commit-counter.ts";
import { Connection } from "./connection.ts";
import { Eraser } from "./erase.ts";
import { assertStillThere, type DatabaseFile, removeOtherCopies, watchWalFiles } from "./file.ts";
import { assertFreeSpace, unusedBytes } from "./free-space.ts";
import { Purger } from "./purge.ts";
import { createTables } from "./schema.ts";

/** Deleted content is erased within ten minutes; this is rare enough to cost little. */
const defaultEraseAfterMs = 60_000;

/** Outcomes that leave content to erase; `done` can be a deleted collection. */
const erasingKinds: ReadonlySet<Outcome["kind"]> = new Set(["removed", "replaced", "done"]);
const leavesContent = (outcome: Outcome): boolean =>
  outcome.kind === "all" ? outcome.outcomes.some(leavesContent) : erasingKinds.has(outcome.kind);

export interface DatabaseOptions {
  /** How long deleted content can stay in the files before it is erased. */
  readonly eraseAfterMs?: number | undefined;
  readonly retention?: Retention | undefined;
  /** The number of checkpoints, in memory that several threads share. */
  readonly checkpointCount?: Int32Array | undefined;
  readonly fileQuotas?: FileQuotas | undefined;
}

export class Database {
  /**
   * A read-only connection. While it is open, closing the other connection does not run SQLite's own
   * checkpoint, which hides errors. It also keeps a deleted WAL readable, so that it can be copied.
   */
  readonly copyLock: Connection;
  readonly #file: DatabaseFile;
  readonly #eraser: Eraser;
  readonly #purger: Purger;
  readonly #connection: Connection;
  readonly #checkpoints: Checkpoints;
  readonly #commitCounter: CommitCounterWriter;
  readonly #fileQuotas: FileQuotas | undefined;
  readonly #areWalFilesSame: () => boolean;
  readonly #report: (error: string) => void;
  #batches: BatchWriter | undefined;

  constructor(
    file: DatabaseFile,
    { eraseAfterMs = defaultEraseAfterMs, retention, checkpointCount, fileQuotas }: DatabaseOptions,
    report: (error: string) => void,
  ) {
    this.#report = report;
    this.#fileQuotas = fileQuotas;
    this.#file = file;
    this.copyLock = new Connection(file.path, "copy");
    let connection: Connection | undefined;
    try {
      holdLock(this.copyLock);
      connection = new Connection(file.path, "write");
      this.#connection = connection;
      // Again, because the file may have switched to WAL mode only now.
      holdLock(this.copyLock);
      this.#checkpoints = new Checkpoints(connection, checkpointCount);
      const eraser = new Eraser(connection, this.#checkpoints, {
        file,
        delayMs: eraseAfterMs,
        report,
      });
      this.#eraser = eraser;
      this.#purger = new Purger(connection, retention, () => eraser.schedule());
      this.#commitCounter = new CommitCounterWriter(file.commitCounter);
      this.#areWalFilesSame = watchWalFiles(file);
    } catch (error) {
      closeAll(connection, this.copyLock);
      throw error;
    }
  }

  /** The number of the last commit of this process. */
  get lastCommit(): number {
    return this.#batches?.lastCommit ?? 0;
  }

  commit(changes: readonly Change[]): readonly Outcome[] {
    const outcomes = this.#acknowledge((batches) => batches.commit(changes));
    if (outcomes.some(leavesContent)) this.#eraser.schedule();
    return outcomes;
  }

  erase(erasure: Erasure): Erased {
    const erased = this.#acknowledge((batches) => batches.erase(erasure));
    this.#eraser.schedule();
    return erased;
  }

  /** Runs one step of the work that removes erased content from all files. */
  scrub({ isFirst }: ScrubOptions): ScrubState {
    this.#batches ??= this.#prepare();
    if (isFirst) {
      removeOtherCopies(this.#file);
      this.#eraser.restartScrub();
    }
    // The state of a build contains values.
    if (this.#batches.build()) return { kind: "rows" };
    const state = this.#eraser.scrub();
    if (state.kind === "rewrite") assertFreeSpace(this.#file, state.bytes, "", "full");
    return state;
  }

  /** Runs one step of the work that no request waits for. Returns whether more steps can run now. */
  workInBackground(): boolean {
    this.#batches ??= this.#prepare();
    // A step of its own, so that commits run before and after it.
    if (this.#checkpoints.runIfDue(true)) return true;
    if (this.#hasRoom(this.#diskRoom) && this.#batches.build()) {
      // It can have deleted the rows of an index.
      this.#eraser.schedule();
      return true;
    }
    return this.#purger.work() || this.#eraser.work();
  }

  /** Whether there is work in the background that a client may wait for. */
  get hasBuild(): boolean {
    return this.#batches?.hasBuild ?? false;
  }

  runCheckpointIfDue(): void {
    this.#checkpoints.runIfDue(false);
  }

  /**
   * Returns the outage when the disk has no room for the changes. Before the WAL could not be copied into
   * the database, it is, so that it can be written again.
   */
  refuse(changes: readonly Change[]): Outage | undefined {
    const room = this.#diskRoom;
    this.#checkpoints.runIfLarger(room);
    if (this.#hasRoom(room)) return undefined;
    if (changes.length > 0 && changes.every(isDeletion)) return undefined;
    return new Outage("full", "the disk is full: the rest is reserved for deletions");
  }

  /** Pages that deletions have left are written again. */
  #hasRoom(room: number): boolean {
    return room > 0 || room + unusedBytes(this.#connection) > 0;
  }

  get #diskRoom(): number {
    return roomForRows(dirname(this.#file.path));
  }

  /** Throws when the database, its WAL or its shared memory was replaced by another file. */
  assertSame(): void {
    const { path } = this.#file;
    assertStillThere(this.#file);
    if (!this.#areWalFilesSame())
      throw new Outage("suspect", `${path}-wal or ${path}-shm was deleted or replaced`);
  }

  /** Empties the WAL and closes all files; an error is thrown after that. */
  close(): void {
    let isEmpty = false;
    try {
      this.#connection.rollback();
      isEmpty = this.#checkpoints.empty();
    } finally {
      // When the WAL is empty, SQLite only removes it with the last close.
      if (isEmpty) closeAll(this.copyLock, this.#connection, this.#commitCounter);
      else this.abandon();
    }
  }

  /** Closes without a checkpoint, so that the files do not change. */
  abandon(): void {
    closeAll(this.#connection, this.copyLock, this.#commitCounter);
  }

  #acknowledge<T>(write: (batches: BatchWriter) => T): T {
    this.#batches ??= this.#prepare();
    const result = write(this.#batches);
    try {
      this.assertSame();
    } catch (error) {
      // A commit to a file that was deleted must not be acknowledged. It is not lost: the deleted WAL
      // is still open here, and is copied.
      throw new Outage("unknown", String(error), { cause: error });
    }
    return result;
  }

  #prepare(): BatchWriter {
    createTables(this.#connection);
    // A process that stopped earlier may have left work undone.
    this.#eraser.schedule();
    return new BatchWriter(this.#connection, this.#commitCounter, this.#fileQuotas, this.#report);
  }
}

/** In WAL mode a connection that has read once holds a shared lock on the file. */
function holdLock(connection: Connection): void {
  connection.query("SELECT count(*) FROM sqlite_schema").one();
}

/** Closes in this order. Errors are ignored, because an earlier error is the one to report. */
function closeAll(...all: readonly ({ close(): void } | undefined)[]): void {
  for (const each of all)
    try {
      each?.close();
    } catch {}
}
