// Answers queries: by range, with an index scan, by rank, or by checking resources.

import { largePageBytes } from "../../model/query/list-request.ts";
import type { Candidate, Query } from "../../model/query/query.ts";
import { isRelated } from "../../model/query/related.ts";
import type { Read, ReadResults, Running } from "../core/filter-reads.ts";
import { findOrAggregate } from "../core/find-or-aggregate.ts";
import type { IndexScan } from "../core/index-use.ts";
import { lowerLimit } from "../core/lower-limit.ts";
import { locate } from "../core/position-tree.ts";
import { type FilterPlan, isShort, planQuery, type QueryPlan } from "../core/query-plan.ts";
import { idsOf, withRelatedIds } from "../core/related-ids.ts";
import { bestOf, onlyTerm } from "../core/search.ts";
import { positionOf } from "../core/top-matches.ts";
import type { QueryResult } from "../store.ts";
import { CandidateReader, everyKey, keyOfGroup } from "./candidates.ts";
import type { CachedCollection } from "./collections.ts";
import {
  type Connection,
  isMalformedJson,
  type LimitedRows,
  type PreparedQuery,
} from "./connection.ts";
import type { EntryCells } from "./entries.ts";
import { PositionReader } from "./positions.ts";
import { type SeqLargeRow, toCandidate } from "./resource-reader.ts";

interface RankedPage {
  readonly seqs: readonly number[];
  readonly total: number | undefined;
  readonly totalAtLeast?: number;
}

type EngineResult = Omit<QueryResult, "collection">;

export interface QueryLimits {
  /** The total is exact while a query looks at no more index entries and resources than this. */
  readonly maxCounted: number;
  /** A query that looks at no more index entries or resources is short. */
  readonly shortRows: number;
  /** The columns of the resources of a page. */
  readonly pageColumns: string;
}

/** Returns another collection in the same snapshot. */
type FindCollection = (name: string) => CachedCollection | undefined;

/** The average size of resources that are checked in a short query. */
const shortResourceBytes = 2_000;

export class QueryReader {
  readonly #slices: Readonly<Record<"up" | "down", PreparedQuery<SeqLargeRow>>>;
  readonly #positions: PositionReader;
  readonly #candidates: CandidateReader;
  readonly #bytes: PreparedQuery<readonly [bytes: number]>;
  readonly #limits: QueryLimits;
  readonly #find: FindCollection;

