// Encodes values as sort keys: texts that sort in the order of their values, the same in every engine and in memory.

import { hash } from "node:crypto";
import { ownUnicode } from "../../lib/own-text.ts";
import type { ValueKind } from "../field-kind.ts";

export type { ValueKind };

/** The key of null, of a missing value, and of an object or array. It sorts before all others. */
export const minKey = "";

/** A range of keys: `from` is included, `to` is not. */
export interface Span {
  readonly from: string;
  readonly to: string;
}

/** The first letter of a key is the type of its value, so that types do not mix. */
export const letters = { boolean: "b", number: "n", text: "s", time: "t" } as const;

/** The range of all keys other than `minKey`. */
export const someValue: Span = { from: "b", to: "u" };
export const noValue: Span = { from: minKey, to: someValue.from };

/** The keys of a value: one, or one per element for an array of kind `any`. */
export function keysOf(kind: ValueKind, value: unknown): readonly string[] {
  if (kind !== "any" || !Array.isArray(value)) return [keyOf(kind, value)];
  const keys = new Set(value.map((element) => keyOf(kind, element)));
  keys.delete(minKey);
  return keys.size === 0 ? [minKey] : [...keys];
}

/**
 * A time or a date of RFC 3339. Other formats that `Date.parse` accepts depend on the local time zone,
 * and index entries must not.
 */
const timePattern = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/i;

/** The key of a single value. A value of another type gets the key of its own type. */
export function keyOf(kind: ValueKind, value: unknown): string {
  switch (typeof value) {
    case "boolean":
      return letters.boolean + (value ? "1" : "0");
    case "number":
      return (kind === "time" ? letters.time : letters.number) + sortable(value);
    case "string": {
      const isTime = kind === "time" && timePattern.test(value);
      const time = isTime ? Date.parse(value) : Number.NaN;
      return Number.isNaN(time)
        ? letters.text + sortableText(value)
        : letters.time + sortable(time);
    }
    default:
      return minKey;
  }
}

const bits = new DataView(new ArrayBuffer(8));

/** The two digits of each byte. Looking them up takes a third of the time of `toString(16)`. */
const digits = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

const digitsOf = (byte: number): string => digits[byte & 0xff] ?? "";

const wordDigits = (word: number): string =>
  digitsOf(word >>> 24) + digitsOf(word >>> 16) + digitsOf(word >>> 8) + digitsOf(word);

/** Sixteen hex digits that sort in numeric order: the IEEE 754 bits with the sign handled. */
function sortable(number: number): string {
  // Adding 0 turns -0 into 0.
  bits.setFloat64(0, number + 0);
  const high = bits.getUint32(0);
  const low = bits.getUint32(4);
  const isNegative = high >>> 31 === 1;
  return isNegative
    ? wordDigits(~high) + wordDigits(~low)
    : wordDigits(high ^ 0x80000000) + wordDigits(low);
}

/** Index entries have a maximum size: longer texts are truncated and compared by their hash. */
const maxText = 200;

/** Postgres does not store NUL, so NUL and U+0001 are escaped in a way that keeps the order. */
function sortableText(text: string): string {
  const escaped = text.replaceAll("\u0001", "\u0001\u0002").replaceAll("\0", "\u0001\u0001");
  if (escaped.length <= maxText) return escaped;
  // Does not split a surrogate pair.
  const cut = escaped.slice(0, maxText).replace(/[\ud800-\udbff]$/, "");
  // Queries remember the keys of many resources, which must not keep their texts in memory.
  return `${ownUnicode(cut)}\u0001\u0003${hash("sha256", escaped)}`;
}

/** The smallest text after this key. Only an escape continues a key with a character this low. */
const after = (key: string): string => `${key}\u0001`;

export const equalTo = (key: string): Span => ({ from: key, to: after(key) });
export const below = (key: string): Span => ({ from: key.slice(0, 1), to: key });
export const upTo = (key: string): Span => ({ from: key.slice(0, 1), to: after(key) });
export const above = (key: string): Span => ({ from: after(key), to: endOf(key) });
export const from = (key: string): Span => ({ from: key, to: endOf(key) });

/** The end of the keys of the same type. */
const endOf = (key: string): string => String.fromCharCode(key.charCodeAt(0) + 1);

/** The range of all texts with this prefix. */
export function beginningWith(text: string): Span {
  const key = letters.text + sortableText(text.slice(0, maxText));
  return { from: key, to: afterPrefix(key) };
}

/** The smallest text after all texts with this prefix. */
function afterPrefix(prefix: string): string {
  const characters = [...prefix];
  while (characters.at(-1) === "\u{10ffff}") characters.pop();
  const next = (characters.pop()?.codePointAt(0) ?? 0) + 1;
  return characters.join("") + String.fromCodePoint(next === 0xd800 ? 0xe000 : next);
}

/** Compares by code points as the engines do. UTF-16 order puts characters above U+FFFF before U+E000. */
export function compareKeys(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let index = 0; index < length; index++) {
    const difference = rank(one.charCodeAt(index)) - rank(other.charCodeAt(index));
    if (difference !== 0) return difference;
  }
  return one.length - other.length;
}

/** Puts surrogates after all other code units. */
const rank = (unit: number): number => (unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit);

export const isIn = (key: string, { from, to }: Span): boolean =>
  compareKeys(key, from) >= 0 && compareKeys(key, to) < 0;
