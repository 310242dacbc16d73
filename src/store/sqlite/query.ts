// Answers queries: by range, with an index scan, by rank, or by checking a limited number of candidates.

import { type Candidate, type Position, type Query, select } from "../../model/query/query.ts";
import { minKey, type Span, someValue } from "../../model/query/sort-key.ts";
import { locate } from "../core/position-tree.ts";
import { type IndexScan, planQuery, type QueryPlan } from "../core/query-plan.ts";
import { bestOf, onlyTerm } from "../core/search.ts";
import { maxCounted, type QueryResult, type TooBroad } from "../store.ts";
import { CandidateReader } from "./candidates.ts";
import type { CachedCollection } from "./collections.ts";
import type { Connection, LimitedRows, Query as Statement } from "./connection.ts";
import { EntryReader, type EntryRow } from "./entries.ts";
import { PositionReader } from "./positions.ts";
import { type SeqResourceRow, seqResourceColumns, toCandidate } from "./resource-reader.ts";
import { WordReader } from "./search.ts";

/** All keys, including the key of a missing value. */
const everyKey: readonly Span[] = [{ from: minKey, to: someValue.to }];

interface RankedPage {
  readonly seqs: readonly number[];
  readonly total: number | undefined;
  readonly totalAtLeast?: number;
}

type Answer = Omit<QueryResult, "kind" | "collection">;

export class QueryReader {
  readonly #slices: Readonly<Record<"up" | "down", Statement<SeqResourceRow>>>;
  readonly #positions: PositionReader;
  readonly #entries: EntryReader;
  readonly #words: WordReader;
  readonly #candidates: CandidateReader;

  constructor(connection: Connection, maxCandidates: number) {
    const select = `SELECT ${seqResourceColumns} FROM resources WHERE part = ?`;
    this.#slices = {
      up: connection.query(`${select} AND seq >= ? ORDER BY seq LIMIT ?`),
      down: connection.query(`${select} AND seq <= ? ORDER BY seq DESC LIMIT ?`),
    };
    this.#positions = new PositionReader(connection);
    this.#entries = new EntryReader(connection);
    this.#words = new WordReader(connection);
    this.#candidates = new CandidateReader(connection, this.#entries, this.#words, maxCandidates);
  }

  answer(known: CachedCollection, query: Query): QueryResult | TooBroad {
    const { collection, plan } = known;
    const answer = this.#execute(planQuery(plan, query), known, query);
    if (!answer) return { kind: "broad", collection };
    const total = query.isCounted ? answer.total : undefined;
    return { kind: "found", collection, ...answer, total };
  }

  #execute(plan: QueryPlan, known: CachedCollection, query: Query): Answer | undefined {
    switch (plan.kind) {
      case "slice":
        return this.#slice(known, query);
      case "scan":
        return this.#scan(known, query, plan);
      case "search":
        return this.#search(known, query);
      case "candidates": {
        const candidates = this.#candidates.read(known, query, plan.sources);
        return candidates && select(candidates, query);
      }
    }
  }

  /** Answers a query for all resources in order of creation. */
  #slice(known: CachedCollection, query: Query): Answer {
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
    rows: Statement<SeqResourceRow>,
  ): LimitedRows<SeqResourceRow> {
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

  #scan(known: CachedCollection, query: Query, scan: IndexScan): Answer {
    const { part, head } = known;
    const { field, spans } = scan;
    const counted = { part, revision: head.revision };
    const count = () => (spans ? this.#entries.count(counted, field, spans) : head.total);
    if (scan.isDescending !== undefined)
      return this.#page(known, query, this.#sorted(known, query, scan), count, ([key, seq]) => ({
        keys: [key],
        seq,
      }));
    return this.#page(known, query, this.#group(known, query, scan), count, ([, seq]) => ({
      keys: [],
      seq,
    }));
  }

  /** Returns the entries of one key, in order of creation. */
  #group(
    { part }: CachedCollection,
    { start, limit, isNewestFirst }: Query,
    { field, spans }: IndexScan,
  ): readonly EntryRow[] {
    const from = typeof start === "number" ? { offset: start } : { after: start.seq };
    const key = spans?.[0]?.from ?? minKey;
    return this.#entries.group(part, field, key, { isNewestFirst, limit: limit + 1, ...from });
  }

  /** Returns the entries of the spans, sorted by key. */
  #sorted(
    { part, head }: CachedCollection,
    { start, limit, isNewestFirst }: Query,
    { field, spans = everyKey, isDescending = false }: IndexScan,
  ): readonly EntryRow[] {
    const scan = { part, revision: head.revision, field, spans, isDescending, isNewestFirst };
    return typeof start === "number"
      ? this.#entries.scan(scan, start, limit + 1)
      : this.#entries.scanAfter(scan, [start.keys[0] ?? minKey, start.seq], limit + 1);
  }

  /** Answers a search by words, sorted by rank. */
  #search(known: CachedCollection, query: Query): Answer {
    const { part } = known;
    const { seqs, ...totals } = this.#ranked(known, query);
    const { page, isCut } = this.#candidates.within(part, seqs, query.maxBytes);
    return {
      resources: resourcesOf(page),
      ...totals,
      last: undefined,
      ...(isCut && { isCut }),
    };
  }

  /** A page of a single term is read in its order; otherwise all results are ranked. */
  #ranked(known: CachedCollection, { words, start, limit, isCounted }: Query): RankedPage {
    const { part, plan, head } = known;
    const offset = typeof start === "number" ? start : 0;
    const term = onlyTerm(words);
    if (term === undefined) {
      const ranks = this.#words.ranks({ part, plan }, words);
      return { seqs: bestOf(ranks, offset + limit).slice(offset), total: ranks.size };
    }
    const counted = { part, revision: head.revision, total: head.total };
    const seqs = this.#words.page(part, term, offset, limit);
    if (!isCounted) return { seqs, total: undefined };
    const count = this.#words.count(counted, term, maxCounted);
    if (count <= maxCounted) return { seqs, total: count };
    return { seqs, total: undefined, totalAtLeast: maxCounted };
  }

  #page(
    { part }: CachedCollection,
    { limit, isCounted, maxBytes }: Query,
    rows: readonly EntryRow[],
    count: () => number,
    positionOf: (row: EntryRow) => Position,
  ): Answer {
    const seqs = rows.slice(0, limit).map(([, seq]) => seq);
    const { page, isCut } = this.#candidates.within(part, seqs, maxBytes);
    const last = isCut || rows.length > limit ? rows[page.length - 1] : undefined;
    return {
      ...(isCut && { isCut }),
      resources: resourcesOf(page),
      total: isCounted ? count() : undefined,
      last: last && positionOf(last),
    };
  }
}

const resourcesOf = (candidates: readonly Candidate[]) =>
  candidates.map(({ resource }) => resource);
