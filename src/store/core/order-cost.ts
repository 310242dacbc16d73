// Estimates how many resources are checked when they are read in the order of a query.

import type { Query } from "../../model/query/query.ts";

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
