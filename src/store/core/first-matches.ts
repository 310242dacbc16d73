// Finds the page of a query among matches that are visited in any order, in bounded memory.

import type { Query } from "../../model/query/query.ts";
import type { Running } from "./filter-reads.ts";
import { takeSorted } from "./in-turns.ts";
import {
  type CompareMatches,
  type Match,
  TopMatches,
  type Wanted,
  withRank,
} from "./top-matches.ts";

/** How many matches are kept in memory. For pages beyond them the matches are visited again. */
const maxKept = 100_000;

export interface Counted {
  readonly count: number;
  /** Whether all matches are counted. */
  readonly isWhole: boolean;
}

export type Visit = (match: Match) => void;

export interface Visitor {
  readonly visit: Visit;
  /** Counts matches that are not visited. */
  count(matches: number): void;
  /** Returns the positions between which matches must be visited. */
  wanted(): Wanted;
}

/** Visits all matches, in the same order each time. */
export type VisitAll = (visitor: Visitor) => Running<void>;

export interface FirstMatches {
  /** The matches of the page, and one more if there is one. */
  readonly matches: readonly Match[];
  readonly counted: Counted;
}

/** Counts the matches while `isCounting` is true. */
export function* firstMatches(
  { start, limit }: Query,
  compare: CompareMatches,
  visitAll: VisitAll,
  isCounting: () => boolean,
): Running<FirstMatches> {
  let after = typeof start === "number" ? undefined : withRank(start);
  let skipped = typeof start === "number" ? start : 0;
  let counted: Counted | undefined;
  for (;;) {
    const isLast = skipped < maxKept;
    const top = new TopMatches(isLast ? skipped + limit + 1 : maxKept, compare);
    let count = 0;
    const from = after;
    yield* visitAll({
      visit: (match) => {
        if (isCounting()) count++;
        if (from === undefined || compare(match, from) > 0) top.add(match);
      },
      count: (matches) => {
        if (isCounting()) count += matches;
      },
      wanted: () => ({ after: from, until: top.last }),
    });
    counted ??= { count, isWhole: isCounting() };
    const sorted = yield* takeSorted(top);
    if (isLast || sorted.length < maxKept) return { matches: sorted.slice(skipped), counted };
    skipped -= maxKept;
    after = sorted.at(-1);
  }
}
