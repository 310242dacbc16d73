// Reads the resources that a query has to check one by one, up to a limit.

import type { Collection } from "../../model/collection.ts";
import { type IndexPlan, searchTextOf } from "../../model/query/index-plan.ts";
import {
  type Candidate,
  type Condition,
  countWithin,
  isOfOwner,
  isRanked,
  type Query,
  type Word,
} from "../../model/query/query.ts";
import { hasWords, rankOf } from "../../model/query/rank.ts";
import { equalTo, keyOf } from "../../model/query/sort-key.ts";
import { maxCandidateBytes } from "../store.ts";
import type { Connection, Query as Statement } from "./connection.ts";
import type { EntryReader } from "./entries.ts";
import { type SeqResourceRow, seqResourceColumns, toCandidate } from "./resource.ts";
import { SearchReader } from "./search.ts";

/** The current state of the collection. */
export interface CollectionState {
  readonly collection: Collection;
  readonly plan: IndexPlan;
  /** The last assigned seq. */
  readonly seq: number;
}

type Candidates = readonly Candidate[];

/** Ranking a resource in SQLite costs a tenth of checking one here. */
const rankedToCandidates = 10;

/** A source of candidates, and their number. */
interface Source {
  readonly count: number;
  /** Returns undefined when they have too many bytes. */
  read(): Candidates | undefined;
}

interface Page {
  readonly page: Candidates;
  readonly isCut: boolean;
}

export class CandidateReader {
  readonly #connection: Connection;
  readonly #key: number;
  readonly #entries: EntryReader;
  readonly #maxCandidates: number;
  readonly #all: Statement<SeqResourceRow>;
  readonly #at: Statement<SeqResourceRow>;
  readonly #byId: Statement<SeqResourceRow>;
  readonly #sizes: Statement<readonly [seq: number, bytes: number]>;
  #words: SearchReader | undefined;

