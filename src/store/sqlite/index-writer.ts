// Writes the index entries and the search words of one collection.

import {
  entriesOf,
  type Index,
  type IndexEntry,
  type IndexPlan,
  isSameSearch,
  searchTextOf,
} from "../../model/query/index-plan.ts";
import { minKey } from "../../model/query/sort-key.ts";
import type { Resource } from "../../model/resource.ts";
import type { Connection, Query } from "./connection.ts";
import { type SeqResourceRow, seqResourceColumns, toUncheckedCandidate } from "./resource.ts";
import { createWordsTable, dropWordsTable } from "./schema.ts";

/** How many resources are read at once when an index is built; bounds the memory use. */
const batchSize = 1_000;

export class IndexWriter {
  readonly #connection: Connection;
  readonly #key: number;
  readonly #insert: Query<never>;
  readonly #delete: Query<never>;
  readonly #clear: Query<never>;
  readonly #holder: Query<readonly [1]>;
  readonly #duplicates: Query<readonly [1]>;
  readonly #resource: Query<SeqResourceRow>;
  readonly #resources: Query<SeqResourceRow>;
  #words: WordsWriter | undefined;

  constructor(connection: Connection, key: number) {
    const entries = `entries_${key}`;
    const select = `SELECT ${seqResourceColumns} FROM resources_${key}`;
    this.#connection = connection;
    this.#key = key;
    this.#insert = connection.query(`INSERT INTO ${entries} (field, key, seq) VALUES (?, ?, ?)`);
    this.#delete = connection.query(
      `DELETE FROM ${entries} WHERE field = ? AND key = ? AND seq = ?`,
    );
    this.#clear = connection.query(`DELETE FROM ${entries} WHERE field = ?`);
    this.#holder = connection.query(
      `SELECT 1 FROM ${entries} WHERE field = ? AND key = ? AND seq <> ? LIMIT 1`,
    );
    this.#duplicates = connection.query(
      `SELECT 1 FROM ${entries} WHERE field = ? AND key > '${minKey}'
       GROUP BY key HAVING count(*) > 1 LIMIT 1`,
    );
    this.#resource = connection.query(`${select} WHERE seq = ?`);
    this.#resources = connection.query(`${select} WHERE seq > ? ORDER BY seq LIMIT ?`);
  }

  /** Updates the indexes for a created or replaced resource, or returns the field in which it conflicts. */
  save(plan: IndexPlan, seq: number, next: Resource, isNew: boolean): string | undefined {
    const entries = entriesOf(plan, next);
    const conflict = this.#conflictOf(plan, entries, seq);
    if (conflict !== undefined) return conflict;
    const last = isNew ? undefined : this.#find(seq);
    this.#update(last ? entriesOf(plan, last) : [], entries, seq);
    this.#saveWords(plan, seq, last, next);
    return undefined;
  }

  /** Updates the indexes for a resource that is about to be removed. */
  remove(plan: IndexPlan, seq: number): void {
    const last = this.#find(seq);
    if (!last) return;
    this.#update(entriesOf(plan, last), [], seq);
    if (plan.searchable.length > 0) this.#wordsWriter().remove(seq);
  }

  /**
   * Builds the indexes of the new plan from all resources, or returns a unique field in which two have
   * the same value; then the caller rolls back.
   */
  rebuildEntries(last: IndexPlan, next: IndexPlan): string | undefined {
    for (const { field } of without(last.indexes, next.indexes)) this.#clear.run(field);
    this.#build({ indexes: without(next.indexes, last.indexes), searchable: [] });
    return next.indexes.find(({ field, isUnique }) => isUnique && this.#duplicates.one(field))
      ?.field;
  }

  /** Does the same for the search words. It must not be rolled back: SQLite fails after that with FTS5 tables. */
  rebuildWords(last: IndexPlan, next: IndexPlan): void {
    if (isSameSearch(last, next)) return;
    dropWordsTable(this.#connection, this.#key);
    if (next.searchable.length > 0) createWordsTable(this.#connection, this.#key);
    this.#build({ ...next, indexes: [] });
  }

  #conflictOf(plan: IndexPlan, entries: readonly IndexEntry[], seq: number): string | undefined {
    for (const { field, isUnique } of plan.indexes) {
      if (!isUnique) continue;
      const isTaken = entries.some(
        (entry) =>
          entry.field === field && entry.key !== minKey && this.#holder.one(field, entry.key, seq),
      );
      if (isTaken) return field;
    }
    return undefined;
  }

  /** Writes only the differences. */
  #update(last: readonly IndexEntry[], next: readonly IndexEntry[], seq: number): void {
    const before = new Set(last.map(nameOf));
    const after = new Set(next.map(nameOf));
    for (const entry of last)
      if (!after.has(nameOf(entry))) this.#delete.run(entry.field, entry.key, seq);
    for (const entry of next)
      if (!before.has(nameOf(entry))) this.#insert.run(entry.field, entry.key, seq);
  }

  #saveWords(plan: IndexPlan, seq: number, last: Resource | undefined, next: Resource): void {
    if (plan.searchable.length === 0) return;
    const text = searchTextOf(plan, next);
    if (!last) this.#wordsWriter().add(seq, text);
    else if (searchTextOf(plan, last) !== text) this.#wordsWriter().replace(seq, text);
  }

  #build(plan: IndexPlan): void {
    if (plan.indexes.length === 0 && plan.searchable.length === 0) return;
    for (let last = 0; ; ) {
      const some = this.#resources.all(last, batchSize).map(toUncheckedCandidate);
      for (const { seq, resource } of some) {
        this.#update([], entriesOf(plan, resource), seq);
        this.#saveWords(plan, seq, undefined, resource);
        last = seq;
      }
      if (some.length < batchSize) return;
    }
  }

  #find(seq: number): Resource | undefined {
    const row = this.#resource.one(seq);
    return row && toUncheckedCandidate(row).resource;
  }

  /** Created on first use: the table exists only when the collection has searchable fields. */
  #wordsWriter(): WordsWriter {
    this.#words ??= new WordsWriter(this.#connection, this.#key);
    return this.#words;
  }
}

class WordsWriter {
  readonly #insert: Query<never>;
  readonly #replace: Query<never>;
  readonly #delete: Query<never>;

  constructor(connection: Connection, key: number) {
    const words = `words_${key}`;
    this.#insert = connection.query(`INSERT INTO ${words} (rowid, text) VALUES (?, ?)`);
    this.#replace = connection.query(`INSERT OR REPLACE INTO ${words} (rowid, text) VALUES (?, ?)`);
    this.#delete = connection.query(`DELETE FROM ${words} WHERE rowid = ?`);
  }

  add(seq: number, text: string): void {
    this.#insert.run(seq, text);
  }

  replace(seq: number, text: string): void {
    this.#replace.run(seq, text);
  }

  remove(seq: number): void {
    this.#delete.run(seq);
  }
}

/** Keys contain no NUL, so the name of an entry is unique. */
const nameOf = ({ field, key }: IndexEntry): string => `${field}\0${key}`;

/** Returns the indexes that are not among the others. */
const without = (indexes: readonly Index[], others: readonly Index[]): readonly Index[] =>
  indexes.filter(
    ({ field, kind }) => !others.some((other) => other.field === field && other.kind === kind),
  );
