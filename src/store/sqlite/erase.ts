// Erases deleted content from the files in small steps: from stored outcomes, the search index and the WAL.

import {
  decodeOutcomes,
  erasedText,
  isAnyDeleted,
  type OutcomeResource,
} from "../core/stored-outcomes.ts";
import type { Checkpoints } from "./checkpoint.ts";
import type { Connection, Query } from "./connection.ts";

type KeyRow = readonly [rowid: number, outcomes: string];
type CollectionRow = readonly [name: string, key: number];

/** The size of a step; it delays a commit by a few milliseconds at most. */
const keysPerSlice = 200;
const pagesPerSlice = 128;
/** Up to this size the database is vacuumed, which delays commits for a moment. */
const vacuumBytes = 32 * 1024 * 1024;
/** The minimum number of delays between two vacuums. */
const delaysPerVacuum = 5;

/**
 * SQLite overwrites deleted rows with zeros (secure_delete), but copies stay in three places: the stored
 * outcomes of requests, the search index, which only marks deleted rows, and the WAL.
 */
export class Eraser {
  readonly #connection: Connection;
  readonly #checkpoints: Checkpoints;
  readonly #delayMs: number;
  #dueAt: number | undefined;
  #vacuumedAt = Number.NEGATIVE_INFINITY;
  #slices: Iterator<void> | undefined;

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
    if (!this.#slices) {
      if (this.#dueAt === undefined || performance.now() < this.#dueAt) return false;
      this.#dueAt = undefined;
      this.#slices = this.#all();
    }
    if (!this.#slices.next().done) return true;
    this.#slices = undefined;
    // A reader can block the WAL for a moment: then the erasure runs again later.
    if (!this.#checkpoints.empty()) this.schedule();
    return false;
  }

  *#all(): Generator<void> {
    yield* this.#eraseKeys();
    for (const table of this.#wordTables()) yield* this.#mergeWords(table);
    yield;
    this.#vacuum();
  }

  /**
   * When SQLite moves rows between pages, copies stay in the unused part of a page, even with
   * secure_delete. Only VACUUM removes them reliably.
   */
  #vacuum(): void {
    const size = this.#connection.query<readonly [bytes: number]>(
      "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
    );
    if ((size.one()?.[0] ?? 0) > vacuumBytes) return;
    const now = performance.now();
    if (now - this.#vacuumedAt < delaysPerVacuum * this.#delayMs) {
      this.schedule();
      return;
    }
    this.#vacuumedAt = now;
    this.#connection.run("VACUUM");
  }

  *#eraseKeys(): Generator<void> {
    const some = this.#connection.query<KeyRow>(
      "SELECT rowid, outcomes FROM once WHERE rowid > ? AND outcomes <> ? ORDER BY rowid LIMIT ?",
    );
    const erase = this.#connection.query("UPDATE once SET outcomes = ? WHERE rowid = ?");
    for (let last = 0; ; ) {
      const rows = some.all(last, erasedText, keysPerSlice);
      const isThere = this.#lookUp();
      const gone = rows.filter(([, text]) => !isThere(decodeOutcomes(text)?.resources ?? []));
      if (gone.length > 0)
        this.#transact(() => gone.map(([rowid]) => erase.run(erasedText, rowid)));
      last = rows.at(-1)?.[0] ?? last;
      if (rows.length < keysPerSlice) return;
      yield;
    }
  }

  /** Returns a function that checks whether all of the resources still exist. */
  #lookUp(): (resources: readonly OutcomeResource[]) => boolean {
    const collections = this.#connection.query<CollectionRow>("SELECT name, key FROM collections");
    const keys = new Map(collections.all());
    const tables = new Map<number, Query<readonly [created: number]>>();
    const tableOf = (key: number): Query<readonly [created: number]> => {
      const sql = `SELECT created FROM resources_${key} WHERE id = ?`;
      const table = tables.get(key) ?? this.#connection.query<readonly [created: number]>(sql);
      tables.set(key, table);
      return table;
    };
    const createdAtOf = (name: string, id: string): number | undefined => {
      const key = keys.get(name);
      return key === undefined ? undefined : tableOf(key).one(id)?.[0];
    };
    // Outcomes stored by version 0.1.0 do not contain the collection.
    const existsAnywhere = ({ id, createdAt }: OutcomeResource) =>
      [...keys.keys()].some((name) => createdAtOf(name, id) === createdAt);
    return (resources) =>
      !isAnyDeleted(resources, createdAtOf) &&
      resources.every((each) => each.collection !== undefined || existsAnywhere(each));
  }

  #wordTables(): readonly string[] {
    const tables = this.#connection.query<readonly [name: string]>(
      "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE words\\_%' ESCAPE '\\'",
    );
    return tables.all().map(([name]) => name);
  }

  /** Merges all segments of a search index into one without deleted words. */
  *#mergeWords(table: string): Generator<void> {
    const changes = this.#connection.query<readonly [number]>("SELECT total_changes()");
    const count = (): number => changes.one()?.[0] ?? 0;
    const merge = (pages: number): boolean => {
      const before = count();
      this.#connection.run(`INSERT INTO ${table}(${table}, rank) VALUES ('merge', ${pages})`);
      // Fewer than two changes mean that there was nothing to merge (documented by FTS5).
      return count() - before >= 2;
    };
    // A collection can be dropped between two steps.
    const isThere = () => this.#wordTables().includes(table);
    if (isThere()) merge(-pagesPerSlice);
    while (isThere() && merge(pagesPerSlice)) yield;
  }

  #transact(act: () => void): void {
    this.#connection.run("BEGIN IMMEDIATE");
    try {
      act();
      this.#connection.run("COMMIT");
    } catch (error) {
      this.#connection.rollback();
      throw error;
    }
  }
}
