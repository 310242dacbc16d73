// Finds the resources that contain the words of a search, with their ranks.

import { RecentMap } from "../../lib/recent-map.ts";
import type { IndexPlan } from "../../model/query/index-plan.ts";
import type { Word } from "../../model/query/query.ts";
import { termSpan } from "../../model/query/rank.ts";
import { type Ranks, ranksOf } from "../core/search.ts";
import type { Connection, PreparedQuery } from "./connection.ts";
import { type CountedPart, maxCounts } from "./entries.ts";
import { type SeqResourceRow, seqResourceColumns, toCandidate } from "./resource-reader.ts";

type WordCells = readonly [seq: number, rank: number, word: string];

/** Throws when the answer is not needed any more. */
export type CheckStop = () => void;

/** How many rows are read at once. */
const chunkRows = 4_096;
/** Up to so many resources are read and checked instead of all rows of a more frequent word. */
const maxChecked = 1_000;
const maxCheckedBytes = 4 * 1024 * 1024;
/** Words with more rows are equally frequent. */
const maxCompared = 20_000;

interface CountedCollection extends CountedPart {
  /** The number of resources. */
  readonly total: number;
}

interface SearchedPart {
  readonly part: number;
  readonly plan: IndexPlan;
}

export class WordReader {
  readonly #page: PreparedQuery<readonly [seq: number]>;
  readonly #count: PreparedQuery<readonly [count: number]>;
  readonly #countTermUpTo: PreparedQuery<readonly [count: number]>;
  readonly #countUpTo: PreparedQuery<readonly [count: number]>;
  readonly #chunk: PreparedQuery<WordCells>;
  readonly #sizes: PreparedQuery<readonly [bytes: number]>;
  readonly #resources: PreparedQuery<SeqResourceRow>;
  /** Counts by part, revision and term. */
  readonly #counts = new RecentMap<string, number>(maxCounts);

  constructor(connection: Connection) {
    const ofTerm = "FROM words WHERE part = ? AND word = ?";
    const listed = "FROM resources WHERE part = ? AND seq IN (SELECT value FROM json_each(?))";
    this.#page = connection.query(`SELECT seq ${ofTerm} ORDER BY rank, seq LIMIT ? OFFSET ?`);
    this.#count = connection.query(`SELECT count(*) ${ofTerm}`);
    this.#countTermUpTo = connection.query(`SELECT count(*) FROM (SELECT 1 ${ofTerm} LIMIT ?)`);
    this.#countUpTo = connection.query(
      `SELECT count(*) FROM (
         SELECT 1 FROM words WHERE part = ? AND word >= ? AND word < ? LIMIT ?)`,
    );
    this.#chunk = connection.query(
      `SELECT seq, rank, word FROM words
       WHERE part = ?1 AND (word, rank, seq) > (?2, ?3, ?4) AND word < ?5
       ORDER BY word, rank, seq LIMIT ${chunkRows}`,
    );
    this.#sizes = connection.query(`SELECT coalesce(sum(octet_length(fields)), 0) ${listed}`);
    this.#resources = connection.query(`SELECT ${seqResourceColumns} ${listed}`);
  }

  /** The number of counts that are cached now. */
  get cachedCounts(): number {
    return this.#counts.size;
  }

  /** Returns the resources with a term, the best first. */
  page(part: number, term: string, offset: number, limit: number): readonly number[] {
    return this.#page.all(part, term, limit, offset).map(([seq]) => seq);
  }

  /** Counts the resources with a term, up to one more than the limit. Counts are cached until the collection changes. */
  count({ part, revision, total }: CountedCollection, term: string, limit: number): number {
    const name = JSON.stringify([part, revision, term, limit]);
    // Counting without a limit is faster, and a term has at most one row for each resource.
    return this.#counts.getOrAdd(name, () =>
      total <= limit
        ? (this.#count.one(part, term)?.[0] ?? 0)
        : (this.#countTermUpTo.one(part, term, limit + 1)?.[0] ?? 0),
    );
  }

  /** A resource has several rows of a long prefix. */
  #rowsUpTo(part: number, word: Word, limit: number): number {
    const { from, to } = termSpan(word);
    return this.#countUpTo.one(part, from, to, limit)?.[0] ?? 0;
  }

  /**
   * Ranks the resources that contain all words. The word with the fewest rows comes first; when it has
   * few, its resources are checked, and otherwise the rows of every word are read.
   */
  ranks(
    { part, plan }: SearchedPart,
    words: readonly Word[],
    checkStop: CheckStop = () => undefined,
  ): Ranks {
    const [rarest, ...others] = words
      .map((word) => ({ word, count: this.#rowsUpTo(part, word, maxCompared) }))
      .sort((one, other) => one.count - other.count);
    if (!rarest) return new Map();
    let ranks = this.#read(part, rarest.word, undefined, checkStop);
    if (others.length > 0 && ranks.size <= maxChecked) {
      const seqs = JSON.stringify([...ranks.keys()]);
      const [bytes = 0] = this.#sizes.one(part, seqs) ?? [];
      if (bytes <= maxCheckedBytes)
        return ranksOf(this.#resources.all(part, seqs).map(toCandidate), words, plan);
    }
    for (const { word } of others) ranks = this.#read(part, word, ranks, checkStop);
    return ranks;
  }

  /** Adds the weights of a word to the ranks of resources that contain all words before it. */
  #read(part: number, word: Word, before: Ranks | undefined, checkStop: CheckStop): Ranks {
    const ranks = new Map<number, number>();
    const { from, to } = termSpan(word);
    for (let after: WordCells = [0, Number.MIN_SAFE_INTEGER, from]; ; ) {
      checkStop();
      const [lastSeq, lastRank, lastWord] = after;
      const rows = this.#chunk.all(part, lastWord, lastRank, lastSeq, to);
      for (const [seq, rank] of rows) {
        const sum = ranks.get(seq) ?? (before ? before.get(seq) : 0);
        if (sum !== undefined) ranks.set(seq, sum - rank);
      }
      const last = rows.at(-1);
      if (!last || rows.length < chunkRows) return ranks;
      after = last;
    }
  }
}
