// A query on a collection: conditions, search words, sort order and start.

import type { Resource } from "../resource.ts";
import type { Aggregation } from "./aggregate.ts";
import type { Predicate } from "./predicate.ts";
import type { ValueKind } from "./sort-key.ts";

/** A word from `normalizeWords`. A prefix matches all words that start with it. */
export interface Word {
  readonly text: string;
  readonly isPrefix: boolean;
}

export interface Sorting {
  readonly field: string;
  readonly kind: ValueKind;
  readonly isDescending: boolean;
  /** Set when the field is in a resource that a reference names. */
  readonly through?: Through;
}

/** A field of the resource that a reference names. */
export interface Through {
  readonly reference: string;
  readonly collection: string;
  /** The resources that the caller may see. */
  readonly visible: readonly Predicate[];
  /** The field there. */
  readonly field: string;
  readonly kind: ValueKind;
  /** Set when the field is one reference further. */
  readonly through?: Through;
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
  /** Asks for figures of groups of the matching resources, instead of the resources. */
  readonly aggregation?: Aggregation;
}

/** A resource that may match. `seq` is its creation sequence number. */
export interface Candidate {
  readonly seq: number;
  readonly resource: Resource;
}

/** A search without a sort order is ranked, and has no positions to start after. */
export const isRanked = ({ words, sortings }: Query): boolean =>
  words.length > 0 && sortings.length === 0;

/** Whether all resources are results. */
export const hasAllResources = ({ conditions, words, aggregation }: Query): boolean =>
  conditions.length + words.length === 0 && aggregation === undefined;

/** Whether the query reads a range of the resources, which is always short. */
export const isRange = (query: Query): boolean =>
  query.sortings.length === 0 && hasAllResources(query);

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
