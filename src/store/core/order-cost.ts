// Estimates how many resources are checked when they are read in the order of a query, and whether they can be counted.

import type { Query } from "../../model/query/query.ts";
import type { CountedSource } from "./counted-source.ts";

const minRead = 2_000;
/** A page beyond this many resources is not read in the order of the first fields. */
export const maxSkipped = 10_000;

/** How many are checked until the page is full, if those that match are anywhere in the order. */
export function expectedInOrder({ start, limit }: Query, total: number, found: number): number {
  const offset = typeof start === "number" ? start : 0;
  return ((offset + limit) * total) / Math.max(1, found);
}

/** Beyond this, those that match are at the end of the order, as the newest ones of a time are. */
export const maxInOrder = (expected: number): number => Math.max(minRead, 4 * expected);

/** How many are read in the order of the first fields before all are checked. */
export const maxByFirstKeys = (total: number): number => Math.max(minRead, total / 16);

/**
 * Whether matches are counted while resources are checked. When so many have to be looked at that the total
 * cannot be exact, the page does not wait for a count, except in order of creation without an index, where
 * the count ends in time.
 */
export function canCount(
  { isCounted, sortings }: Query,
  { total, maxCounted }: { readonly total: number; readonly maxCounted: number },
  smallest: CountedSource | undefined,
): boolean {
  if (!isCounted) return false;
  if (smallest !== undefined) return smallest.count <= maxCounted;
  return sortings.length === 0 || total <= maxCounted;
}
