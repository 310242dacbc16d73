// Computes the lower limit of a total that is not counted to its end.

import type { Query } from "../../model/query/query.ts";

/**
 * `found` is the number of results in the page, with the next one if it was read. Without results the page
 * is beyond the last one, so that its position says nothing about the total.
 */
export function lowerLimit({ start }: Query, counted: number, found: number): number {
  const before = typeof start === "number" && found > 0 ? start : 0;
  return Math.max(counted, before + found);
}
