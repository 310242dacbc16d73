// A question to a collection: which resources, in which order, from where on.

import type { Resource } from "../resource.ts";
import { IndexedContent, ownerField } from "./index-plan.ts";
import { likeMatcher, type Matcher } from "./like.ts";
import { compareKeys, isIn, keyOf, keysOf, type Span, type ValueKind } from "./sort-key.ts";

/** Holds for a resource when one of the field's keys lies in one of the spans. */
export interface Condition {
  readonly field: string;
  readonly kind: ValueKind;
  /** In order, and apart. */
  readonly spans: readonly Span[];
  /** Holds when no key lies in the spans. */
  readonly isNegated?: boolean;
  /** Beyond the spans: the text must fit, too. `*` stands for any characters. */
  readonly pattern?: string;
}

/** A word as `wordsOf` makes it; as a prefix it stands for all that begin like it. */
export interface Word {
  readonly text: string;
  readonly isPrefix: boolean;
}

export interface Sorting {
  readonly field: string;
  readonly kind: ValueKind;
  readonly isDescending: boolean;
}

/** Where a resource stands: its keys by which it is sorted, then when it was added. */
export interface Position {
  readonly keys: readonly string[];
  readonly seq: number;
}

export interface Query {
  /** All must hold. */
  readonly conditions: readonly Condition[];
  /** All must be found. Without a sorting, the best come first. */
  readonly words: readonly Word[];
  /** Each decides where the ones before it do not; at last the order of creation does. */
  readonly sortings: readonly Sorting[];
  /** Whether the order of creation is turned round where it decides. */
  readonly isNewestFirst: boolean;
  /** How many to leave out, or after which position to begin. */
  readonly start: number | Position;
  readonly limit: number;
  /** The fields of the resources have no more bytes together; but one resource is always there. */
  readonly maxBytes?: number | undefined;
  /** Whether the total is wanted; it may cost more than the page. */
  readonly isCounted: boolean;
}

/** A resource that may be an answer. `seq` tells in which order they were added. */
export interface Candidate {
  readonly seq: number;
  readonly resource: Resource;
}

export interface Selection {
  readonly resources: readonly Resource[];
  readonly total: number;
  /** The position of the last one, when there are more. */
  readonly last: Position | undefined;
  /** Whether there would be more within `limit`, but not within `maxBytes`. */
  readonly isCut?: boolean;
}

/** With words and no sorting the best come first, and there are no positions to begin after. */
export const isRanked = ({ words, sortings }: Query): boolean =>
  words.length > 0 && sortings.length === 0;

/** Whether the caller sees only what one owner has. */
export const isOfOwner = ({ conditions }: Query): boolean =>
  conditions.some(({ field }) => field === ownerField);

/** The answer out of all candidates; where they are ranked, they must come with the best first. */
export function select(candidates: readonly Candidate[], query: Query): Selection {
  const chosen = candidates.flatMap((candidate) => rankedCandidateOf(candidate, query));
  if (!isRanked(query)) chosen.sort((one, other) => compare(one.position, other.position, query));
  const { start, limit } = query;
  const offset =
    typeof start === "number"
      ? start
      : chosen.findIndex(({ position }) => compare(position, start, query) > 0);
  const whole = offset < 0 ? [] : chosen.slice(offset, offset + limit);
  const count = countWithin(whole, ({ resource }) => resource.fields.length, query.maxBytes);
  const page = whole.slice(0, count);
  const isCut = count < whole.length;
  const isMore = isCut || (offset >= 0 && offset + limit < chosen.length);
  return {
    resources: page.map(({ resource }) => resource),
    total: chosen.length,
    last: isMore && !isRanked(query) ? page.at(-1)?.position : undefined,
    ...(isCut && { isCut }),
  };
}

/** How many of the first, at least one, have no more than `maxSize` together. */
export function countWithin<T>(
  items: readonly T[],
  sizeOf: (item: T) => number,
  maxSize = Number.POSITIVE_INFINITY,
): number {
  let size = 0;
  const end = items.findIndex((item, index) => {
    size += sizeOf(item);
    return index > 0 && size > maxSize;
  });
  return end < 0 ? items.length : end;
}

interface RankedCandidate {
  readonly resource: Resource;
  readonly position: Position;
}

/** None when the conditions do not hold. */
function rankedCandidateOf(
  { seq, resource }: Candidate,
  { conditions, sortings }: Query,
): readonly RankedCandidate[] {
  const content = new IndexedContent(resource);
  if (!conditions.every((condition) => holds(condition, content))) return [];
  const keys = sortings.map(({ field, kind }) => keyOf(kind, content.at(field)));
  return [{ resource, position: { keys, seq } }];
}

export function holds(condition: Condition, content: IndexedContent): boolean {
  const { field, kind, spans, isNegated = false, pattern } = condition;
  const value = content.at(field);
  const isFound = keysOf(kind, value).some((key) => spans.some((span) => isIn(key, span)));
  const isFitting =
    isFound && (pattern === undefined || textsOf(value).some(matcherOf(condition, pattern)));
  return isFitting !== isNegated;
}

/** The matcher of each condition, made once for all resources that it is tried on. */
const matchers = new WeakMap<Condition, Matcher>();

function matcherOf(condition: Condition, pattern: string): Matcher {
  const known = matchers.get(condition);
  if (known !== undefined) return known;
  const matcher = likeMatcher(pattern);
  matchers.set(condition, matcher);
  return matcher;
}

const textsOf = (value: unknown): readonly string[] =>
  [value].flat().filter((text) => typeof text === "string");

function compare(one: Position, other: Position, query: Query): number {
  for (const [index, { isDescending }] of query.sortings.entries()) {
    const difference = compareKeys(one.keys[index] ?? "", other.keys[index] ?? "");
    if (difference !== 0) return isDescending ? -difference : difference;
  }
  return query.isNewestFirst ? other.seq - one.seq : one.seq - other.seq;
}
