// Finds the page of a query by checking resources in its order, so that it can stop when the page is full.

import type { Candidate, Position, Query } from "../../model/query/query.ts";
import type { Checker } from "./checker.ts";
import { ask, checkedBytes, type ReadResults, type Running, seqsAtOnce } from "./filter-reads.ts";
import type { FirstMatches, Visit } from "./first-matches.ts";
import { takeSorted } from "./in-turns.ts";
import type { IndexScan } from "./index-use.ts";
import { mostTested, type RowScan } from "./row-scan.ts";
import { type CompareMatches, type Match, TopMatches, withRank } from "./top-matches.ts";

export interface Ordered {
  readonly query: Query;
  readonly compare: CompareMatches;
  readonly checker: Checker;
  /** Whether the total is to be counted. */
  readonly isToCount: boolean;
  /** Whether the total is still exact. */
  readonly isExact: () => boolean;
}

/**
 * Reads resources in order of creation, or in that of an index. Returns undefined when more than `maxRead`
 * resources would have to be read.
 */
export function* matchesInOrder(
  { query, compare, isToCount, isExact, checker }: Ordered,
  order: RowScan | IndexScan,
  maxRead = Number.POSITIVE_INFINITY,
): Running<FirstMatches | undefined> {
  const { start, limit, isNewestFirst } = query;
  const after = afterOf(query);
  const offset = typeof start === "number" ? start : 0;
  const page: Match[] = [];
  let count = 0;
  const visit = (match: Match) => {
    const isBefore = after !== undefined && compare(match, after) <= 0;
    if (!isBefore && count >= offset && page.length <= limit) page.push(match);
    count++;
  };
  // The total includes the resources before the position.
  for (let last: Position | undefined = isToCount ? undefined : after; ; ) {
    if ("index" in order) last = yield* nextByKey(query, checker, order, last, visit);
    else {
      const isCounted = page.length > limit || count + mostTested <= offset;
      const step = { after: last?.seq, isNewestFirst, wanted: isCounted ? [{ anyOf: [] }] : [] };
      const next: { last: number | undefined; counted: number } = yield* order.next(step, visit);
      count += next.counted;
      last = next.last === undefined ? undefined : { keys: [], seq: next.last };
    }
    const isFull = page.length > limit && !(isToCount && isExact());
    if (last === undefined || isFull) break;
    if (checker.checked > maxRead) return undefined;
  }
  return { matches: page, counted: { count, isWhole: isToCount && isExact() } };
}

const afterOf = ({ start }: Query): Match | undefined =>
  typeof start === "number" ? undefined : withRank(start);

/** Visits the matches among the next entries, and returns the position of the last. */
function* nextByKey(
  { conditions, isNewestFirst }: Query,
  checker: Checker,
  scan: IndexScan,
  after: Position | undefined,
  visit: Visit,
): Running<Position | undefined> {
  const limit = seqsAtOnce;
  const seqs = yield* ask("scan", { kind: "scan", scan, after, isNewestFirst, limit });
  let last: Candidate | undefined;
  for (let at = 0; at < seqs.length; ) {
    const rest = seqs.slice(at);
    const read = { kind: "at", seqs: rest, maxBytes: checkedBytes } as const;
    const next: ReadResults["at"] = yield* ask("at", read);
    yield* checker.visit(next.candidates, conditions, visit);
    last = next.candidates.at(-1) ?? last;
    at += next.read;
  }
  return last && checker.matchOf(last);
}

/**
 * Reads resources in the order of the first fields of the sort order, and sorts those that are equal in
 * them. Returns undefined when more than `maxRead` resources would have to be read.
 */
export function* matchesByFirstKeys(
  { query, compare, checker }: Ordered,
  scan: IndexScan,
  maxRead: number,
): Running<FirstMatches | undefined> {
  const { start, limit, isNewestFirst } = query;
  const after = afterOf(query);
  const offset = typeof start === "number" ? start : 0;
  const top = new TopMatches(offset + limit + 1, compare);
  const visit = (match: Match) => {
    if (after === undefined || compare(match, after) > 0) top.add(match);
  };
  // The resources that are equal to the position in the first fields are read again.
  const beforeFirst = isNewestFirst ? Number.MAX_SAFE_INTEGER : 0;
  let last: Position | undefined = after && { ...after, seq: beforeFirst };
  for (let read = 0; read <= maxRead; read += seqsAtOnce) {
    last = yield* nextByKey(query, checker, scan, last, visit);
    const isFull = last && top.last && scan.keyAt(last) !== scan.keyAt(top.last);
    if (last !== undefined && !isFull) continue;
    const sorted = yield* takeSorted(top);
    return { matches: sorted.slice(offset), counted: { count: 0, isWhole: false } };
  }
  return undefined;
}
