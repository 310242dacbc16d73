// Searches the words of a collection.

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
    // Where they are equally good, the order of creation decides.
    const ranked = "ORDER BY rank, rowid";
    this.#countUpTo = connection.query(`SELECT count(*) FROM (SELECT 1 ${from} LIMIT ?)`);
    this.#best = connection.query(`SELECT rowid ${from} ${ranked} LIMIT ? OFFSET ?`);
    // The plus keeps SQLite from searching anew for each of them.
    this.#among = connection.query(
      `SELECT rowid ${from} AND +rowid IN (SELECT value FROM json_each(?)) ${ranked}`,
    );
  }

  countUpTo(words: readonly Word[], limit: number): number {
    return this.#countUpTo.one(matchOf(words), limit)?.[0] ?? 0;
  }

  /** The seqs of those that have all of the words, the best first. */
  best(words: readonly Word[], offset: number, limit: number): readonly number[] {
    return this.#best.all(matchOf(words), limit, offset).map(([seq]) => seq);
  }

  /** Those of the seqs that have all of the words, the best first. */
  among(words: readonly Word[], seqs: readonly number[]): readonly number[] {
    return this.#among.all(matchOf(words), JSON.stringify(seqs)).map(([seq]) => seq);
  }
}

/** All of them, as FTS5 is asked: in quotes, no word is taken for an operator. */
const matchOf = (words: readonly Word[]): string =>
  words.map(({ text, isPrefix }) => `"${text}"${isPrefix ? "*" : ""}`).join(" ");
