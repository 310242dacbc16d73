// Keys: texts that sort as the values do which they stand for, the same in every engine and in memory.

import { hash } from "node:crypto";

/**
 * How a field is compared. `any` is for fields that no schema declares: each value counts as what it
 * is, and an array as each of its elements.
 */
export type ValueKind = "text" | "number" | "boolean" | "time" | "any";

/** The key of what is not there, null, or no single value; sorts before all others. */
export const minKey = "";

/** A stretch of keys: from `from` on, up to `to` and without it. */
export interface Span {
  readonly from: string;
  readonly to: string;
}

/** The first letter of a key tells the kind of its value, so that the kinds never mix. */
const letters = { boolean: "b", number: "n", text: "s", time: "t" } as const;

/** Every key of a value lies in here. */
export const someValue: Span = { from: "b", to: "u" };
export const noValue: Span = { from: minKey, to: someValue.from };

/** The keys of a value: one, or for an array of the kind `any` one for each of its elements. */
export function keysOf(kind: ValueKind, value: unknown): readonly string[] {
  if (kind !== "any" || !Array.isArray(value)) return [keyOf(kind, value)];
  const keys = new Set(value.map((element) => keyOf(kind, element)));
  keys.delete(minKey);
  return keys.size === 0 ? [minKey] : [...keys];
}

/**
 * A time or a date of RFC 3339. What else `Date.parse` takes may mean another time in another time
 * zone, and an index must find its entries again.
 */
const timeShape = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/i;

/** The key of a single value. What is not of the kind still has the key of what it is. */
export function keyOf(kind: ValueKind, value: unknown): string {
  switch (typeof value) {
    case "boolean":
      return letters.boolean + (value ? "1" : "0");
    case "number":
      return (kind === "time" ? letters.time : letters.number) + sortable(value);
    case "string": {
      const isTime = kind === "time" && timeShape.test(value);
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

/** Sixteen hex digits that sort as the numbers do: IEEE 754 does, but for the sign. */
function sortable(number: number): string {
  // -0 is 0.
  bits.setFloat64(0, number + 0);
  const high = bits.getUint32(0);
  const low = bits.getUint32(4);
  const isNegative = high >>> 31 === 1;
  const flipped = isNegative ? [~high, ~low] : [high ^ 0x80000000, low];
  return flipped.map((half) => (half >>> 0).toString(16).padStart(8, "0")).join("");
}

/** Indexes have a limit to what they hold: beyond this, texts are equal by their hash. */
const maxText = 200;

/** Postgres has no NUL, so it is spelled with what is spelled out in turn; the order stays. */
function sortableText(text: string): string {
  const plain = text.replaceAll("\u0001", "\u0001\u0002").replaceAll("\0", "\u0001\u0001");
  if (plain.length <= maxText) return plain;
  // Not through the middle of a character.
  const cut = plain.slice(0, maxText).replace(/[\ud800-\udbff]$/, "");
  return `${cut}\u0001\u0003${hash("sha256", plain)}`;
}

/** The least text after this key: no key goes on with a character so low but what stands for one. */
const after = (key: string): string => `${key}\u0001`;

export const equalTo = (key: string): Span => ({ from: key, to: after(key) });
export const below = (key: string): Span => ({ from: key.slice(0, 1), to: key });
export const upTo = (key: string): Span => ({ from: key.slice(0, 1), to: after(key) });
export const above = (key: string): Span => ({ from: after(key), to: endOf(key) });
export const from = (key: string): Span => ({ from: key, to: endOf(key) });

/** Where the keys of this key's kind end. */
const endOf = (key: string): string => String.fromCharCode(key.charCodeAt(0) + 1);

/** All texts that begin like this. */
export function beginningWith(text: string): Span {
  const key = letters.text + sortableText(text.slice(0, maxText));
  return { from: key, to: `${key}\u{10ffff}` };
}

/** By code points, as engines compare: UTF-16 puts what is beyond U+FFFF before U+E000. */
export function compareKeys(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let index = 0; index < length; index++) {
    const difference = rank(one.charCodeAt(index)) - rank(other.charCodeAt(index));
    if (difference !== 0) return difference;
  }
  return one.length - other.length;
}

/** Surrogates after everything else. */
const rank = (unit: number): number => (unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit);

export const isIn = (key: string, { from, to }: Span): boolean =>
  compareKeys(key, from) >= 0 && compareKeys(key, to) < 0;
