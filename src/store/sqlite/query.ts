// Answers queries: by an index that has the order, or out of few enough candidates.

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
import { type Asked, CandidateReader, hasIndex, onlyKey } from "./candidates.ts";
import type { Connection, Query as Statement, Within } from "./connection.ts";
import { EntryReader, type Place, type Walk } from "./entries.ts";
import { locate, type ReadCounts } from "./position-tree.ts";
import { type StandingRow, standingColumns, toCandidate } from "./resource.ts";

/** Every key, that of no value included. */
const everyKey: readonly Span[] = [{ from: minKey, to: someValue.to }];

type Answer = Omit<QueryResult, "kind" | "collection">;

export class QueryReader {
  readonly #counts: ReadCounts;
  readonly #slices: Readonly<Record<"up" | "down", Statement<StandingRow>>>;
  readonly #entries: EntryReader;
  readonly #candidates: CandidateReader;

  constructor(connection: Connection, key: number, counts: ReadCounts, maxCandidates: number) {
    const select = `SELECT ${standingColumns} FROM resources_${key}`;
    this.#counts = counts;
    this.#slices = {
      up: connection.query(`${select} WHERE seq >= ? ORDER BY seq LIMIT ?`),
      down: connection.query(`${select} WHERE seq <= ? ORDER BY seq DESC LIMIT ?`),
    };
    this.#entries = new EntryReader(connection, key);
    this.#candidates = new CandidateReader(connection, key, this.#entries, maxCandidates);
  }

  answer(query: Query, asked: Asked): QueryResult | TooBroad {
    const { collection } = asked;
    this.#entries.forgetCountsBefore(collection.revision);
    const answer = this.#answer(query, asked);
    if (!answer) return { kind: "broad", collection };
    const total = query.isCounted ? answer.total : undefined;
    return { kind: "found", collection, ...answer, total };
  }

  #answer(query: Query, asked: Asked): Answer | undefined {
    return (
      this.#slice(query, asked) ??
      this.#group(query, asked) ??
      this.#walk(query, asked) ??
      this.#best(query, asked) ??
      this.#selection(query, asked)
    );
  }

  /** All, in the order of creation. */
  #slice(query: Query, asked: Asked): Answer | undefined {
    const { conditions, words, sortings, limit, isNewestFirst } = query;
    if (conditions.length + words.length + sortings.length > 0) return undefined;
    const seq = this.#firstSeq(query, asked);
    const rows = this.#slices[isNewestFirst ? "down" : "up"];
    const { rows: read, isCut } = readWithin(rows, query.maxBytes, seq, limit + 1);
    const candidates = read.map(toCandidate);
    const page = candidates.slice(0, limit);
    const last = isCut || candidates.length > limit ? page.at(-1) : undefined;
    return {
      ...(isCut && candidates.length < limit && { isCut }),
      resources: resourcesOf(page),
      total: asked.collection.total,
      last: last && { keys: [], seq: last.seq },
    };
  }

  #firstSeq({ start, isNewestFirst }: Query, { collection, seq }: Asked): number | undefined {
    if (typeof start !== "number") return isNewestFirst ? start.seq - 1 : start.seq + 1;
    const { total } = collection;
    if (start >= total) return undefined;
    return locate(this.#counts, isNewestFirst ? total - 1 - start : start, seq) + 1;
  }

  /** All that have one value, in the order of creation. */
  #group(query: Query, { plan }: Asked): Answer | undefined {
    const { conditions, words, sortings, start, limit, isNewestFirst } = query;
    const [condition] = conditions;
    if (!condition || conditions.length + words.length + sortings.length > 1) return undefined;
    const key = onlyKey(condition);
    if (key === undefined || !isPlain(condition) || !hasIndex(plan, condition)) return undefined;
    const { field, spans } = condition;
    const part = typeof start === "number" ? { offset: start } : { after: start.seq };
    const places = this.#entries.group(field, key, { isNewestFirst, limit: limit + 1, ...part });
    const count = () => this.#entries.count(field, spans);
    return this.#page(query, places, count, ([, seq]) => ({ keys: [], seq }));
  }

  /** In the order of one index: all, or those that one condition on the same field leaves. */
  #walk(query: Query, { plan, collection }: Asked): Answer | undefined {
    const { conditions, words, sortings, start, limit, isNewestFirst } = query;
    const [sorting] = sortings;
    const [condition] = conditions;
    if (!sorting || sortings.length + words.length > 1 || conditions.length > 1) return undefined;
    // Of the kind `any` an array has several keys, and none by which it is sorted.
    if (sorting.kind === "any" || !hasIndex(plan, sorting)) return undefined;
    if (condition && !(isPlain(condition) && isOfSame(condition, sorting))) return undefined;
    const { field, isDescending } = sorting;
    const spans = condition?.spans ?? everyKey;
    const walk: Walk = { field, spans, isDescending, isNewestFirst };
    const places =
      typeof start === "number"
        ? this.#entries.walk(walk, start, limit + 1)
        : this.#entries.walkAfter(walk, [start.keys[0] ?? minKey, start.seq], limit + 1);
    const count = () => (condition ? this.#entries.count(field, spans) : collection.total);
    return this.#page(query, places, count, ([key, seq]) => ({ keys: [key], seq }));
  }

  /** The best of those that have the words. */
  #best(query: Query, { plan }: Asked): Answer | undefined {
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

  #selection(query: Query, asked: Asked): Answer | undefined {
    const candidates = this.#candidates.read(query, asked);
    return candidates && select(candidates, query);
  }

  #page(
    { limit, isCounted, maxBytes }: Query,
    places: readonly Place[],
    count: () => number,
    positionOf: (place: Place) => Position,
  ): Answer {
    const seqs = places.slice(0, limit).map(([, seq]) => seq);
    const { page, isCut } = this.#candidates.within(seqs, maxBytes);
    const last = isCut || places.length > limit ? places[page.length - 1] : undefined;
    return {
      ...(isCut && { isCut }),
      resources: resourcesOf(page),
      total: isCounted ? count() : undefined,
      last: last && positionOf(last),
    };
  }
}

/** Of nothing to begin with nothing is read. */
function readWithin(
  rows: Statement<StandingRow>,
  maxBytes: number | undefined,
  seq: number | undefined,
  limit: number,
): Within<StandingRow> {
  if (seq === undefined) return { rows: [], isCut: false };
  if (maxBytes === undefined) return { rows: rows.all(seq, limit), isCut: false };
  return rows.within(maxBytes, (row) => row[5].length, seq, limit);
}

const resourcesOf = (candidates: readonly Candidate[]) =>
  candidates.map(({ resource }) => resource);

/** Whether the spans are all that there is to it. */
const isPlain = ({ isNegated = false, pattern }: Condition): boolean =>
  !isNegated && pattern === undefined;

const isOfSame = (condition: Condition, { field, kind }: Sorting): boolean =>
  condition.field === field && condition.kind === kind;
