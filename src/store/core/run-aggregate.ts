// Computes aggregates over the resources that match a query, whichever way they are found.

import type { Aggregation } from "../../model/query/aggregate.ts";
import { IndexedContent, type IndexPlan } from "../../model/query/index-plan.ts";
import { holds, type Predicate } from "../../model/query/predicate.ts";
import type { Candidate, Query } from "../../model/query/query.ts";
import { Aggregator } from "./aggregator.ts";
import { Checker } from "./checker.ts";
import { countSources, narrowed } from "./counted-source.ts";
import { ask, type Running, visitAt } from "./filter-reads.ts";
import { type FilterPlan, hasWords } from "./query-plan.ts";
import { RowScan, type ScannedRows } from "./row-scan.ts";
import { type Filtered, type FilterResult, runFilter } from "./run-filter.ts";
import type { Ranks } from "./search.ts";

/** Returns the resources of a query, or the figures that it asks for. */
export const findOrAggregate = (
  filtered: Filtered,
  filter: FilterPlan,
  query: Query,
): Running<FilterResult> =>
  query.aggregation === undefined
    ? runFilter(filtered, filter, query)
    : runAggregate(filtered, filter, query, query.aggregation);

function* runAggregate(
  filtered: Filtered,
  filter: FilterPlan,
  query: Query,
  aggregation: Aggregation,
): Running<FilterResult> {
  const aggregator = new Aggregator(aggregation);
  const checker = new AggregatingChecker(filtered.plan, query, aggregator);
  yield* visitMatches(filtered, filter, query, checker);
  return {
    ...{ resources: [], total: undefined, last: undefined },
    groups: aggregator.result(),
    ...(checker.checked > 0 && { scan: { checked: checker.checked } }),
  };
}

/** Adds each resource that matches to its group, and keeps none. */
class AggregatingChecker extends Checker {
  readonly #aggregator: Aggregator;

  constructor(plan: IndexPlan, query: Query, aggregator: Aggregator) {
    super(plan, query);
    this.#aggregator = aggregator;
  }

  override check(candidate: Candidate, predicates: readonly Predicate[], ranks?: Ranks): undefined {
    this.checked++;
    const content = new IndexedContent(candidate.resource);
    for (const predicate of predicates) if (!holds(predicate, content)) return;
    if (this.rankOf(candidate, ranks) === undefined) return;
    this.#aggregator.add(content, candidate.resource);
  }
}

/** Checks the resources of the smallest source, or all. */
function* visitMatches(
  { plan, total, isVerified = false }: Filtered,
  filter: FilterPlan,
  query: Query,
  checker: Checker,
): Running<void> {
  const { words } = query;
  if (words.length > 0 && plan.searchable.length === 0) return;
  const sources = yield* countSources(filter.sources, total + 1);
  if (words.length > 0 && plan.hidden === undefined && hasWords(plan)) {
    const ranks: Ranks = yield* ask("ranks", { kind: "ranks", words });
    const { seqs, rest } = yield* narrowed(
      query,
      { seqs: [...ranks.keys()], decided: [] },
      sources,
    );
    return yield* visitAt(seqs, (candidate) => checker.check(candidate, rest, ranks));
  }
  const [smallest, ...others] = sources;
  if (smallest === undefined || 2 * smallest.count > total)
    return yield* visitAll(query, checker, isVerified);
  const { source } = smallest;
  const all = yield* ask("seqs", { kind: "seqs", source });
  const { seqs, rest } = yield* narrowed(query, { seqs: all, decided: source.decided }, others);
  yield* visitAt(seqs, (candidate) => checker.check(candidate, rest));
}

function* visitAll(query: Query, checker: Checker, isVerified: boolean): Running<void> {
  const options = { maxCounted: Number.MAX_SAFE_INTEGER, isCounting: false, isVerified };
  const scan = new RowScan(checker, query, options);
  for (let after: number | undefined; ; ) {
    const step = { after, isNewestFirst: false, wanted: [] };
    const next: ScannedRows = yield* scan.next(step, () => undefined);
    after = next.last;
    if (after === undefined) return;
  }
}
