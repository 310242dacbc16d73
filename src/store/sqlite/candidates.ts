// Reads the resources that a query has to check one by one, up to a limit.

import { type Candidate, countWithin, type Query } from "../../model/query/query.ts";
import type { Source } from "../core/query-plan.ts";
import { type Ranks, withWords } from "../core/search.ts";
import { Damage } from "../core/stored-resource.ts";
import { maxCandidateBytes } from "../store.ts";
import type { CachedCollection } from "./collections.ts";
import type { Connection, Query as Statement } from "./connection.ts";
import type { EntryReader } from "./entries.ts";
import { type SeqResourceRow, seqResourceColumns, toCandidate } from "./resource-reader.ts";
import type { WordReader } from "./search.ts";

type Candidates = readonly Candidate[];

/** Ranking a resource by its stored words costs a tenth of checking it. */
const rankedToCandidates = 10;

/** A source of candidates, and their number, which is counted up to a limit. */
interface CountedSource {
  readonly count: number;
  /** Returns undefined when they have too many bytes. */
  read(): Candidates | undefined;
  /** The ranks of a source that contains the words of the search. */
  readonly ranks?: Ranks;
}

interface Page {
  readonly page: Candidates;
  readonly isCut: boolean;
}

export class CandidateReader {
  readonly #entries: EntryReader;
  readonly #words: WordReader;
  readonly #maxCandidates: number;
  readonly #all: Statement<SeqResourceRow>;
  readonly #bySeq: Statement<SeqResourceRow>;
  readonly #byId: Statement<SeqResourceRow>;
  readonly #sizes: Statement<readonly [seq: number, bytes: number]>;

  constructor(
    connection: Connection,
    entries: EntryReader,
    words: WordReader,
    maxCandidates: number,
  ) {
    const select = `SELECT ${seqResourceColumns} FROM resources WHERE part = ?`;
    const listed = "AND seq IN (SELECT value FROM json_each(?))";
    this.#entries = entries;
    this.#words = words;
    this.#maxCandidates = maxCandidates;
    this.#all = connection.query(select);
    this.#bySeq = connection.query(`${select} ${listed}`);
    this.#byId = connection.query(`${select} AND id = ?`);
    this.#sizes = connection.query(
      `SELECT seq, octet_length(fields) FROM resources WHERE part = ? ${listed}`,
    );
  }

  /** Returns the first resources with at most `maxBytes` together, but at least one, and whether more follow. */
  within(part: number, seqs: readonly number[], maxBytes: number | undefined): Page {
    if (maxBytes === undefined) return { page: this.#at(part, seqs), isCut: false };
    const sizes = new Map(this.#sizes.all(part, JSON.stringify(seqs)));
    const count = countWithin(seqs, (seq) => sizes.get(seq) ?? 0, maxBytes);
    return { page: this.#at(part, seqs.slice(0, count)), isCut: count < seqs.length };
  }

  /** Returns all possible results, ranked when the query has words, or undefined when they are too many. */
  read(known: CachedCollection, query: Query, sources: readonly Source[]): Candidates | undefined {
    const { plan } = known;
    if (query.words.length > 0 && plan.searchable.length === 0) return [];
    const smallest = sources
      .flatMap((source) => this.#count(known, query, source) ?? [])
      .reduce((best, source) => (source.count < best.count ? source : best));
    if (smallest.count > this.#maxCandidates) return undefined;
    const candidates = smallest.read();
    // Stored words can be older than the rule that hides a field.
    const ranks = plan.hidden === undefined ? smallest.ranks : undefined;
    return candidates && withWords(candidates, query, plan, ranks);
  }

  #count(
    { part, plan, head }: CachedCollection,
    { words }: Query,
    source: Source,
  ): CountedSource | undefined {
    switch (source.kind) {
      case "ids": {
        const { ids } = source;
        return { count: ids.length, read: () => ids.flatMap((id) => this.#find(part, id)) };
      }
      case "entries": {
        const { field, spans } = source.condition;
        const count = this.#entries.countUpTo(part, field, spans, this.#maxCandidates + 1);
        return { count, read: () => this.#ifSmall(part, this.#entries.seqs(part, field, spans)) };
      }
      case "words": {
        const limit = rankedToCandidates * this.#maxCandidates;
        if (words.every((word) => this.#words.countUpTo(part, word, limit + 1) > limit))
          return undefined;
        const ranks = this.#words.ranks({ part, plan }, words);
        return {
          ranks,
          count: ranks.size,
          read: () => this.#ifSmall(part, [...ranks.keys()]),
        };
      }
      case "all":
        return { count: head.total, read: () => this.#wholeCollection(part) };
    }
  }

  /** Returns the resources with these seqs, in the same order. */
  #at(part: number, seqs: readonly number[]): Candidates {
    const rows = this.#bySeq.all(part, JSON.stringify(seqs));
    const bySeq = new Map(rows.map((row) => [row[0], row]));
    return seqs.flatMap((seq) => {
      const row = bySeq.get(seq);
      return row ? [toCandidate(row)] : [];
    });
  }

  /** Returns all of them, or undefined when they have too many bytes. */
  #ifSmall(part: number, seqs: readonly number[]): Candidates | undefined {
    const { page, isCut } = this.within(part, seqs, maxCandidateBytes);
    return isCut ? undefined : page;
  }

  #wholeCollection(part: number): Candidates | undefined {
    const { rows, isCut } = this.#all.within(maxCandidateBytes, (row) => row[5].length, part);
    return isCut ? undefined : rows.map(toCandidate);
  }

  #find(part: number, id: string): Candidates {
    const found = this.#byId.all(part, id).map(toCandidate);
    // A damaged index can lead to the row of another resource.
    if (found.some(({ resource }) => resource.id !== id)) throw new Damage(id);
    return found;
  }
}
