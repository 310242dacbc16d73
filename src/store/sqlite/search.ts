// Finds the resources that contain the words of a search, with their ranks.

import type { Word } from "../../model/query/query.ts";
import { cutWord } from "../../model/query/rank.ts";
import { prefixSpan, type Ranks } from "../core/search.ts";
import type { Connection, Query, Row, Value } from "./connection.ts";

type RankRow = readonly [seq: number, rank: number];
type CountRow = readonly [count: number];

/** A statement for a whole word, and one for a prefix. */
class WordQuery<R extends Row> {
  readonly #word: Query<R>;
  readonly #prefix: Query<R>;

  constructor(connection: Connection, sql: (condition: string) => string) {
    this.#word = connection.query(sql("part = ? AND word = ?"));
    this.#prefix = connection.query(sql("part = ? AND word >= ? AND word < ?"));
  }

  all(part: number, word: Word, ...values: readonly Value[]): readonly R[] {
    if (!word.isPrefix) return this.#word.all(part, cutWord(word.text), ...values);
    const { from, to } = prefixSpan(word);
    return this.#prefix.all(part, from, to, ...values);
  }
}

export class WordReader {
  readonly #countUpTo: WordQuery<CountRow>;
  readonly #all: WordQuery<RankRow>;
  readonly #among: WordQuery<RankRow>;

  constructor(connection: Connection) {
    this.#countUpTo = new WordQuery(
      connection,
      (condition) => `SELECT count(*) FROM (SELECT 1 FROM words WHERE ${condition} LIMIT ?)`,
    );
    this.#all = new WordQuery(
      connection,
      (condition) => `SELECT seq, sum(weight) FROM words WHERE ${condition} GROUP BY seq`,
    );
    this.#among = new WordQuery(
      connection,
      (condition) =>
        `SELECT seq, sum(weight) FROM words
         WHERE ${condition} AND seq IN (SELECT value FROM json_each(?)) GROUP BY seq`,
    );
  }

  /** Returns the resources that contain all words, or undefined when every word has more than `limit` rows. */
  ranks(part: number, words: readonly Word[], limit: number): Ranks | undefined {
    const [rarest, ...others] = words
      .map((word) => ({ word, count: this.#countUpTo.all(part, word, limit + 1)[0]?.[0] ?? 0 }))
      .sort((one, other) => one.count - other.count);
    if (!rarest || rarest.count > limit) return undefined;
    let ranks = new Map(this.#all.all(part, rarest.word));
    for (const { word } of others) {
      const found = this.#among.all(part, word, JSON.stringify([...ranks.keys()]));
      ranks = new Map(found.map(([seq, rank]) => [seq, rank + (ranks.get(seq) ?? 0)]));
    }
    return ranks;
  }
}
