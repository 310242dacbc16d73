// A query on a collection (conditions, search words, sort order and start) and its evaluation in memory.

import type { Resource } from "../resource.ts";
import { IndexedContent, ownerField } from "./index-plan.ts";
import { holds, isCondition, type Predicate } from "./predicate.ts";
import { compareKeys, keyOf, type ValueKind } from "./sort-key.ts";

/** A word from `normalizeWords`. A prefix matches all words that start with it. */
export interface Word {
  readonly text: string;
  readonly isPrefix: boolean;
}

export interface Sorting {
  readonly field: string;
  readonly kind: ValueKind;
  readonly isDescending: boolean;
}

/** The position of a resource in the sort order: its sort keys and its creation sequence number. */
export interface Position {
  readonly keys: readonly string[];
  readonly seq: number;
}

export interface Query {
  /** A resource must match all of them. */
  readonly conditions: readonly Predicate[];
  /** A resource must contain all of them. Without a sort order, the best matches come first. */
  readonly words: readonly Word[];
  /** The sort order. Creation order breaks ties. */
  readonly sortings: readonly Sorting[];
  /** Whether creation order is reversed. */
  readonly isNewestFirst: boolean;
  /** The number of resources to skip, or the position to start after. */
  readonly start: number | Position;
  readonly limit: number;
  /** The limit for the fields of all returned resources. At least one resource is returned. */
  readonly maxBytes?: number | undefined;
  /** Whether to count the total, which may cost more than the page. */
  readonly isCounted: boolean;
}

/** A resource that may match. `seq` is its creation sequence number. */
export interface Candidate {
  readonly seq: number;
  readonly resource: Resource;
}

export interface Selection {
  readonly resources: readonly Resource[];
  readonly total: number;
  /** The position of the last resource when more follow. */
  readonly last: Position | undefined;
  /** Whether `maxBytes` cut the page short. */
  readonly isCut?: boolean;
}

/** A search without a sort order is ranked, and has no positions to start after. */
export const isRanked = ({ words, sortings }: Query): boolean =>
  words.length > 0 && sortings.length === 0;

/** Whether the query is limited to the resources of one owner. */
export const isOfOwner = ({ conditions }: Query): boolean =>
  conditions.some((predicate) => isCondition(predicate) && predicate.field === ownerField);

/** Evaluates the query on all candidates. For a ranked query they must be sorted by rank. */
export function select(candidates: readonly Candidate[], query: Query): Selection {
  const matches = candidates.flatMap((candidate) => matchOf(candidate, query));
  if (!isRanked(query)) matches.sort((one, other) => compare(one.position, other.position, query));
  const { start, limit } = query;
  const offset =
    typeof start === "number"
      ? start
      : matches.findIndex(({ position }) => compare(position, start, query) > 0);
  const page = offset < 0 ? [] : matches.slice(offset, offset + limit);
  const count = countWithin(page, ({ resource }) => resource.fields.length, query.maxBytes);
  const shown = page.slice(0, count);
  const isCut = count < page.length;
  const hasMore = isCut || (offset >= 0 && offset + limit < matches.length);
  return {
    resources: shown.map(({ resource }) => resource),
    total: matches.length,
    last: hasMore && !isRanked(query) ? shown.at(-1)?.position : undefined,
    ...(isCut && { isCut }),
  };
}

/** How many of the first items fit into `maxSize` together, at least one. */
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

interface Match {
  readonly resource: Resource;
  readonly position: Position;
}

/** Returns an empty list when the resource does not match. */
function matchOf({ seq, resource }: Candidate, { conditions, sortings }: Query): readonly Match[] {
  const content = new IndexedContent(resource);
  if (!conditions.every((condition) => holds(condition, content))) return [];
  const keys = sortings.map(({ field, kind }) => keyOf(kind, content.at(field)));
  return [{ resource, position: { keys, seq } }];
}

function compare(one: Position, other: Position, query: Query): number {
  for (const [index, { isDescending }] of query.sortings.entries()) {
    const difference = compareKeys(one.keys[index] ?? "", other.keys[index] ?? "");
    if (difference !== 0) return isDescending ? -difference : difference;
  }
  return query.isNewestFirst ? other.seq - one.seq : one.seq - other.seq;
}
