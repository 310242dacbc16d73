// Finds the resources of a query, or computes aggregates over those that match.

import type { Aggregation } from "../../model/query/aggregate.ts";
import { IndexedContent, type IndexPlan } from "../../model/query/index-plan.ts";
import { holds, type Predicate } from "../../model/query/predicate.ts";
import type { Candidate, Query } from "../../model/query/query.ts";
import { someValue } from "../../model/query/sort-key.ts";
import { Aggregator } from "./aggregator.ts";
import { Checker } from "./checker.ts";
import {
  type CountedSource,
  countedBeside,
  countSources,
  decidesAll,
  fewResources,
  maxSeqs,
  narrowed,
} from "./counted-source.ts";
import { ask, type Running, readPage, seqsAtOnce, visitAt } from "./filter-reads.ts";
import { freeIndexes } from "./free-indexes.ts";
import { type IndexScan, useOf } from "./index-use.ts";
import { type FilterPlan, hasWords } from "./query-plan.ts";
import { RowScan, type ScannedRows } from "./row-scan.ts";
import { noValues, ResourceValues } from "./row-values.ts";
import { type Filtered, type FilterResult, runFilter } from "./run-filter.ts";
import type { Ranks } from "./search.ts";
import { canDecide, canRead } from "./sql-verdict.ts";

/** Returns the resources of a query, or the figures that it asks for. */
export const findOrAggregate = (
  filtered: Filtered,
  filter: FilterPlan,
  query: Query,
): Running<FilterResult> =>
  query.aggregation === undefined
    ? runFilter(filtered, filter, query)
    : new AggregateRun(filtered, filter, query, query.aggregation).run();

/** Adds each resource that matches to its group, and keeps none. */
class AggregatingChecker extends Checker {
  readonly #aggregator: Aggregator;

  constructor(plan: IndexPlan, query: Query, aggregator: Aggregator) {
    super(plan, query);
    this.#aggregator = aggregator;
  }

  protected override check(
    candidate: Candidate,
    predicates: readonly Predicate[],
    ranks?: Ranks,
  ): undefined {
    this.checked++;
    const content = this.contentOf(candidate);
    for (const predicate of predicates) if (!holds(predicate, content)) return;
    if (this.rankOf(candidate, ranks) === undefined) return;
    this.#aggregator.add(new ResourceValues(candidate, content));
  }
}

/** The checker keeps no matches. */
const nothing = (): void => undefined;

class AggregateRun {
  readonly #filtered: Filtered;
  readonly #filter: FilterPlan;
  readonly #query: Query;
  readonly #aggregation: Aggregation;
  readonly #aggregator: Aggregator;
  readonly #checker: AggregatingChecker;

  constructor(filtered: Filtered, filter: FilterPlan, query: Query, aggregation: Aggregation) {
    this.#filtered = filtered;
    this.#filter = filter;
    this.#query = query;
    this.#aggregation = aggregation;
    this.#aggregator = new Aggregator(aggregation);
    this.#checker = new AggregatingChecker(filtered.plan, query, this.#aggregator);
  }

  *run(): Running<FilterResult> {
    yield* this.#addMatches();
    const { checked } = this.#checker;
    return {
      resources: [],
      total: undefined,
      last: undefined,
      groups: this.#aggregator.result(),
      ...(checked > 0 && { scan: { checked } }),
    };
  }

