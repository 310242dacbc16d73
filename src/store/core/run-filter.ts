// Answers queries that no single index can: reads the smallest sources, checks their resources and keeps the page.

import type { IndexPlan } from "../../model/query/index-plan.ts";
import type { Predicate } from "../../model/query/predicate.ts";
import { isRanked, type Query } from "../../model/query/query.ts";
import type { QueryResult } from "../store.ts";
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
import { ask, type Running, readPage, visitAt } from "./filter-reads.ts";
import { type Counted, firstMatches, type VisitAll } from "./first-matches.ts";
import { itemWork, runEachInTurns, takeSorted } from "./in-turns.ts";
import type { IndexScan, IndexSource } from "./index-use.ts";
import { lowerLimit } from "./lower-limit.ts";
import { matchesByFirstKeys, matchesInOrder, type Ordered } from "./ordered-matches.ts";
import { type FilterPlan, hasWords } from "./query-plan.ts";
import { RowScan, type ScannedRows } from "./row-scan.ts";
import type { Ranks } from "./search.ts";
import { between, type CompareMatches, comparison, type Match, TopMatches } from "./top-matches.ts";

export interface Filtered {
  readonly plan: IndexPlan;
  readonly total: number;
  /** The total of the query is exact while no more resources are checked than this. */
  readonly maxCounted: number;
  /** Whether the checksum of each resource is checked that is looked at, and not only of those in the page. */
  readonly isVerified?: boolean;
}

export type FilterResult = Omit<QueryResult, "collection">;

export function runFilter(
  filtered: Filtered,
  filter: FilterPlan,
  query: Query,
): Running<FilterResult> {
  return new FilterRun(filtered, filter, query).run();
}

class FilterRun {
  readonly #filtered: Filtered;
  readonly #filter: FilterPlan;
  readonly #query: Query;
  readonly #compare: CompareMatches;
  readonly #checker: Checker;
  /** The total when an index has counted it. */
  #total: number | undefined;
  /** Whether matches are counted while resources are checked. */
  #isToCount = false;

  constructor(filtered: Filtered, filter: FilterPlan, query: Query) {
    this.#filtered = filtered;
    this.#filter = filter;
    this.#query = query;
    this.#compare = comparison(query);
    this.#checker = new Checker(filtered.plan, query);
  }

