// Takes deleted content out of the files, a little at a time: from kept keys, the words and the WAL.

import { goneText, isAnyGone, type KeptResource, readKeptText } from "../kept-outcomes.ts";
import type { Checkpoints } from "./checkpoint.ts";
import type { Connection, Query } from "./connection.ts";

type KeyRow = readonly [rowid: number, outcomes: string];
type CollectionRow = readonly [name: string, key: number];

/** A slice of the work holds up a commit for a few milliseconds. */
const keysPerSlice = 200;
const pagesPerSlice = 128;
/** Up to this size the whole database is written anew, which holds up commits for a moment. */
const vacuumBytes = 32 * 1024 * 1024;
/** So many delays lie between two of them at least. */
const delaysPerVacuum = 5;

/**
 * SQLite overwrites deleted rows with zeros (secure_delete), but three places keep copies: the kept
 * outcomes of requests, the search index, which only marks what is deleted, and the WAL.
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

  /** Something was deleted or replaced: what it leaves is taken out after the delay. */
  note(): void {
    this.#dueAt ??= performance.now() + this.#delayMs;
  }

  /** Does a slice of the work. Says whether there is more to do right now. */
  work(): boolean {
    if (!this.#slices) {
      if (this.#dueAt === undefined || performance.now() < this.#dueAt) return false;
      this.#dueAt = undefined;
      this.#slices = this.#all();
    }
    if (!this.#slices.next().done) return true;
    this.#slices = undefined;
    // A reader may hold on to the WAL for a moment: then all is done again a little later.
    if (!this.#checkpoints.empty()) this.note();
    return false;
  }

  *#all(): Generator<void> {
    yield* this.#eraseKeys();
    for (const table of this.#wordTables()) yield* this.#mergeWords(table);
    yield;
    this.#vacuum();
  }

  /**
   * When SQLite moves rows between pages, it leaves copies in the unused part of a page, also with
   * secure_delete. Only writing the database anew removes those for certain.
   */
  #vacuum(): void {
    const size = this.#connection.query<readonly [bytes: number]>(
      "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
    );
    if ((size.one()?.[0] ?? 0) > vacuumBytes) return;
    const now = performance.now();
    if (now - this.#vacuumedAt < delaysPerVacuum * this.#delayMs) {
      this.note();
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
      const rows = some.all(last, goneText, keysPerSlice);
      const isThere = this.#lookUp();
      const gone = rows.filter(([, text]) => !isThere(readKeptText(text)?.resources ?? []));
      if (gone.length > 0) this.#transact(() => gone.map(([rowid]) => erase.run(goneText, rowid)));
      last = rows.at(-1)?.[0] ?? last;
      if (rows.length < keysPerSlice) return;
      yield;
    }
  }

  /** Whether all of the resources are still the ones that were created. */
  #lookUp(): (resources: readonly KeptResource[]) => boolean {
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
    // What version 0.1.0 has kept does not name its collection.
    const isSomewhere = ({ id, createdAt }: KeptResource) =>
      [...keys.keys()].some((name) => createdAtOf(name, id) === createdAt);
    return (resources) =>
      !isAnyGone(resources, createdAtOf) &&
      resources.every((each) => each.collection !== undefined || isSomewhere(each));
  }

  #wordTables(): readonly string[] {
    const tables = this.#connection.query<readonly [name: string]>(
      "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE words\\_%' ESCAPE '\\'",
    );
    return tables.all().map(([name]) => name);
  }

  /** Merges all segments of an index into one, which has only the words of what is there. */
  *#mergeWords(table: string): Generator<void> {
    const changes = this.#connection.query<readonly [number]>("SELECT total_changes()");
    const count = (): number => changes.one()?.[0] ?? 0;
    const merge = (pages: number): boolean => {
      const before = count();
      this.#connection.run(`INSERT INTO ${table}(${table}, rank) VALUES ('merge', ${pages})`);
      // Less than two changes mean that there was nothing to merge (FTS5's own rule).
      return count() - before >= 2;
    };
    // Another collection may be dropped between two slices.
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
