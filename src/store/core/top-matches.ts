// Keeps the first matches of a query in its order, in bounded memory, while resources are checked in any order.

import { IndexedContent } from "../../model/query/index-plan.ts";
import type { Condition } from "../../model/query/predicate.ts";
import { type Candidate, isRanked, type Position, type Query } from "../../model/query/query.ts";
import { compareKeys, equalTo, keyOf, minKey, someValue } from "../../model/query/sort-key.ts";

/** A match: its position, and its rank when the query is ranked. */
export interface Match extends Position {
  readonly rank: number;
}

export type CompareMatches = (one: Match, other: Match) => number;

export const withRank = (position: Position): Match => ({ ...position, rank: 0 });

/** Returns where a resource is in the order of a query. */
export const positionOf = (
  { seq, resource }: Candidate,
  { sortings }: Query,
  content = new IndexedContent(resource),
): Position => ({
  seq,
  keys: sortings.map(({ field, kind }) => keyOf(kind, content.at(field))),
});

/** The best rank comes first; among equal ranks, the resource that was created first. */
export const byRank: CompareMatches = (one, other) => other.rank - one.rank || one.seq - other.seq;

/** Returns the order of a query. */
export function comparison(query: Query): CompareMatches {
  const { sortings, isNewestFirst } = query;
  const sign = isNewestFirst ? -1 : 1;
  if (isRanked(query)) return byRank;
  return (one, other) => {
    for (let at = 0; at < sortings.length; at++) {
      const difference = compareKeys(one.keys[at] ?? "", other.keys[at] ?? "");
      if (difference !== 0) return sortings[at]?.isDescending ? -difference : difference;
    }
    return sign * (one.seq - other.seq);
  };
}

/** Positions of which the later ones follow `after`, and none follows `until`. */
export interface Wanted {
  readonly after: Position | undefined;
  readonly until: Position | undefined;
}

/** Returns conditions that hold for all resources between two positions, by their first sort key. */
export function between({ sortings }: Query, { after, until }: Wanted): readonly Condition[] {
  const [first] = sortings;
  // Conditions compare an array of kind `any` by its elements, and an order does not.
  if (first === undefined || first.kind === "any" || first.through !== undefined) return [];
  const { field, kind, isDescending } = first;
  const [low, high] = isDescending ? [until, after] : [after, until];
  if (low === undefined && high === undefined) return [];
  const from = low?.keys[0] ?? minKey;
  const to = high === undefined ? someValue.to : equalTo(high.keys[0] ?? minKey).to;
  return [{ field, kind, spans: [{ from, to }] }];
}

/** A binary heap with the last match in front. */
export class TopMatches {
  readonly #size: number;
  readonly #compare: CompareMatches;
  readonly #heap: Match[] = [];

  constructor(size: number, compare: CompareMatches) {
    this.#size = size;
    this.#compare = compare;
  }

  /** The last match, when a further one would replace it. */
  get last(): Match | undefined {
    return this.#heap.length < this.#size ? undefined : this.#heap[0];
  }

  add(match: Match): void {
    const heap = this.#heap;
    if (heap.length < this.#size) {
      heap.push(match);
      this.#rise(heap.length - 1);
      return;
    }
    const last = heap[0];
    if (last === undefined || this.#compare(match, last) >= 0) return;
    heap[0] = match;
    this.#sink(0);
  }

  sorted(): readonly Match[] {
    return this.#heap.toSorted(this.#compare);
  }

  /** Takes the matches out, the last one first. */
  *takeFromLast(): Generator<Match> {
    const heap = this.#heap;
    for (let last = heap[0]; last !== undefined; last = heap[0]) {
      const other = heap.pop();
      if (heap.length > 0 && other !== undefined) {
        heap[0] = other;
        this.#sink(0);
      }
      yield last;
    }
  }

  #rise(from: number): void {
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#isBefore(at, parent)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  #sink(from: number): void {
    for (let at = from; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      let last = at;
      if (left < this.#heap.length && this.#isBefore(last, left)) last = left;
      if (right < this.#heap.length && this.#isBefore(last, right)) last = right;
      if (last === at) return;
      this.#swap(at, last);
      at = last;
    }
  }

  #isBefore(one: number, other: number): boolean {
    const [first, second] = [this.#heap[one], this.#heap[other]];
    return first !== undefined && second !== undefined && this.#compare(first, second) <= 0;
  }

  #swap(one: number, other: number): void {
    const [first, second] = [this.#heap[one], this.#heap[other]];
    if (first === undefined || second === undefined) return;
    this.#heap[one] = second;
    this.#heap[other] = first;
  }
}