  *run(): Running<FilterResult> {
    const { words, conditions } = this.#query;
    if (words.length > 0 && this.#filtered.plan.searchable.length === 0) return noResult;
    const ranks = words.length > 0 ? yield* this.#ranks() : undefined;
    if (ranks !== undefined) return yield* this.#amongRanked(ranks);
    let sources = yield* this.#count(this.#isEnough);
    if (words.length === 0) {
      const exact = sources.find(({ source, count }) => this.#decides(source) && this.#fits(count));
      this.#total = conditions.length === 0 ? this.#filtered.total : exact?.count;
    }
    let [smallest] = sources;
    this.#isToCount = this.#total === undefined && canCount(this.#query, this.#filtered, smallest);
    const { byFirstKeys } = this.#filter;
    if (this.#prefersOrder(smallest)) {
      const most = smallest && maxInOrder(this.#expectedInOrder(smallest.count));
      const result = yield* this.#inOrder(most);
      if (result !== undefined) return result;
      sources = yield* this.#count();
      [smallest] = sources;
    } else if (byFirstKeys !== undefined && this.#prefersFirstKeys(smallest)) {
      const result = yield* this.#byFirstKeys(byFirstKeys);
      if (result !== undefined) return result;
    }
    if (smallest === undefined || this.#prefersAll(smallest)) return yield* this.#amongAll();
    return yield* this.#amongSources(sources);
  }

  /** Stored words can be older than the rule that hides a field. Then the texts are checked. */
  *#ranks(): Running<Ranks | undefined> {
    const { plan } = this.#filtered;
    if (plan.hidden !== undefined || !hasWords(plan)) return undefined;
    return yield* ask("ranks", { kind: "ranks", words: this.#query.words });
  }

  /** Returns the sources with their counts, the smallest first. A larger count than the limit is not exact. */
  *#count(isEnough?: (count: number) => boolean): Running<readonly CountedSource[]> {
    const max = Math.max(maxSeqs, this.#filtered.maxCounted) + 1;
    return yield* countSources(this.#filter.sources, max, isEnough);
  }

  /** Returns whether sources of this size are not read; undefined when their sizes are needed. */
  get #isEnough(): ((count: number) => boolean) | undefined {
    if (this.#query.isCounted || this.#query.words.length > 0) return undefined;
    return this.#hasOrder ? (count) => this.#isPageSmaller(count) : undefined;
  }

  /** Whether resources can be read in the order of the query. */
  get #hasOrder(): boolean {
    return this.#query.sortings.length === 0 || this.#filter.ordered !== undefined;
  }

  #decides(source: IndexSource): boolean {
    return decidesAll(source, this.#query);
  }

  #fits(count: number): boolean {
    return count <= this.#filtered.maxCounted;
  }

  /** Whether it is cheaper to check resources in the order of the query until the page is full. */
  #prefersOrder(smallest: CountedSource | undefined): boolean {
    const { sortings, words } = this.#query;
    if (!this.#hasOrder || words.length > 0) return false;
    if (this.#isToCount) return smallest === undefined && sortings.length === 0;
    return smallest === undefined || this.#isPageSmaller(smallest.count);
  }

  /** Whether it is cheaper to check resources in the order of the first fields of the sort order. */
  #prefersFirstKeys(smallest: CountedSource | undefined): boolean {
    const { start, words } = this.#query;
    if (words.length > 0 || this.#isToCount || (typeof start === "number" && start > maxSkipped))
      return false;
    return smallest === undefined || this.#isPageSmaller(smallest.count);
  }

  /** Whether fewer resources are checked for a page in order than in a source. */
  #isPageSmaller(count: number): boolean {
    return this.#expectedInOrder(count) < count;
  }

  #expectedInOrder(count: number): number {
    return expectedInOrder(this.#query, this.#filtered.total, this.#total ?? count);
  }

  /** Whether it is cheaper to check all resources in the order in which they are stored. */
  #prefersAll({ source, count }: CountedSource): boolean {
    const isChecked = this.#query.sortings.length > 0 || !this.#decides(source);
    const isMost = count > fewResources && 2 * count > this.#filtered.total;
    return count > maxSeqs || (isChecked && isMost);
  }

  /** Stops when the page is full and the total is known; undefined when that takes more than `maxRead` resources. */
  *#inOrder(maxRead?: number): Running<FilterResult | undefined> {
    const { ordered } = this.#filter;
    const order = this.#query.sortings.length > 0 && ordered ? ordered : this.#scan();
    const found = yield* matchesInOrder(this.#ordered, order, maxRead);
    return found && (yield* this.#result(found.matches, found.counted));
  }

  /** Returns undefined when too many resources are equal in the first fields of the sort order. */
  *#byFirstKeys(scan: IndexScan): Running<FilterResult | undefined> {
    const maxRead = maxByFirstKeys(this.#filtered.total);
    const found = yield* matchesByFirstKeys(this.#ordered, scan, maxRead);
    return found && (yield* this.#result(found.matches, found.counted));
  }

  get #ordered(): Ordered {
    return {
      query: this.#query,
      compare: this.#compare,
      checker: this.#checker,
      isToCount: this.#isToCount,
      isExact: () => this.#fits(this.#checker.checked),
    };
  }

  #scan(): RowScan {
    const { maxCounted, isVerified = false } = this.#filtered;
    const { start } = this.#query;
    // What is skipped must be counted.
    const isCounting = this.#isToCount || (typeof start === "number" && start > 0);
    return new RowScan(this.#checker, this.#query, { maxCounted, isCounting, isVerified });
  }

  /** Checks every resource of the collection. */
  *#amongAll(): Running<FilterResult> {
    const query = this.#query;
    const scan = this.#scan();
    return yield* this.#best(function* ({ visit, count, wanted }) {
      for (let after: number | undefined; ; ) {
        const step = { after, isNewestFirst: false, wanted: between(query, wanted()) };
        const next: ScannedRows = yield* scan.next(step, visit);
        count(next.counted);
        after = next.last;
        if (after === undefined) return;
      }
    });
  }

  /** Checks the resources that are in the smallest source, and in others that are not much larger. */
  *#amongSources(sources: readonly CountedSource[]): Running<FilterResult> {
    const [smallest, ...others] = sources;
    if (smallest === undefined) return noResult;
    const all = yield* ask("seqs", { kind: "seqs", source: smallest.source });
    const { seqs, rest } = yield* narrowed(
      this.#query,
      { seqs: all, decided: smallest.source.decided },
      others,
    );
    const { sortings, words } = this.#query;
    if (rest.length + sortings.length + words.length === 0) return yield* this.#bySeq(seqs);
    return yield* this.#among(seqs, rest);
  }

  *#amongRanked(ranks: Ranks): Running<FilterResult> {
    const { sortings, start, limit } = this.#query;
    const ranked = { seqs: [...ranks.keys()], decided: [] };
    const beside = yield* countSources(this.#filter.sources, countedBeside(ranks.size));
    const { seqs, rest } = yield* narrowed(this.#query, ranked, beside);
    if (rest.length + sortings.length > 0) return yield* this.#among(seqs, rest, ranks);
    const offset = typeof start === "number" ? start : 0;
    const top = new TopMatches(offset + limit + 1, this.#compare);
    yield* runEachInTurns(
      seqs,
      () => itemWork.number,
      (seq) => top.add({ keys: [], seq, rank: ranks.get(seq) ?? 0 }),
    );
    const page = (yield* takeSorted(top)).slice(offset);
    return yield* this.#result(page, { count: seqs.length, isWhole: this.#fits(seqs.length) });
  }

  /** All of these match, and their order is that of creation. */
  *#bySeq(seqs: readonly number[]): Running<FilterResult> {
    const { start, limit, isNewestFirst } = this.#query;
    const ordered = isNewestFirst ? seqs.toReversed() : seqs;
    const isAfter = (seq: number) =>
      typeof start !== "number" && (isNewestFirst ? seq < start.seq : seq > start.seq);
    const offset = typeof start === "number" ? start : ordered.findIndex(isAfter);
    const page = offset < 0 ? [] : ordered.slice(offset, offset + limit + 1);
    const matches = page.map((seq) => ({ keys: [], seq, rank: 0 }));
    const count = seqs.length;
    return yield* this.#result(matches, { count, isWhole: this.#fits(count) });
  }

  *#among(
    seqs: readonly number[],
    rest: readonly Predicate[],
    ranks?: Ranks,
  ): Running<FilterResult> {
    const checker = this.#checker;
    return yield* this.#best(({ visit }) =>
      visitAt(seqs, (candidates) => checker.visit(candidates, rest, visit, ranks)),
    );
  }

