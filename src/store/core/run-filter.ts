// Answers queries that no single index can: reads the smallest sources, checks their resources and keeps the page.

import type { IndexPlan } from "../../model/query/index-plan.ts";
import type { Predicate } from "../../model/query/predicate.ts";
import { type Candidate, isRanked, type Position, type Query } from "../../model/query/query.ts";
import type { QueryResult } from "../store.ts";
import { Checker } from "./checker.ts";
import {
  ask,
  type Read,
  type ReadResults,
  type Running,
  readPage,
  seqsAtOnce,
} from "./filter-reads.ts";
import { type Counted, firstMatches, type VisitAll } from "./first-matches.ts";
import type { Source } from "./index-use.ts";
import { type FilterPlan, hasWords } from "./query-plan.ts";
import type { Ranks } from "./search.ts";
import {
  type CompareMatches,
  comparison,
  type Match,
  positionOf,
  withRank,
} from "./top-matches.ts";

export interface Filtered {
  readonly plan: IndexPlan;
  readonly total: number;
  /** The total of the query is exact while no more resources are checked than this. */
  readonly maxCounted: number;
}

export type FilterResult = Omit<QueryResult, "collection">;

/** How many seqs of a source are held in memory. */
const maxSeqs = 1_000_000;
const checkedBytes = 1024 * 1024;
/** Reading the entry of another source costs this part of checking a resource. */
const entryCost = 0.2;

export function runFilter(
  filtered: Filtered,
  filter: FilterPlan,
  query: Query,
): Running<FilterResult> {
  return new FilterRun(filtered, filter, query).run();
}

interface CountedSource {
  readonly source: Source;
  readonly count: number;
}

