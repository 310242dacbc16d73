// Reads the values back from ranges of sort keys: the bounds of their numbers and texts.

import type { Condition } from "../../model/query/predicate.ts";
import { letters, type Span } from "../../model/query/sort-key.ts";
import { intersectionOf, isPoint } from "../../model/query/spans.ts";
import { numberOf } from "./free-indexes.ts";

interface KeyBound<T> {
  readonly value: T;
  readonly isIncluded: boolean;
}

/** A range of values of one type. Without an end it has no limit. */
export interface ValueRange<T> {
  readonly from: KeyBound<T> | undefined;
  readonly to: KeyBound<T> | undefined;
  readonly isPoint: boolean;
}

type Letter = (typeof letters)[keyof typeof letters];

/** Returns the ranges of numbers, or undefined when an end cannot be read. */
export const numberBoundsOf = (
  letter: Letter,
  spans: readonly Span[],
): readonly ValueRange<number>[] | undefined =>
  rangesOf(letter, spans, (rest) => (digits.test(rest) ? numberOf(rest) : undefined));

const digits = /^[0-9a-f]{16}$/;

/** Returns the ranges of texts, or undefined when an end is too long or has escapes. */
export const textBoundsOf = (spans: readonly Span[]): readonly ValueRange<string>[] | undefined =>
  rangesOf(letters.text, spans, (rest) =>
    rest.length <= maxBound && !rest.includes(escapeMark) && rest.isWellFormed() ? rest : undefined,
  );

/** Keys of longer texts end with a hash, which does not sort like the text. */
const maxBound = 150;
const escapeMark = "\u0001";

/** Whether the spans contain all keys with this letter, or none; undefined when they contain some. */
export function isOneLetter(letter: Letter, spans: readonly Span[]): boolean | undefined {
  const [first, ...more] = within(letter, spans);
  if (first === undefined) return false;
  const isWhole = more.length === 0 && first.from === letter && first.to === endOf(letter);
  return isWhole ? true : undefined;
}

const endOf = (letter: Letter): string => String.fromCharCode(letter.charCodeAt(0) + 1);

const within = (letter: Letter, spans: readonly Span[]): readonly Span[] =>
  intersectionOf(spans, [{ from: letter, to: endOf(letter) }]);

function rangesOf<T>(
  letter: Letter,
  spans: readonly Span[],
  read: (rest: string) => T | undefined,
): readonly ValueRange<T>[] | undefined {
  const ranges: ValueRange<T>[] = [];
  for (const span of within(letter, spans)) {
    const from = span.from === letter ? undefined : boundOf(span.from, read);
    const to = span.to === endOf(letter) ? undefined : boundOf(span.to, read);
    if (from === "unknown" || to === "unknown") return undefined;
    ranges.push({
      // A range begins with its first value, unless it begins after it; it ends before its last.
      from: from && { value: from.value, isIncluded: !from.isAfter },
      to: to && { value: to.value, isIncluded: to.isAfter },
      isPoint: isPoint(span),
    });
  }
  return ranges;
}

/** Reads a key without its letter. One that ends with an escape character is the next after a value. */
function boundOf<T>(key: string, read: (rest: string) => T | undefined) {
  const isAfter = key.endsWith(escapeMark);
  const value = read(isAfter ? key.slice(1, -1) : key.slice(1));
  return value === undefined ? "unknown" : { value, isAfter };
}

/**
 * Returns texts of which the JSON text of an array contains one if an element matches the condition,
 * unless it has escapes; undefined when there are none.
 */
export function elementTextsOf(condition: Condition): readonly string[] | undefined {
  const { spans, match, isNegated = false } = condition;
  if (isNegated) return undefined;
  if (match !== undefined)
    return match.operator === "contains" && isPlainText(match.text) ? [match.text] : undefined;
  const texts = spans.map(elementText);
  return texts.every((text) => text !== undefined) ? texts : undefined;
}

function elementText(span: Span): string | undefined {
  if (!isPoint(span)) return undefined;
  if (span.from.startsWith(letters.boolean)) return span.from.endsWith("1") ? "true" : "false";
  const text = span.from.slice(1);
  return span.from.startsWith(letters.text) && isPlainText(text) ? `"${text}"` : undefined;
}

/** Whether a JSON text contains this as it is, or with escapes that it does not need. */
export const isPlainText = (text: string): boolean =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON escapes them.
  !/["\\\u0000-\u001f]/.test(text) && text.isWellFormed();
