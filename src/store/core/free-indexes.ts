// Describes the indexes that every collection has without declaring them: by id and by the times of its resources.

import type { Index } from "../../model/query/index-plan.ts";
import { compareKeys, type Span, type ValueKind } from "../../model/query/sort-key.ts";

/** The columns of the table of resources that these indexes are on. */
const columns = { id: "id", createdAt: "created", updatedAt: "updated" } as const;
export type FreeColumn = (typeof columns)[keyof typeof columns];

const indexOf = (field: keyof typeof columns, kind: ValueKind): Index => ({
  name: field,
  fields: [{ field, kind, isDescending: false }],
  isUnique: field === "id",
});

export const freeIndexes: readonly Index[] = [
  indexOf("id", "text"),
  indexOf("createdAt", "time"),
  indexOf("updatedAt", "time"),
];

/** Returns the column of a free index, or undefined for a declared one. */
export const freeColumnOf = (index: string): FreeColumn | undefined =>
  Object.hasOwn(columns, index) ? columns[index as keyof typeof columns] : undefined;

/** The values of a column from `from` up to, but not including, `to`. */
export interface ColumnRange {
  readonly from: string | number;
  readonly to: string | number;
}

export function rangeIn(column: FreeColumn, { from, to }: Span): ColumnRange {
  return column === "id"
    ? { from: idAt(from), to: idAt(to) }
    : { from: timeAt(from), to: timeAt(to) };
}

/** Ids are short and have no escaped characters, so they are the key without its letter. */
function idAt(key: string): string {
  if (compareKeys(key, "s") <= 0) return "";
  return compareKeys(key, "t") >= 0 ? "\u{10ffff}" : key.slice(1);
}

/** The letter of a time and the 16 digits of `keyOf`. */
const timeKeyLength = 17;

function timeAt(key: string): number {
  if (compareKeys(key, "t") <= 0) return Number.MIN_SAFE_INTEGER;
  if (compareKeys(key, "u") >= 0) return Number.MAX_SAFE_INTEGER;
  const time = numberOf(key.slice(1, timeKeyLength));
  // A cursor can be made up. A column of whole numbers cannot be compared with what is none.
  if (!Number.isSafeInteger(Math.floor(time)))
    return time < 0 ? Number.MIN_SAFE_INTEGER : Number.MAX_SAFE_INTEGER;
  // A longer key is the end of the entries of this time.
  return key.length > timeKeyLength ? Math.floor(time) + 1 : Math.ceil(time);
}

const bits = new DataView(new ArrayBuffer(8));

/** The inverse of the sortable digits of a number. */
export function numberOf(digits: string): number {
  const [high, low] = [0, 8].map((start) => Number.parseInt(digits.slice(start, start + 8), 16));
  const isNegative = (high ?? 0) >>> 31 === 0;
  bits.setUint32(0, isNegative ? ~(high ?? 0) : (high ?? 0) ^ 0x80000000);
  bits.setUint32(4, isNegative ? ~(low ?? 0) : (low ?? 0));
  return bits.getFloat64(0);
}