  constructor(connection: Connection, key: number, entries: EntryReader, maxCandidates: number) {
    const select = `SELECT ${seqResourceColumns} FROM resources_${key}`;
    this.#connection = connection;
    this.#key = key;
    this.#entries = entries;
    this.#maxCandidates = maxCandidates;
    this.#all = connection.query(select);
    this.#at = connection.query(`${select} WHERE seq IN (SELECT value FROM json_each(?))`);
    this.#sizes = connection.query(
      `SELECT seq, octet_length(fields) FROM resources_${key}
       WHERE seq IN (SELECT value FROM json_each(?))`,
    );
    this.#byId = connection.query(`${select} WHERE id = ?`);
  }

  /** Returns the resources with these seqs, in the same order. */
  at(seqs: readonly number[]): Candidates {
    return inOrder(seqs, this.#at.all(JSON.stringify(seqs)).map(toCandidate));
  }

  /** Returns the first resources with at most `maxBytes` together, but at least one, and whether more follow. */
  within(seqs: readonly number[], maxBytes: number | undefined): Page {
    if (maxBytes === undefined) return { page: this.at(seqs), isCut: false };
    const sizes = new Map(this.#sizes.all(JSON.stringify(seqs)));
    const count = countWithin(seqs, (seq) => sizes.get(seq) ?? 0, maxBytes);
    return { page: this.at(seqs.slice(0, count)), isCut: count < seqs.length };
  }

  /** Returns all of them, or undefined when they have too many bytes. */
  #ifSmall(seqs: readonly number[]): Candidates | undefined {
    const { page, isCut } = this.within(seqs, maxCandidateBytes);
    return isCut ? undefined : page;
  }

  /** Returns the seqs of the resources that contain all words, best rank first. */
  bestSeqs(words: readonly Word[], offset: number, limit: number): readonly number[] {
    return this.#wordReader().best(words, offset, limit);
  }

  /** Returns how many resources contain all words, or undefined when they are too many to rank. */
  countRanked(words: readonly Word[]): number | undefined {
    const most = rankedToCandidates * this.#maxCandidates;
    const count = this.#wordReader().countUpTo(words, most + 1);
    return count > most ? undefined : count;
  }

  /** Returns all possible results, ranked when the query has words, or undefined when they are too many. */
  read(query: Query, state: CollectionState): Candidates | undefined {
    const { words } = query;
    const { plan } = state;
    if (words.length === 0) return this.#narrowed(query, state);
    if (plan.searchable.length === 0) return [];
    const found = isOfOwner(query) ? this.#ofOwner(query, state) : this.#withWords(query, state);
    // The stored words can be older than the rule that hides a field.
    return plan.hidden === undefined
      ? found
      : found?.filter(({ resource }) => hasWords(words, searchTextOf(plan, resource)));
  }

  #withWords(query: Query, state: CollectionState): Candidates | undefined {
    const { words } = query;
    const limit = this.#maxCandidates + 1;
    if (this.#wordReader().countUpTo(words, limit) < limit)
      return this.#ifSmall(this.bestSeqs(words, 0, limit));
    return this.#among(words, this.#narrowed(query, state));
  }

  /**
   * For a caller who sees the resources of one owner. SQLite's rank depends on the words of all
   * resources, so each is ranked here by its own words.
   */
  #ofOwner(query: Query, state: CollectionState): Candidates | undefined {
    const { words } = query;
    const narrowed = this.#narrowed(query, state);
    const found = narrowed ? this.#among(words, narrowed) : this.#withWords(query, state);
    if (!isRanked(query)) return found;
    return found
      ?.map((candidate) => {
        return { candidate, rank: rankOf(words, searchTextOf(state.plan, candidate.resource)) };
      })
      .sort((one, other) => other.rank - one.rank || one.candidate.seq - other.candidate.seq)
      .map(({ candidate }) => candidate);
  }

  /** Returns the candidates that contain all words, best rank first. */
  #among(words: readonly Word[], candidates: Candidates | undefined): Candidates | undefined {
    const seqs = candidates?.map(({ seq }) => seq);
    return seqs && inOrder(this.#wordReader().among(words, seqs), candidates ?? []);
  }

  /** Returns the candidates of the most selective condition. */
  #narrowed({ conditions }: Query, { plan, collection }: CollectionState): Candidates | undefined {
    const all: Source = { count: collection.total, read: () => this.#wholeCollection() };
    const sources = [all, ...conditions.flatMap((condition) => this.#sourcesFor(condition, plan))];
    const narrowest = sources.reduce((best, source) => (source.count < best.count ? source : best));
    return narrowest.count <= this.#maxCandidates ? narrowest.read() : undefined;
  }

  #sourcesFor(condition: Condition, plan: IndexPlan): readonly Source[] {
    const { field, spans, isNegated = false } = condition;
    if (isNegated) return [];
    const ids = idsIn(condition);
    if (ids) return [{ count: ids.length, read: () => ids.flatMap((id) => this.#find(id)) }];
    if (!hasIndex(plan, condition)) return [];
    const count = this.#entries.countUpTo(field, spans, this.#maxCandidates + 1);
    return [{ count, read: () => this.#ifSmall(this.#entries.seqs(field, spans)) }];
  }

  #wholeCollection(): Candidates | undefined {
    const { rows, isCut } = this.#all.within(maxCandidateBytes, (row) => row[5].length);
    return isCut ? undefined : rows.map(toCandidate);
  }

  #find(id: string): Candidates {
    return this.#byId.all(id).map(toCandidate);
  }

  /** Created on first use: the table exists only when the collection has searchable fields. */
  #wordReader(): SearchReader {
    this.#words ??= new SearchReader(this.#connection, this.#key);
    return this.#words;
  }
}

/** Whether the field has an index of this kind. */
export const hasIndex = (
  { indexes }: IndexPlan,
  { field, kind }: Pick<Condition, "field" | "kind">,
) => indexes.some((index) => index.field === field && index.kind === kind);

/** Returns the key of a condition that matches exactly one key. */
export function onlyKey({ spans }: Pick<Condition, "spans">): string | undefined {
  const [span] = spans;
  return spans.length === 1 && span?.to === equalTo(span?.from ?? "").to ? span.from : undefined;
}

/** Returns the ids of a condition that compares only ids. */
function idsIn({ field, spans }: Condition): readonly string[] | undefined {
  if (field !== "id") return undefined;
  const keys = spans.map((span) => onlyKey({ spans: [span] }));
  const ids = keys.flatMap((key) => (key === undefined ? [] : key.slice(1)));
  const isAll = ids.every((id, index) => keyOf("text", id) === keys[index]);
  return isAll && ids.length === keys.length ? ids : undefined;
}

function inOrder(seqs: readonly number[], candidates: Candidates): Candidates {
  const bySeq = new Map(candidates.map((candidate) => [candidate.seq, candidate]));
  return seqs.flatMap((seq) => bySeq.get(seq) ?? []);
}
