// Compares the entries of a unique index, in order: two with the same key belong to resources that clash.

import { missingValue } from "../../model/query/compound-key.ts";
import type { Index } from "../../model/query/index-plan.ts";
import { minKey } from "../../model/query/sort-key.ts";
import type { Clash } from "../store.ts";

/** So many clashes of an index are shown. */
const maxClashes = 10;

/** Whether an index has so many clashes that the rest of its values is not compared. */
export const isEnough = (clashes: readonly Clash[], index: string): boolean =>
  countIn(clashes, index) >= maxClashes;

const countIn = (clashes: readonly Clash[], name: string): number =>
  clashes.filter(({ index }) => index === name).length;

interface CheckState {
  /** The last entry that is compared. */
  readonly checked: CheckedEntry;
  readonly clashes: readonly Clash[];
}

export type CheckedEntry = readonly [key: string, seq: number];

/** Whether a resource has no value for an index, so that others may have none either. */
export const isMissingValue = ({ fields }: Index, key: string): boolean =>
  key === minKey || (fields.length > 1 && key.includes(missingValue));

/** The pairs of resources with the same value among the next entries of an index, in order. */
export function pairsIn(
  { checked, clashes }: CheckState,
  index: Index,
  entries: readonly CheckedEntry[],
): readonly (readonly [seq: number, other: number])[] {
  const pairs: (readonly [number, number])[] = [];
  let last: CheckedEntry = checked;
  for (const entry of entries) {
    const [key, seq] = entry;
    if (key === last[0] && !isMissingValue(index, key)) pairs.push([last[1], seq]);
    last = entry;
  }
  return pairs.slice(0, maxClashes - countIn(clashes, index.name));
}