  constructor(connection: Connection, limits: QueryLimits, find: FindCollection) {
    const select = `SELECT seq, ${limits.pageColumns} FROM resources WHERE part = ?`;
    this.#slices = {
      up: connection.query(`${select} AND seq >= ? ORDER BY seq LIMIT ?`),
      down: connection.query(`${select} AND seq <= ? ORDER BY seq DESC LIMIT ?`),
    };
    this.#positions = new PositionReader(connection);
    this.#candidates = new CandidateReader(connection, limits.pageColumns);
    this.#bytes = connection.query(
      "SELECT coalesce(sum(octet_length(fields)), 0) FROM resources WHERE part = ?",
    );
    this.#limits = limits;
    this.#find = find;
  }

  /** Returns undefined when the query may look at many entries or resources, so that it would block others. */
  answerIfShort(known: CachedCollection, query: Query): QueryResult | undefined {
    if (isRelated(query)) return undefined;
    const plan = planQuery(known.plan, query);
    return this.#isShort(known, query, plan) ? this.#answer(plan, known, query) : undefined;
  }

  /** `checkStop` is called from time to time, and throws when the query must end. */
  answer(known: CachedCollection, query: Query, checkStop: () => void): QueryResult {
    const asked = isRelated(query) ? this.#finish(known, withRelatedIds(query), checkStop) : query;
    return this.#answer(planQuery(known.plan, asked), known, asked, checkStop);
  }

  #answer(
    plan: QueryPlan,
    known: CachedCollection,
    query: Query,
    checkStop: () => void = () => undefined,
  ): QueryResult {
    const { collection } = known;
    const answer = this.#execute(plan, known, query, checkStop);
    return query.isCounted
      ? { collection, ...answer }
      : { collection, ...answer, total: undefined };
  }

  #isShort(known: CachedCollection, query: Query, plan: QueryPlan): boolean {
    const { part, head } = known;
    if (largePageBytes(head, query) > 0) return plan.kind === "nothing";
    if (isShort(known.plan, plan)) return true;
    const most = this.#limits.shortRows;
    // Not by the size of the collection: the time would tell a caller who sees a few how many others there are.
    if (plan.kind === "filter" && query.words.length === 0 && plan.sources.length > 0)
      return this.#candidates.areFew(part, plan.sources, most, most * shortResourceBytes);
    const offset = typeof query.start === "number" ? query.start : 0;
    if (plan.kind !== "scan" || offset > most)
      return head.total <= most && (this.#bytes.one(part)?.[0] ?? 0) <= most * shortResourceBytes;
    const { index, spans } = plan;
    if (spans === undefined || !query.isCounted) return most > 0;
    return this.#candidates.entries.countUpTo(part, index, spans, most + 1) <= most;
  }

  #execute(
    plan: QueryPlan,
    known: CachedCollection,
    query: Query,
    checkStop: () => void,
  ): EngineResult {
    switch (plan.kind) {
      case "nothing":
        return { resources: [], total: 0, last: undefined };
      case "slice":
        return this.#slice(known, query);
      case "scan":
        return this.#scan(known, query, plan);
      case "search":
        return this.#search(known, query, checkStop);
      case "filter":
        try {
          return this.#filter(plan, known, query, checkStop);
        } catch (error) {
          if (!isMalformedJson(error)) throw error;
          // The checksums tell which resource is damaged.
          return this.#filter(plan, known, query, checkStop, true);
        }
    }
  }

  #filter(
    plan: FilterPlan,
    known: CachedCollection,
    query: Query,
    checkStop: () => void,
    isVerified = false,
  ): EngineResult {
    const { maxCounted } = this.#limits;
    const filtered = { plan: known.plan, total: known.head.total, maxCounted, isVerified };
    return this.#finish(known, findOrAggregate(filtered, plan, query), checkStop);
  }

  #finish<T>(known: CachedCollection, running: Running<T>, checkStop: () => void): T {
    let step = running.next();
    while (!step.done) step = running.next(this.#read(known, step.value, checkStop));
    return step.value;
  }

  #read(known: CachedCollection, read: Read, checkStop: () => void): ReadResults[Read["kind"]] {
    if (read.kind !== "related" && read.kind !== "ids")
      return this.#candidates.read(known, read, checkStop);
    checkStop();
    const other = this.#find(read.collection);
    if (read.kind === "related")
      return other ? this.#candidates.named(other.part, read) : read.ids.map(() => undefined);
    return other ? idsOf(this.answer(other, read.query, checkStop)) : [];
  }

  /** Answers a query for all resources in order of creation. */
  #slice(known: CachedCollection, query: Query): EngineResult {
    const { limit, isNewestFirst } = query;
    const rows = this.#slices[isNewestFirst ? "down" : "up"];
    const { rows: read, isCut } = this.#readFrom(known, query, rows);
    const candidates = read.map(toCandidate);
    const page = candidates.slice(0, limit);
    const last = isCut || candidates.length > limit ? page.at(-1) : undefined;
    return {
      ...(isCut && candidates.length < limit && { isCut }),
      resources: resourcesOf(page),
      total: known.head.total,
      last: last && { keys: [], seq: last.seq },
    };
  }

  /** Reads one row more than the limit, which shows whether more follow. */
  #readFrom(
    known: CachedCollection,
    query: Query,
    rows: PreparedQuery<SeqLargeRow>,
  ): LimitedRows<SeqLargeRow> {
    const seq = this.#firstSeq(known, query);
    if (seq === undefined) return { rows: [], isCut: false };
    const { limit, maxBytes } = query;
    const values = [known.part, seq, limit + 1] as const;
    if (maxBytes === undefined) return { rows: rows.all(...values), isCut: false };
    return rows.within(maxBytes, (row) => row[5].length, ...values);
  }

  #firstSeq({ part, head }: CachedCollection, { start, isNewestFirst }: Query): number | undefined {
    if (typeof start !== "number") return isNewestFirst ? start.seq - 1 : start.seq + 1;
    const { total, seq } = head;
    if (start >= total) return undefined;
    return locate(this.#positions.of(part), isNewestFirst ? total - 1 - start : start, seq) + 1;
  }

  #scan(known: CachedCollection, query: Query, scan: IndexScan): EngineResult {
    const { part } = known;
    const { limit, maxBytes } = query;
    const seqs = this.#entriesOf(known, query, scan).map(([, seq]) => seq);
    const { page, isCut } = this.#candidates.within(part, seqs.slice(0, limit), maxBytes);
    const last = isCut || seqs.length > limit ? page.at(-1) : undefined;
    return {
      ...(isCut && { isCut }),
      resources: resourcesOf(page),
      ...this.#total(known, query, scan, seqs.length),
      last: last && positionOf(last, query),
    };
  }

  /** Returns the entries of the page and one more, which shows whether more follow. */
  #entriesOf(
    { part, head }: CachedCollection,
    { start, limit, isNewestFirst }: Query,
    scan: IndexScan,
  ): readonly EntryCells[] {
    const { entries } = this.#candidates;
    const { index, spans = everyKey, isDescending } = scan;
    const most = limit + 1;
    if (isDescending === undefined) {
      const from = typeof start === "number" ? { offset: start } : { after: start.seq };
      return entries.group(part, index, keyOfGroup(scan), { isNewestFirst, limit: most, ...from });
    }
    const order = { part, revision: head.revision, index, spans, isDescending, isNewestFirst };
    return typeof start === "number"
      ? entries.scan(order, start, most)
      : entries.scanAfter(order, scan.keyAt(start), start.seq, most);
  }

  /** Counts from the index alone. */
  #total(
    { part, head }: CachedCollection,
    query: Query,
    { index, spans }: IndexScan,
    found: number,
  ): Pick<QueryResult, "total" | "totalAtLeast"> {
    if (!query.isCounted) return { total: undefined };
    if (spans === undefined) return { total: head.total };
    const { entries } = this.#candidates;
    const most = this.#limits.maxCounted;
    if (head.total <= most)
      return { total: entries.count({ part, revision: head.revision }, index, spans) };
    const count = entries.countUpTo(part, index, spans, most + 1);
    if (count <= most) return { total: count };
    return { total: undefined, totalAtLeast: lowerLimit(query, count, found) };
  }

  /** Answers a search by words, sorted by rank. */
  #search(known: CachedCollection, query: Query, checkStop: () => void): EngineResult {
    const { part } = known;
    const { seqs, ...totals } = this.#ranked(known, query, checkStop);
    const { page, isCut } = this.#candidates.within(part, seqs, query.maxBytes);
    return {
      resources: resourcesOf(page),
      ...totals,
      last: undefined,
      ...(isCut && { isCut }),
    };
  }

  /** A page of a single term is read in its order; otherwise all results are ranked. */
  #ranked({ part, plan, head }: CachedCollection, query: Query, checkStop: () => void): RankedPage {
    const { words, start, limit, isCounted } = query;
    const reader = this.#candidates.words;
    const offset = typeof start === "number" ? start : 0;
    const term = onlyTerm(words);
    if (term === undefined) {
      const ranks = reader.ranks({ part, plan }, words, checkStop);
      return { seqs: bestOf(ranks, offset + limit).slice(offset), total: ranks.size };
    }
    const counted = { part, revision: head.revision, total: head.total };
    if (!isCounted) return { seqs: reader.page(part, term, offset, limit), total: undefined };
    const found = reader.page(part, term, offset, limit + 1);
    const seqs = found.slice(0, limit);
    const most = this.#limits.maxCounted;
    const count = reader.count(counted, term, most);
    if (count <= most) return { seqs, total: count };
    return { seqs, total: undefined, totalAtLeast: lowerLimit(query, count, found.length) };
  }
}

const resourcesOf = (candidates: readonly Candidate[]) =>
  candidates.map(({ resource }) => resource);
