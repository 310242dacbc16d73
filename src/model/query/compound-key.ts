// Encodes the sort keys of several fields as one text, which sorts like the list of keys, each in its own direction.

import { hash } from "node:crypto";
import { equalTo, letters, minKey, type Span } from "./sort-key.ts";

interface KeyDirection {
  readonly isDescending: boolean;
}

/** A range of compound keys. */
export interface CompoundSpan extends Span {
  /** False when an end was truncated: then the range may contain entries that do not match. */
  readonly isExact: boolean;
}

/**
 * The limit of characters per sort key, by the number of fields. All together take up to 2,400 bytes in
 * UTF-8, and an entry of a Postgres index may have 2,704.
 */
const charLimits = [0, 590, 290, 190, 140];
const hashChars = 32;

/** A missing value in ascending order. No other value contains this character. */
export const missingValue = "\u0002";
/** Ends a sort key, so that a shorter one comes first. */
const end = "\u0001";
/** Separates a truncated sort key from its hash. */
const cutMark = "\u0004";
/** Begins an escape. Lower characters are escaped, which frees them for the above. */
const escapeCode = 0x05;

/** The same in descending order, where a shorter key comes last. */
const descending = { end: "~", textEnd: "\u{10fffe}", cutMark: "\u{10fffd}" } as const;
/** Comes after every compound key that continues in another way. */
export const afterAll = "\u{10ffff}";

/** The key of an entry, from one sort key per field; or the beginning of it, from the first keys. */
export function compoundKey(fields: readonly KeyDirection[], keys: readonly string[]): string {
  const limit = charLimits[fields.length] ?? 0;
  return keys
    .map((key, index) => encode(key, fields[index]?.isDescending ?? false, limit))
    .join("");
}

/** The range of the entries that have these keys in the first fields, and in the next field a key in the span. */
export function compoundSpan(
  fields: readonly KeyDirection[],
  prefix: readonly string[],
  span?: Span,
): CompoundSpan {
  if (span && span.to === equalTo(span.from).to)
    return compoundSpan(fields, [...prefix, span.from]);
  const limit = charLimits[fields.length] ?? 0;
  const start = compoundKey(fields, prefix);
  if (prefix.length === fields.length) return { ...equalTo(start), isExact: true };
  if (!span) return { from: start, to: start + afterAll, isExact: true };
  const from = truncated(escaped(span.from), limit);
  const to = truncated(escaped(span.to), limit);
  const isExact = !from.isCut && !to.isCut;
  if (!fields[prefix.length]?.isDescending) {
    const last = to.isCut ? String.fromCharCode(escapeCode) : "";
    return { from: start + from.text, to: start + to.text + last, isExact };
  }
  const first = to.isCut ? descending.cutMark : endOf(to.text) + afterAll;
  return {
    from: start + complement(to.text) + first,
    to: start + complement(from.text) + endOf(from.text) + afterAll,
    isExact,
  };
}

function encode(key: string, isDescending: boolean, limit: number): string {
  const { text, isCut } = truncated(escaped(key), limit);
  const mark = isDescending ? descending.cutMark : cutMark;
  const tail = isCut ? mark + hash("sha256", key).slice(0, hashChars) : "";
  if (isDescending) return complement(text) + tail + endOf(text);
  return key === minKey ? missingValue : text + tail + end;
}

function escaped(key: string): string {
  let text = key;
  for (let code = escapeCode; code > 0; code--) {
    const sequence = String.fromCharCode(escapeCode, escapeCode + 1 + code);
    text = text.replaceAll(String.fromCharCode(code), sequence);
  }
  return text;
}

/** Keeps whole characters. An escape may be cut: the order of its first half is that of all escapes. */
function truncated(
  text: string,
  limit: number,
): { readonly text: string; readonly isCut: boolean } {
  if (text.length <= limit) return { text, isCut: false };
  const chars = [...text];
  return { text: chars.slice(0, limit).join(""), isCut: chars.length > limit };
}

/** Reverses the order. A text is complemented by code points; the keys of other values are short and ASCII. */
function complement(text: string): string {
  if (!text.startsWith(letters.text)) return [...text].map(complementAscii).join("");
  const [letter = "", ...chars] = text;
  return complementAscii(letter) + chars.map(complementChar).join("");
}

const endOf = (text: string): string =>
  text.startsWith(letters.text) ? descending.textEnd : descending.end;

/** A cursor from a client can have any character here. */
const complementAscii = (char: string): string =>
  String.fromCharCode(Math.max(2, 0x7b - char.charCodeAt(0)));

const surrogates = { from: 0xd800, count: 0x800 } as const;
/** The sum of a character's number and that of its complement, not counting surrogates. */
const complementSum = 0x10ffff - surrogates.count + 2;

function complementChar(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  const number = code < surrogates.from ? code : code - surrogates.count;
  const other = complementSum - number;
  return String.fromCodePoint(other < surrogates.from ? other : other + surrogates.count);
}
