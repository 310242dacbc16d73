// Values as short texts: numbers of one column alike, objects by what they say, lists by their first titles.

import { isObject, type Json, type JsonObject } from "../api/json.ts";
import { titleOf } from "../state/title.ts";
import { formatNumber } from "../ui/format.ts";

/** How the numbers of a column are written. */
export interface NumberForm {
  /** At least so many digits after the point. */
  readonly digits: number;
  readonly isGrouped: boolean;
}

const idNames = "id no nr number code sku key zip year phone port version";
const ends = idNames.split(" ").map((word) => `${word[0]?.toUpperCase()}${word.slice(1)}`);
const namesOfIds = [
  new RegExp(`(^|[_ -])(${idNames.replaceAll(" ", "|")})$`, "i"),
  new RegExp(`(${ends.join("|")})$`),
];

const isYear = (value: number): boolean =>
  Number.isInteger(value) && value >= 1000 && value <= 2100;

/** Numbers that are names, such as years and order numbers, have no separators. */
export function numberFormOf(
  name: string,
  isUnique: boolean,
  values: readonly (Json | undefined)[],
): NumberForm {
  const numbers = values.filter((value) => typeof value === "number");
  const isId = isUnique || namesOfIds.some((pattern) => pattern.test(name));
  const isGrouped = !isId && !(numbers.length > 0 && numbers.every(isYear));
  return { digits: digitsOf(numbers), isGrouped };
}

/** Beyond this, they are no sums, and zeros would say nothing. */
const mostDigits = 4;

function digitsOf(numbers: readonly number[]): number {
  const digits = numbers.map((value) => /\.(\d+)$/.exec(String(value))?.[1]?.length ?? 0);
  const most = Math.max(0, ...digits);
  return most > mostDigits ? 0 : most;
}

const formats = new Map<string, Intl.NumberFormat>();

export function numberText(value: number, { digits, isGrouped }: NumberForm): string {
  const key = `${digits} ${isGrouped}`;
  const format =
    formats.get(key) ??
    new Intl.NumberFormat(undefined, {
      ...{ minimumFractionDigits: digits, maximumFractionDigits: 20, useGrouping: isGrouped },
    });
  formats.set(key, format);
  return format.format(value);
}

const shownMembers = 3;

/** `Graz, AT`, or `3 items: white mug, oak plate, …`. */
export function nestedText(value: JsonObject | readonly Json[]): string {
  if (isList(value)) return listText(value);
  const texts = Object.values(value).filter(isScalar).slice(0, shownMembers).map(String);
  return texts.length > 0 ? texts.join(", ") : JSON.stringify(value);
}

const isList = (value: Json): value is readonly Json[] => Array.isArray(value);

const isScalar = (value: Json): boolean =>
  value !== null && value !== "" && typeof value !== "object";

function listText(items: readonly Json[]): string {
  if (items.length === 0) return "[ ]";
  if (!items.some((item) => isObject(item) || isList(item))) return items.join(", ");
  const titles = items
    .slice(0, shownMembers)
    .map(itemText)
    .filter((text) => text !== "");
  const count = items.length === 1 ? "1 item" : `${formatNumber(items.length)} items`;
  const more = items.length > shownMembers ? ", …" : "";
  return titles.length === 0 ? count : `${count}: ${titles.join(", ")}${more}`;
}

const itemText = (item: Json): string =>
  isObject(item) ? titleOf(item) : isList(item) ? JSON.stringify(item) : String(item);