class FilterRun {
  readonly #filtered: Filtered;
  readonly #filter: FilterPlan;
  readonly #query: Query;
  readonly #compare: CompareMatches;
  readonly #checker: Checker;
  /** The total when an index has counted it. */
  #total: number | undefined;

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
    const sources = yield* this.#count();
    if (words.length === 0) {
      const exact = sources.find(({ source, count }) => this.#decides(source) && this.#fits(count));
      this.#total = conditions.length === 0 ? this.#filtered.total : exact?.count;
    }
    const [smallest] = sources;
    if (this.#prefersOrder(smallest)) return yield* this.#inOrder();
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
  *#count(): Running<readonly CountedSource[]> {
    const counted: CountedSource[] = [];
    const max = Math.max(maxSeqs, this.#filtered.maxCounted) + 1;
    for (const source of this.#filter.sources)
      counted.push({ source, count: yield* ask("count", { kind: "count", source, max }) });
    return counted.sort((one, other) => one.count - other.count);
  }

  #decides({ decided, isDistinct }: Source): boolean {
    return isDistinct && this.#query.conditions.every((predicate) => decided.includes(predicate));
  }

  #fits(count: number): boolean {
    return count <= this.#filtered.maxCounted;
  }

  /** Whether it is cheaper to check resources in the order of the query until the page is full. */
  #prefersOrder(smallest: CountedSource | undefined): boolean {
    const { sortings, start, limit, isCounted, words } = this.#query;
    const hasOrder = sortings.length === 0 || this.#filter.ordered !== undefined;
    if (!hasOrder || words.length > 0) return false;
    if (isCounted && this.#total === undefined)
      return smallest === undefined && sortings.length === 0;
    if (smallest === undefined) return true;
    const found = Math.max(1, this.#total ?? smallest.count);
    const offset = typeof start === "number" ? start : 0;
    return ((offset + limit) * this.#filtered.total) / found < smallest.count;
  }

  /** Whether it is cheaper to check all resources in the order in which they are stored. */
  #prefersAll({ source, count }: CountedSource): boolean {
    const isChecked = this.#query.sortings.length > 0 || !this.#decides(source);
    return count > maxSeqs || (isChecked && 2 * count > this.#filtered.total);
  }

  /** Checks resources in the order of the query, and stops when the page is full and the total is known. */
  *#inOrder(): Running<FilterResult> {
    const { conditions, start, limit, isCounted } = this.#query;
    const isToCount = isCounted && this.#total === undefined;
    const after = typeof start === "number" ? undefined : withRank(start);
    const offset = typeof start === "number" ? start : 0;
    const page: Match[] = [];
    let count = 0;
    // The total includes the resources before the position.
    for (let last: Position | undefined = isToCount ? undefined : after; ; ) {
      const candidates: readonly Candidate[] = yield* this.#nextInOrder(last);
      for (const candidate of candidates) {
        const match = this.#checker.check(candidate, conditions);
        if (match === undefined) continue;
        const isBefore = after !== undefined && this.#compare(match, after) <= 0;
        if (!isBefore && count >= offset && page.length <= limit) page.push(match);
        count++;
      }
      const final = candidates.at(-1);
      const isFull = page.length > limit && !(isToCount && this.#fits(this.#checker.checked));
      if (final === undefined || isFull) break;
      last = this.#checker.matchOf(final);
    }
    return yield* this.#result(page, { count, isWhole: this.#fits(this.#checker.checked) });
  }

  *#nextInOrder(after: Position | undefined): Running<readonly Candidate[]> {
    const { isNewestFirst, sortings } = this.#query;
    const { ordered: scan } = this.#filter;
    if (sortings.length === 0 || scan === undefined)
      return yield* ask("next", { kind: "next", after: after?.seq, isNewestFirst });
    const limit = seqsAtOnce;
    const seqs = yield* ask("scan", { kind: "scan", scan, after, isNewestFirst, limit });
    const candidates: Candidate[] = [];
    for (let at = 0; at < seqs.length; ) {
      const rest = seqs.slice(at);
      const next = yield* ask("at", { kind: "at", seqs: rest, maxBytes: checkedBytes });
      candidates.push(...next.candidates);
      at += next.read;
      // A page in order can be continued after any of its resources.
      if (at < seqs.length && candidates.length > 0) break;
    }
    return candidates;
  }

  /** Checks every resource of the collection. */
  *#amongAll(): Running<FilterResult> {
    const { conditions } = this.#query;
    const checker = this.#checker;
    return yield* this.#best(function* (visit) {
      for (let after: number | undefined; ; ) {
        const read: Read = { kind: "next", after, isNewestFirst: false };
        const candidates: readonly Candidate[] = yield* ask("next", read);
        if (candidates.length === 0) return;
        for (const candidate of candidates) visit(checker.check(candidate, conditions));
        after = candidates.at(-1)?.seq;
      }
    });
  }

  /** Checks the resources that are in the smallest source, and in others that are not much larger. */
  *#amongSources(sources: readonly CountedSource[]): Running<FilterResult> {
    const [smallest, ...others] = sources;
    if (smallest === undefined) return noResult;
    const all = yield* ask("seqs", { kind: "seqs", source: smallest.source });
    const { seqs, rest } = yield* this.#narrow(all, smallest.source.decided, others);
    const { sortings, words } = this.#query;
    if (rest.length + sortings.length + words.length === 0) return yield* this.#bySeq(seqs);
    return yield* this.#among(seqs, rest);
  }

  *#amongRanked(ranks: Ranks): Running<FilterResult> {
    const { sortings, start, limit } = this.#query;
    const { seqs, rest } = yield* this.#narrow([...ranks.keys()], [], yield* this.#count());
    if (rest.length + sortings.length > 0) return yield* this.#among(seqs, rest, ranks);
    const matches = seqs.map((seq) => ({ keys: [], seq, rank: ranks.get(seq) ?? 0 }));
    const offset = typeof start === "number" ? start : 0;
    const page = matches.sort(this.#compare).slice(offset, offset + limit + 1);
    return yield* this.#result(page, { count: seqs.length, isWhole: this.#fits(seqs.length) });
  }

  /** Keeps the seqs that are in other sources too, and returns the predicates that are left to check. */
  *#narrow(
    all: readonly number[],
    decidedBefore: readonly Predicate[],
    sources: readonly CountedSource[],
  ): Running<{ readonly seqs: readonly number[]; readonly rest: readonly Predicate[] }> {
    let seqs = all;
    const decided = new Set(decidedBefore);
    for (const { source, count } of sources) {
      const isNew = source.decided.some((predicate) => !decided.has(predicate));
      if (!isNew || count * entryCost > seqs.length) continue;
      const also = new Set(yield* ask("seqs", { kind: "seqs", source }));
      seqs = seqs.filter((seq) => also.has(seq));
      for (const predicate of source.decided) decided.add(predicate);
    }
    return { seqs, rest: this.#query.conditions.filter((predicate) => !decided.has(predicate)) };
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
    return yield* this.#best(function* (visit) {
      for (let at = 0; at < seqs.length; ) {
        const chunk = seqs.slice(at, at + seqsAtOnce);
        const read: Read = { kind: "at", seqs: chunk, maxBytes: checkedBytes };
        const next: ReadResults["at"] = yield* ask("at", read);
        for (const candidate of next.candidates) visit(checker.check(candidate, rest, ranks));
        at += next.read;
      }
    });
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
    const last = hasMore && !isRanked(this.#query) ? candidates.at(-1) : undefined;
    return {
      resources: candidates.map(({ resource }) => resource),
      ...this.#totals(matches, counted),
      last: last && positionOf(last, this.#query),
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
    const { isCounted, start } = this.#query;
    if (!isCounted) return { total: undefined };
    if (this.#total !== undefined) return { total: this.#total };
    if (isWhole) return { total: count };
    const shown = (typeof start === "number" ? start : 0) + matches.length;
    return { total: undefined, totalAtLeast: Math.max(count, shown) };
  }
}

const noResult: FilterResult = { resources: [], total: 0, last: undefined };
