// The resources that a query has to look at one by one, if there are not too many.

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
import { type StandingRow, standingColumns, toCandidate } from "./resource.ts";
import { SearchReader } from "./search.ts";

/** The collection that is asked, as it is at this moment. */
export interface Asked {
  readonly collection: Collection;
  readonly plan: IndexPlan;
  /** The last seq given out. */
  readonly seq: number;
}

type Candidates = readonly Candidate[];

/** To rank one takes SQLite a tenth of what it takes us to look at one. */
const rankedToCandidates = 10;

/** One way to candidates, and how many there are that way. */
interface Way {
  readonly count: number;
  /** None if they have too many bytes together. */
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
  readonly #all: Statement<StandingRow>;
  readonly #at: Statement<StandingRow>;
  readonly #byId: Statement<StandingRow>;
  readonly #sizes: Statement<readonly [seq: number, bytes: number]>;
  #words: SearchReader | undefined;

  constructor(connection: Connection, key: number, entries: EntryReader, maxCandidates: number) {
    const select = `SELECT ${standingColumns} FROM resources_${key}`;
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

  /** Those with these seqs, in their order. */
  at(seqs: readonly number[]): Candidates {
    return inOrder(seqs, this.#at.all(JSON.stringify(seqs)).map(toCandidate));
  }

  /** The first of them, at least one, that have no more bytes together; and whether there are more. */
  within(seqs: readonly number[], maxBytes: number | undefined): Page {
    if (maxBytes === undefined) return { page: this.at(seqs), isCut: false };
    const sizes = new Map(this.#sizes.all(JSON.stringify(seqs)));
    const count = countWithin(seqs, (seq) => sizes.get(seq) ?? 0, maxBytes);
    return { page: this.at(seqs.slice(0, count)), isCut: count < seqs.length };
  }

  /** All of them, if they have few enough bytes together to be looked at. */
  #ifFew(seqs: readonly number[]): Candidates | undefined {
    const { page, isCut } = this.within(seqs, maxCandidateBytes);
    return isCut ? undefined : page;
  }

  /** The seqs of the best of those that have all of the words. */
  bestSeqs(words: readonly Word[], offset: number, limit: number): readonly number[] {
    return this.#wordReader().best(words, offset, limit);
  }

  /** How many have all of the words; none if they are too many to be ranked while others wait. */
  countRanked(words: readonly Word[]): number | undefined {
    const most = rankedToCandidates * this.#maxCandidates;
    const count = this.#wordReader().countUpTo(words, most + 1);
    return count > most ? undefined : count;
  }

  /** All that may be an answer, with the best first where there are words; none if too many. */
  read(query: Query, asked: Asked): Candidates | undefined {
    const { words } = query;
    const { plan } = asked;
    if (words.length === 0) return this.#likely(query, asked);
    if (plan.searchable.length === 0) return [];
    const found = isOfOwner(query) ? this.#ofOwner(query, asked) : this.#withWords(query, asked);
    // The table may be older than the rule that hides a field.
    return plan.hidden === undefined
      ? found
      : found?.filter(({ resource }) => hasWords(words, searchTextOf(plan, resource)));
  }

  #withWords(query: Query, asked: Asked): Candidates | undefined {
    const { words } = query;
    const limit = this.#maxCandidates + 1;
    if (this.#wordReader().countUpTo(words, limit) < limit)
      return this.#ifFew(this.bestSeqs(words, 0, limit));
    return this.#among(words, this.#likely(query, asked));
  }

  /**
   * For a caller who sees what one owner has: the rank of SQLite counts the words of everybody, so
   * each is ranked by its own words alone.
   */
  #ofOwner(query: Query, asked: Asked): Candidates | undefined {
    const { words } = query;
    const likely = this.#likely(query, asked);
    const found = likely ? this.#among(words, likely) : this.#withWords(query, asked);
    if (!isRanked(query)) return found;
    return found
      ?.map((candidate) => {
        return { candidate, rank: rankOf(words, searchTextOf(asked.plan, candidate.resource)) };
      })
      .sort((one, other) => other.rank - one.rank || one.candidate.seq - other.candidate.seq)
      .map(({ candidate }) => candidate);
  }

  /** Those of the candidates that have all of the words, the best first. */
  #among(words: readonly Word[], candidates: Candidates | undefined): Candidates | undefined {
    const seqs = candidates?.map(({ seq }) => seq);
    return seqs && inOrder(this.#wordReader().among(words, seqs), candidates ?? []);
  }

  /** Those that the narrowest of the conditions leaves. */
  #likely({ conditions }: Query, { plan, collection }: Asked): Candidates | undefined {
    const all: Way = { count: collection.total, read: () => this.#everything() };
    const ways = [all, ...conditions.flatMap((condition) => this.#waysBy(condition, plan))];
    const narrowest = ways.reduce((best, way) => (way.count < best.count ? way : best));
    return narrowest.count <= this.#maxCandidates ? narrowest.read() : undefined;
  }

  #waysBy(condition: Condition, plan: IndexPlan): readonly Way[] {
    const { field, spans, isNegated = false } = condition;
    if (isNegated) return [];
    const ids = idsIn(condition);
    if (ids) return [{ count: ids.length, read: () => ids.flatMap((id) => this.#find(id)) }];
    if (!hasIndex(plan, condition)) return [];
    const count = this.#entries.countUpTo(field, spans, this.#maxCandidates + 1);
    return [{ count, read: () => this.#ifFew(this.#entries.seqs(field, spans)) }];
  }

  #everything(): Candidates | undefined {
    const { rows, isCut } = this.#all.within(maxCandidateBytes, (row) => row[5].length);
    return isCut ? undefined : rows.map(toCandidate);
  }

  #find(id: string): Candidates {
    return this.#byId.all(id).map(toCandidate);
  }

  /** Only where there are words is there a table of them. */
  #wordReader(): SearchReader {
    this.#words ??= new SearchReader(this.#connection, this.#key);
    return this.#words;
  }
}

/** Whether there is an index of the field, and of the same kind as what is asked. */
export const hasIndex = (
  { indexes }: IndexPlan,
  { field, kind }: Pick<Condition, "field" | "kind">,
) => indexes.some((index) => index.field === field && index.kind === kind);

/** The one key that a condition asks for, if it is but one. */
export function onlyKey({ spans }: Pick<Condition, "spans">): string | undefined {
  const [span] = spans;
  return spans.length === 1 && span?.to === equalTo(span?.from ?? "").to ? span.from : undefined;
}

/** The ids that a condition asks for, if it asks for nothing else. */
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
