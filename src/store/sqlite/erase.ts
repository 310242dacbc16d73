// Erases deleted content from the files in small steps: deleted collections, stored outcomes and the WAL.

import type { ScrubState } from "../erasure.ts";
import type { Checkpoints } from "./checkpoint.ts";
import type { Connection } from "./connection.ts";
import { deleteParts } from "./delete-parts.ts";
import { eraseKeys } from "./erase-keys.ts";
import type { DatabaseFile } from "./file.ts";
import { sizeOf, unusedPart } from "./free-space.ts";
import { readersOf } from "./other-programs.ts";

/** The size of a step; it delays a commit by a few milliseconds at most. */
const pagesPerStep = 128;
/** Up to this size the database is vacuumed, which delays commits for a moment. */
const vacuumBytes = 32 * 1024 * 1024;
/** The minimum number of delays between two vacuums. */
const delaysPerVacuum = 5;
/** How long a checkpoint that someone waits for lets readers finish. Commits wait for it, too. */
const readersMs = 200;
/** How often it is said that readers keep deleted content in the files. */
const hourMs = 3_600_000;
/** The part of a larger file that may be unused. */
const maxUnused = 0.1;

/**
 * SQLite overwrites deleted rows with zeros (secure_delete), but copies stay in the stored outcomes of
 * requests and in the WAL. The rows of deleted collections are still there.
 */
interface EraserOptions {
  readonly file: Pick<DatabaseFile, "path">;
  readonly delayMs: number;
  /** For the log: no request reports it. */
  readonly report: (error: string) => void;
}

export class Eraser {
  readonly #connection: Connection;
  readonly #checkpoints: Checkpoints;
  readonly #file: Pick<DatabaseFile, "path">;
  readonly #delayMs: number;
  readonly #report: (error: string) => void;
  #dueAt: number | undefined;
  #vacuumedAt = Number.NEGATIVE_INFINITY;
  #steps: Iterator<void> | undefined;
  #scrub: Iterator<ScrubState, void> | undefined;
  /** When the WAL could not be emptied, or when that was said. */
  #blockedAt: number | undefined;

  constructor(
    connection: Connection,
    checkpoints: Checkpoints,
    { file, delayMs, report }: EraserOptions,
  ) {
    this.#connection = connection;
    this.#checkpoints = checkpoints;
    this.#file = file;
    this.#delayMs = delayMs;
    this.#report = report;
  }

  /** Called when something was deleted or replaced; the erasure begins after the delay. */
  schedule(): void {
    this.#dueAt ??= performance.now() + this.#delayMs;
  }

  /** Runs one step. Returns whether more steps can run now. */
  work(): boolean {
    if (!this.#steps) {
      if (this.#dueAt === undefined || performance.now() < this.#dueAt) return false;
      this.#dueAt = undefined;
      this.#steps = this.#all();
    }
    if (!this.#steps.next().done) return true;
    this.#steps = undefined;
    // A reader can block the WAL for a moment: then the erasure runs again later.
    if (this.#checkpoints.empty()) this.#blockedAt = undefined;
    else {
      this.schedule();
      this.#reportHourly();
    }
    return false;
  }

  #reportHourly(): void {
    const now = performance.now();
    this.#blockedAt ??= now;
    if (now - this.#blockedAt < hourMs) return;
    this.#blockedAt = now;
    const reader = readersOf(this.#file) ?? "a reader, or a full disk,";
    this.#report(
      `deleted content is still in the files, because ${reader} has kept the WAL for an hour: stop it for two minutes`,
    );
  }

  /** The next step of a scrub is the first one. */
  restartScrub(): void {
    this.#scrub = undefined;
  }

  /** Runs one step for someone who waits until nothing is left in the files, whatever their size. */
  scrub(): ScrubState {
    this.#scrub ??= this.#everything();
    const { done, value } = this.#scrub.next();
    if (!done) return value;
    this.#scrub = undefined;
    return { kind: "done" };
  }

  *#everything(): Generator<ScrubState, void> {
    for (const steps of [deleteParts(this.#connection), eraseKeys(this.#connection)])
      for (const _ of steps) yield { kind: "rows" };
    yield { kind: "rewrite", bytes: sizeOf(this.#connection) };
    this.#connection.vacuum();
    while (!this.#checkpoints.empty(readersMs))
      yield { kind: "blocked", by: readersOf(this.#file) };
  }

  *#all(): Generator<void> {
    yield* deleteParts(this.#connection);
    yield* eraseKeys(this.#connection);
    yield;
    if (sizeOf(this.#connection) <= vacuumBytes) this.#vacuum();
    else yield* this.#shrink();
  }

  /** Gives most unused pages back to the file system. Later writes use the others. */
  *#shrink(): Generator<void> {
    while (unusedPart(this.#connection) > maxUnused) {
      this.#connection.run(`PRAGMA incremental_vacuum(${pagesPerStep})`);
      yield;
    }
  }

  /**
   * When SQLite moves rows between pages, copies stay in the unused part of a page, even with
   * secure_delete. Only VACUUM removes them reliably.
   */
  #vacuum(): void {
    const now = performance.now();
    if (now - this.#vacuumedAt < delaysPerVacuum * this.#delayMs) {
      this.schedule();
      return;
    }
    this.#vacuumedAt = now;
    this.#connection.run("VACUUM");
  }
}