  *#addMatches(): Running<void> {
    const { plan, total } = this.#filtered;
    const { words, conditions } = this.#query;
    if (words.length > 0 && plan.searchable.length === 0) return;
    if (words.length + conditions.length === 0) {
      const ends = this.#ends();
      if (ends !== undefined) return yield* this.#addEnds(ends);
    }
    if (words.length > 0 && plan.hidden === undefined && hasWords(plan)) {
      const ranks: Ranks = yield* ask("ranks", { kind: "ranks", words });
      const ranked = { seqs: [...ranks.keys()], decided: [] };
      const beside = yield* countSources(this.#filter.sources, countedBeside(ranks.size));
      const { seqs, rest } = yield* narrowed(this.#query, ranked, beside);
      return yield* this.#addAt(seqs, rest, ranks);
    }
    const sources = yield* countSources(this.#filter.sources, total + 1);
    const exact = sources.find(({ source }) => decidesAll(source, this.#query));
    if (exact !== undefined && words.length === 0 && this.#aggregator.fields.length === 0)
      return this.#aggregator.add(noValues, exact.count);
    const [smallest, ...others] = sources;
    if (smallest === undefined || this.#prefersAll(smallest)) return yield* this.#addAll();
    const { source } = smallest;
    const all = yield* ask("seqs", { kind: "seqs", source });
    const from = { seqs: all, decided: source.decided };
    const { seqs, rest } = yield* narrowed(this.#query, from, others);
    yield* this.#addAt(seqs, rest);
  }

  /** Returns scans that begin with the figures; undefined when other figures are needed. */
  #ends(): readonly IndexScan[] | undefined {
    const { aggregates, groupings } = this.#aggregation;
    const indexes = [...freeIndexes, ...this.#filtered.plan.indexes];
    const ends = aggregates.map(({ function: name, field, kind }) => {
      if (name === "count") return [];
      const isDescending = name === "max";
      const ordered = { conditions: [], sortings: [{ field, kind, isDescending }] };
      const scan = indexes.map((index) => useOf(index, ordered)?.scan).find((each) => each);
      return name === "min" || isDescending ? scan && { ...scan, spans: [someValue] } : undefined;
    });
    const isWhole = groupings.length === 0 && ends.every((end) => end !== undefined);
    return isWhole ? ends.flat() : undefined;
  }

  /** Adds the first resource of each scan, and counts all resources. */
  *#addEnds(ends: readonly IndexScan[]): Running<void> {
    const seqs: number[] = [];
    for (const scan of ends) {
      const order = { after: undefined, isNewestFirst: false, limit: 1 };
      seqs.push(...(yield* ask("scan", { kind: "scan", scan, ...order })));
    }
    this.#aggregator.add(noValues, this.#filtered.total);
    const { candidates } = yield* readPage(seqs.toSorted((one, other) => one - other));
    for (const candidate of candidates) {
      const content = new IndexedContent(candidate.resource);
      this.#aggregator.add(new ResourceValues(candidate, content), 0);
    }
  }

  /** Adds those of the resources for which the predicates hold. */
  *#addAt(seqs: readonly number[], rest: readonly Predicate[], ranks?: Ranks): Running<void> {
    if (rest.length + this.#aggregator.fields.length === 0)
      return this.#aggregator.add(noValues, seqs.length);
    for (let at = 0; at < seqs.length && !this.#aggregator.isTooLarge; at += seqsAtOnce)
      yield* visitAt(seqs.slice(at, at + seqsAtOnce), (candidates) =>
        this.#checker.visit(candidates, rest, nothing, ranks),
      );
  }

  *#addAll(): Running<void> {
    const { isVerified = false } = this.#filtered;
    const options = { maxCounted: Number.MAX_SAFE_INTEGER, isCounting: false, isVerified };
    const fields = this.#readFields;
    const { hasSeqs } = this.#aggregator;
    const scan = new RowScan(this.#checker, this.#query, { ...options, fields, hasSeqs });
    for (let after: number | undefined; ; ) {
      const step = { after, isNewestFirst: false, wanted: [] };
      const next: ScannedRows = yield* scan.next(step, nothing);
      if (next.counted > 0) yield* this.#aggregator.addColumns(next.counted, next.values);
      after = next.last;
      if (after === undefined || this.#aggregator.isTooLarge) return;
    }
  }

  /** The fields that SQL reads; undefined when resources must be read instead. */
  get #readFields(): readonly string[] | undefined {
    const { words, conditions } = this.#query;
    const { fields } = this.#aggregator;
    return words.length === 0 && canDecide(conditions) && canRead(fields) ? fields : undefined;
  }

  /** Whether it is cheaper to look at all resources in the order in which they are stored. */
  #prefersAll({ count }: CountedSource): boolean {
    // So many resources are scanned in the time in which one of a source is read.
    const scanned = this.#readFields === undefined ? 2 : 5;
    const isMost = count > fewResources && scanned * count > this.#filtered.total;
    return count > maxSeqs || isMost;
  }
}
