// Answers queries with an index scan, or by filtering a limited number of candidates.

import {
  type Candidate,
  type Condition,
  isRanked,
  type Position,
  type Query,
  type Sorting,
  select,
} from "../../model/query/query.ts";
import { minKey, type Span, someValue } from "../../model/query/sort-key.ts";
import type { QueryResult, TooBroad } from "../store.ts";
import { CandidateReader, type CollectionState, hasIndex, onlyKey } from "./candidates.ts";
import type { Connection, LimitedRows, Query as Statement } from "./connection.ts";
import { EntryReader, type EntryRow, type IndexScan } from "./entries.ts";
import { locate, type ReadCounts } from "./position-tree.ts";
import { type SeqResourceRow, seqResourceColumns, toCandidate } from "./resource.ts";

/** All keys, including the key of a missing value. */
const everyKey: readonly Span[] = [{ from: minKey, to: someValue.to }];

type Answer = Omit<QueryResult, "kind" | "collection">;

export class QueryReader {
  readonly #counts: ReadCounts;
  readonly #slices: Readonly<Record<"up" | "down", Statement<SeqResourceRow>>>;
  readonly #entries: EntryReader;
  readonly #candidates: CandidateReader;

  constructor(connection: Connection, key: number, counts: ReadCounts, maxCandidates: number) {
    const select = `SELECT ${seqResourceColumns} FROM resources_${key}`;
    this.#counts = counts;
    this.#slices = {
      up: connection.query(`${select} WHERE seq >= ? ORDER BY seq LIMIT ?`),
      down: connection.query(`${select} WHERE seq <= ? ORDER BY seq DESC LIMIT ?`),
    };
    this.#entries = new EntryReader(connection, key);
    this.#candidates = new CandidateReader(connection, key, this.#entries, maxCandidates);
  }

  answer(query: Query, state: CollectionState): QueryResult | TooBroad {
    const { collection } = state;
    this.#entries.clearCountsBefore(collection.revision);
    const answer = this.#answer(query, state);
    if (!answer) return { kind: "broad", collection };
    const total = query.isCounted ? answer.total : undefined;
    return { kind: "found", collection, ...answer, total };
  }

  #answer(query: Query, state: CollectionState): Answer | undefined {
    return (
      this.#slice(query, state) ??
      this.#group(query, state) ??
      this.#scan(query, state) ??
      this.#ranked(query, state) ??
      this.#filtered(query, state)
    );
  }

  /** Answers a query for all resources in order of creation. */
  #slice(query: Query, state: CollectionState): Answer | undefined {
    const { conditions, words, sortings, limit, isNewestFirst } = query;
    if (conditions.length + words.length + sortings.length > 0) return undefined;
    const seq = this.#firstSeq(query, state);
    const rows = this.#slices[isNewestFirst ? "down" : "up"];
    const { rows: read, isCut } = readWithin(rows, query.maxBytes, seq, limit + 1);
    const candidates = read.map(toCandidate);
    const page = candidates.slice(0, limit);
    const last = isCut || candidates.length > limit ? page.at(-1) : undefined;
    return {
      ...(isCut && candidates.length < limit && { isCut }),
      resources: resourcesOf(page),
      total: state.collection.total,
      last: last && { keys: [], seq: last.seq },
    };
  }

  #firstSeq(
    { start, isNewestFirst }: Query,
    { collection, seq }: CollectionState,
  ): number | undefined {
    if (typeof start !== "number") return isNewestFirst ? start.seq - 1 : start.seq + 1;
    const { total } = collection;
    if (start >= total) return undefined;
    return locate(this.#counts, isNewestFirst ? total - 1 - start : start, seq) + 1;
  }

  /** Answers a query for one value of an indexed field, in order of creation. */
  #group(query: Query, { plan }: CollectionState): Answer | undefined {
    const { conditions, words, sortings, start, limit, isNewestFirst } = query;
    const [condition] = conditions;
    if (!condition || conditions.length + words.length + sortings.length > 1) return undefined;
    const key = onlyKey(condition);
    if (key === undefined || !hasOnlySpans(condition) || !hasIndex(plan, condition))
      return undefined;
    const { field, spans } = condition;
    const part = typeof start === "number" ? { offset: start } : { after: start.seq };
    const rows = this.#entries.group(field, key, { isNewestFirst, limit: limit + 1, ...part });
    const count = () => this.#entries.count(field, spans);
    return this.#page(query, rows, count, ([, seq]) => ({ keys: [], seq }));
  }

  /** Answers a query sorted by an indexed field, with at most one condition on the same field. */
  #scan(query: Query, { plan, collection }: CollectionState): Answer | undefined {
    const { conditions, words, sortings, start, limit, isNewestFirst } = query;
    const [sorting] = sortings;
    const [condition] = conditions;
    if (!sorting || sortings.length + words.length > 1 || conditions.length > 1) return undefined;
    // An array has several keys in an index of the kind `any`, so it has no sort order.
    if (sorting.kind === "any" || !hasIndex(plan, sorting)) return undefined;
    if (condition && !(hasOnlySpans(condition) && isSameField(condition, sorting)))
      return undefined;
    const { field, isDescending } = sorting;
    const spans = condition?.spans ?? everyKey;
    const scan: IndexScan = { field, spans, isDescending, isNewestFirst };
    const rows =
      typeof start === "number"
        ? this.#entries.scan(scan, start, limit + 1)
        : this.#entries.scanAfter(scan, [start.keys[0] ?? minKey, start.seq], limit + 1);
    const count = () => (condition ? this.#entries.count(field, spans) : collection.total);
    return this.#page(query, rows, count, ([key, seq]) => ({ keys: [key], seq }));
  }

  /** Answers a search by words, sorted by rank. */
  #ranked(query: Query, { plan }: CollectionState): Answer | undefined {
    const { conditions, words, start, limit } = query;
    if (!isRanked(query) || conditions.length > 0 || plan.searchable.length === 0) return undefined;
    if (plan.hidden) return undefined;
    const total = this.#candidates.countRanked(words);
    if (typeof start !== "number" || total === undefined) return undefined;
    const { page, isCut } = this.#candidates.within(
      this.#candidates.bestSeqs(words, start, limit),
      query.maxBytes,
    );
    return { resources: resourcesOf(page), total, last: undefined, ...(isCut && { isCut }) };
  }

  #filtered(query: Query, state: CollectionState): Answer | undefined {
    const candidates = this.#candidates.read(query, state);
    return candidates && select(candidates, query);
  }

  #page(
    { limit, isCounted, maxBytes }: Query,
    rows: readonly EntryRow[],
    count: () => number,
    positionOf: (place: EntryRow) => Position,
  ): Answer {
    const seqs = rows.slice(0, limit).map(([, seq]) => seq);
    const { page, isCut } = this.#candidates.within(seqs, maxBytes);
    const last = isCut || rows.length > limit ? rows[page.length - 1] : undefined;
    return {
      ...(isCut && { isCut }),
      resources: resourcesOf(page),
      total: isCounted ? count() : undefined,
      last: last && positionOf(last),
    };
  }
}

/** Returns no rows when there is no first seq. */
function readWithin(
  rows: Statement<SeqResourceRow>,
  maxBytes: number | undefined,
  seq: number | undefined,
  limit: number,
): LimitedRows<SeqResourceRow> {
  if (seq === undefined) return { rows: [], isCut: false };
  if (maxBytes === undefined) return { rows: rows.all(seq, limit), isCut: false };
  return rows.within(maxBytes, (row) => row[5].length, seq, limit);
}

const resourcesOf = (candidates: readonly Candidate[]) =>
  candidates.map(({ resource }) => resource);

/** Whether the condition consists only of its spans. */
const hasOnlySpans = ({ isNegated = false, pattern }: Condition): boolean =>
  !isNegated && pattern === undefined;

const isSameField = (condition: Condition, { field, kind }: Sorting): boolean =>
  condition.field === field && condition.kind === kind;
