// Runs full-text searches on one collection.

import type { Word } from "../../model/query/query.ts";
import type { Connection, Query } from "./connection.ts";

type SeqRow = readonly [seq: number];
type CountRow = readonly [count: number];

export class SearchReader {
  readonly #countUpTo: Query<CountRow>;
  readonly #best: Query<SeqRow>;
  readonly #among: Query<SeqRow>;

  constructor(connection: Connection, key: number) {
    const from = `FROM words_${key} WHERE words_${key} MATCH ?`;
    // Equal ranks are sorted by creation.
    const ranked = "ORDER BY rank, rowid";
    this.#countUpTo = connection.query(`SELECT count(*) FROM (SELECT 1 ${from} LIMIT ?)`);
    this.#best = connection.query(`SELECT rowid ${from} ${ranked} LIMIT ? OFFSET ?`);
    // The plus sign prevents SQLite from running a search for each rowid.
    this.#among = connection.query(
      `SELECT rowid ${from} AND +rowid IN (SELECT value FROM json_each(?)) ${ranked}`,
    );
  }

  countUpTo(words: readonly Word[], limit: number): number {
    return this.#countUpTo.one(matchOf(words), limit)?.[0] ?? 0;
  }

  /** Returns the seqs of the resources that contain all words, best rank first. */
  best(words: readonly Word[], offset: number, limit: number): readonly number[] {
    return this.#best.all(matchOf(words), limit, offset).map(([seq]) => seq);
  }

  /** Returns those of the seqs whose resources contain all words, best rank first. */
  among(words: readonly Word[], seqs: readonly number[]): readonly number[] {
    return this.#among.all(matchOf(words), JSON.stringify(seqs)).map(([seq]) => seq);
  }
}

/** Returns an FTS5 query for all words. Quotes prevent that a word is an operator. */
const matchOf = (words: readonly Word[]): string =>
  words.map(({ text, isPrefix }) => `"${text}"${isPrefix ? "*" : ""}`).join(" ");
