// Combines lists of key ranges. Each list is sorted, and its spans are disjoint.

import { compareKeys, equalTo, isIn, minKey, type Span, someValue } from "./sort-key.ts";

type Spans = readonly Span[];

/** All keys, including the key of a missing value. */
const everyKey: Span = { from: minKey, to: someValue.to };

/** Sorts spans in any order, and joins those that overlap. */
export function unionOf(spans: Spans): Spans {
  const joined: Span[] = [];
  for (const span of spans.toSorted((one, other) => compareKeys(one.from, other.from))) {
    const last = joined.at(-1);
    if (isEmpty(span)) continue;
    if (last === undefined || compareKeys(last.to, span.from) < 0) joined.push(span);
    else if (compareKeys(last.to, span.to) < 0)
      joined[joined.length - 1] = { from: last.from, to: span.to };
  }
  return joined;
}

export function intersectionOf(one: Spans, other: Spans): Spans {
  const shared: Span[] = [];
  for (let a = one[0], b = other[0], i = 0, j = 0; a && b; ) {
    const span = { from: larger(a.from, b.from), to: smaller(a.to, b.to) };
    if (!isEmpty(span)) shared.push(span);
    if (compareKeys(a.to, b.to) < 0) a = one[++i];
    else b = other[++j];
  }
  return shared;
}

export function complementOf(spans: Spans): Spans {
  const ends = [everyKey.from, ...spans.flatMap(({ from, to }) => [from, to]), everyKey.to];
  const gaps: Span[] = [];
  for (let at = 0; at + 1 < ends.length; at += 2)
    gaps.push({ from: ends[at] ?? "", to: ends[at + 1] ?? "" });
  return gaps.filter((gap) => !isEmpty(gap));
}

/** Whether a key is in one of the spans. */
export function isInAny(key: string, spans: Spans): boolean {
  let [low, high] = [0, spans.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const span = spans[middle];
    if (span && compareKeys(span.to, key) <= 0) low = middle + 1;
    else high = middle;
  }
  const span = spans[low];
  return span !== undefined && isIn(key, span);
}

const isEmpty = ({ from, to }: Span): boolean => compareKeys(from, to) >= 0;
const larger = (one: string, other: string): string => (compareKeys(one, other) < 0 ? other : one);
const smaller = (one: string, other: string): string => (compareKeys(one, other) < 0 ? one : other);

/** Whether the span is that of one key. */
export const isPoint = ({ from, to }: Span): boolean => to === equalTo(from).to;
