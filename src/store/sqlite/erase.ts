// Erases deleted content from the files in small steps: deleted collections, stored outcomes and the WAL.

import {
  decodeOutcomes,
  erasedText,
  isAnyDeleted,
  type OutcomeResource,
} from "../core/stored-outcomes.ts";
import type { Checkpoints } from "./checkpoint.ts";
import { CollectionRows } from "./collections.ts";
import type { Connection } from "./connection.ts";
import { deletedParts } from "./delete-parts.ts";

type KeyRow = readonly [owner: string, key: string, outcomes: string];

/** The size of a step; it delays a commit by a few milliseconds at most. */
const keysPerStep = 200;
const pagesPerStep = 128;
/** Up to this size the database is vacuumed, which delays commits for a moment. */
const vacuumBytes = 32 * 1024 * 1024;
/** The minimum number of delays between two vacuums. */
const delaysPerVacuum = 5;

/**
 * SQLite overwrites deleted rows with zeros (secure_delete), but copies stay in the stored outcomes of
 * requests and in the WAL. The rows of deleted collections are still there.
 */
export class Eraser {
  readonly #connection: Connection;
  readonly #checkpoints: Checkpoints;
  readonly #delayMs: number;
  #dueAt: number | undefined;
  #vacuumedAt = Number.NEGATIVE_INFINITY;
  #steps: Iterator<void> | undefined;

  constructor(connection: Connection, checkpoints: Checkpoints, delayMs: number) {
    this.#connection = connection;
    this.#checkpoints = checkpoints;
    this.#delayMs = delayMs;
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
    if (!this.#checkpoints.empty()) this.schedule();
    return false;
  }

  *#all(): Generator<void> {
    const isPartDeleted = yield* deletedParts(this.#connection);
    yield* this.#eraseKeys();
    yield;
    if (this.#bytes() <= vacuumBytes) this.#vacuum();
    else if (isPartDeleted) yield* this.#shrink();
  }

  #bytes(): number {
    const size = this.#connection.query<readonly [bytes: number]>(
      "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
    );
    return size.one()?.[0] ?? 0;
  }

  /** Gives unused pages back to the file system. */
  *#shrink(): Generator<void> {
    const unused = this.#connection.query<readonly [pages: number]>("PRAGMA freelist_count");
    while ((unused.one()?.[0] ?? 0) > 0) {
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

  *#eraseKeys(): Generator<void> {
    for (const { part } of new CollectionRows(this.#connection).all())
      yield* this.#eraseKeysOf(part);
  }

  *#eraseKeysOf(part: number): Generator<void> {
    const some = this.#connection.query<KeyRow>(
      `SELECT owner, key, outcomes FROM idempotency_keys
       WHERE part = ? AND (owner, key) > (?, ?) AND outcomes <> ?
       ORDER BY owner, key LIMIT ?`,
    );
    const erase = this.#connection.query(
      "UPDATE idempotency_keys SET outcomes = ? WHERE part = ? AND owner = ? AND key = ?",
    );
    for (let last = ["", ""] as readonly [string, string]; ; ) {
      const rows = some.all(part, ...last, erasedText, keysPerStep);
      const isThere = this.#lookUp();
      const gone = rows.filter(([, , text]) => !isThere(decodeOutcomes(text)?.resources ?? []));
      if (gone.length > 0)
        this.#connection.transact(() => {
          for (const [owner, key] of gone) erase.run(erasedText, part, owner, key);
        });
      const [owner, key] = rows.at(-1) ?? last;
      last = [owner, key];
      if (rows.length < keysPerStep) return;
      yield;
    }
  }

  /** Returns a function that checks whether all of the resources still exist. */
  #lookUp(): (resources: readonly OutcomeResource[]) => boolean {
    const created = this.#connection.query<readonly [created: number]>(
      "SELECT created FROM resources WHERE part = ? AND id = ?",
    );
    const collections = new CollectionRows(this.#connection);
    const createdAtOf = (name: string, id: string): number | undefined => {
      const part = collections.find(name)?.part;
      return part === undefined ? undefined : created.one(part, id)?.[0];
    };
    return (resources) => !isAnyDeleted(resources, createdAtOf);
  }
}