  /** Finds the page among matches that are visited in any order. */
  *#best(visitAll: VisitAll): Running<FilterResult> {
    const { matches, counted } = yield* firstMatches(this.#query, this.#compare, visitAll, () =>
      this.#fits(this.#checker.checked),
    );
    return yield* this.#result(matches, counted);
  }

  /** Reads the resources of the page, which has one match more than the limit when more follow. */
  *#result(matches: readonly Match[], counted: Counted): Running<FilterResult> {
    const { limit, maxBytes } = this.#query;
    const seqs = matches.slice(0, limit).map(({ seq }) => seq);
    const { candidates, isCut } = yield* readPage(seqs, maxBytes);
    const hasMore = isCut || matches.length > limit;
    const last = hasMore && !isRanked(this.#query) ? matches[candidates.length - 1] : undefined;
    return {
      resources: candidates.map(({ resource }) => resource),
      ...this.#totals(matches, counted),
      last: last && { keys: last.keys, seq: last.seq },
      ...(isCut && { isCut }),
      ...(this.#checker.checked > 0 && {
        scan: { checked: this.#checker.checked },
      }),
    };
  }

  #totals(
    matches: readonly Match[],
    { count, isWhole }: Counted,
  ): Pick<QueryResult, "total" | "totalAtLeast"> {
    if (!this.#query.isCounted) return { total: undefined };
    if (this.#total !== undefined) return { total: this.#total };
    if (isWhole) return { total: count };
    return { total: undefined, totalAtLeast: lowerLimit(this.#query, count, matches.length) };
  }
}

const noResult: FilterResult = { resources: [], total: 0, last: undefined };

const minRead = 2_000;
/** A page beyond this many resources is not read in the order of the first fields. */
const maxSkipped = 10_000;

/** How many are checked until the page is full, if those that match are anywhere in the order. */
function expectedInOrder({ start, limit }: Query, total: number, found: number): number {
  const offset = typeof start === "number" ? start : 0;
  return ((offset + limit) * total) / Math.max(1, found);
}

/** Beyond this, those that match are at the end of the order, as the newest ones of a time are. */
const maxInOrder = (expected: number): number => Math.max(minRead, 4 * expected);

/** How many are read in the order of the first fields before all are checked. */
const maxByFirstKeys = (total: number): number => Math.max(minRead, total / 16);

/**
 * Whether matches are counted while resources are checked. When so many have to be looked at that the total
 * cannot be exact, the page does not wait for a count, except in order of creation without an index, where
 * the count ends in time.
 */
function canCount(
  { isCounted, sortings }: Query,
  { total, maxCounted }: { readonly total: number; readonly maxCounted: number },
  smallest: CountedSource | undefined,
): boolean {
  if (!isCounted) return false;
  if (smallest !== undefined) return smallest.count <= maxCounted;
  return sortings.length === 0 || total <= maxCounted;
}
