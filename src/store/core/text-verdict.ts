// Decides conditions on texts in SQL. A text with escapes is left to the checker.

import type { Condition } from "../../model/query/predicate.ts";
import { letters, type Span } from "../../model/query/sort-key.ts";
import { foldCase, type TextMatch } from "../../model/query/text-match.ts";
import { isOneLetter, isPlainText, numberBoundsOf, textBoundsOf } from "./key-bounds.ts";
import {
  allOf,
  anyOf,
  constant,
  type Dialect,
  isConstant,
  no,
  unknown,
  type Verdict,
  yes,
} from "./verdict.ts";

/** More pieces of a pattern are left to the checker. Engines limit how deep an expression nests. */
const maxPieces = 16;

/** `value` is the JSON text of a string. */
export function textVerdict(condition: Condition, value: string, dialect: Dialect): Verdict {
  const { kind, spans, match } = condition;
  const ofSpans = kind === "time" ? timeVerdict : spansVerdict;
  const inSpans = ofSpans(spans, value, dialect);
  const matches = match === undefined ? yes : matchVerdict(match, value, dialect);
  const both = allOf([inSpans, matches]);
  // Only a text with escapes can match what has to be escaped.
  const isByMatch = both === no && inSpans !== no;
  if (isConstant(both) && !isByMatch) return both;
  return `(CASE WHEN ${dialect.find(value, "'\\'")} > 0 THEN ${unknown} ELSE ${both} END)`;
}

/** Some texts are times, and only the checker knows which. A time is near the date that it begins with. */
function timeVerdict(spans: readonly Span[], value: string, dialect: Dialect): Verdict {
  const [texts, times] = [letters.text, letters.time].map((letter) => isOneLetter(letter, spans));
  if (texts !== undefined && texts === times) return constant(texts);
  const ranges = numberBoundsOf(letters.time, spans);
  if (texts !== false || ranges === undefined) return unknown;
  const [first, last] = [ranges[0]?.from, ranges.at(-1)?.to];
  const text = `trim(${value}, '"')`;
  const near = allOf([
    first === undefined ? yes : `${text} >= ${dialect.bind(dateNear(first.value, -1))}`,
    last === undefined ? yes : `${text} < ${dialect.bind(dateNear(last.value, 1))}`,
  ]);
  return near === yes ? unknown : `(CASE WHEN ${near} THEN ${unknown} ELSE ${no} END)`;
}

const dayMs = 24 * 3600 * 1000;
/** Times begin with four digits. */
const [firstTime, lastTime] = [Date.parse("0000-01-05"), Date.parse("9999-12-25")];

/** Returns a date that is at least two days earlier or later, because times have offsets of up to a day. */
function dateNear(time: number, direction: 1 | -1): string {
  if (time < firstTime) return direction < 0 ? "" : "0001";
  if (time > lastTime) return direction < 0 ? "9999-12-20" : ":";
  return new Date(time + direction * 3 * dayMs).toISOString().slice(0, 10);
}

/** The text has no escapes. */
function spansVerdict(spans: readonly Span[], value: string, dialect: Dialect): Verdict {
  const ranges = textBoundsOf(spans);
  if (ranges === undefined) return unknown;
  const text = `trim(${value}, '"')`;
  return anyOf(
    ranges.map(({ from, to, isPoint }) => {
      if (isPoint && from !== undefined)
        return `${value} = ${dialect.bind(JSON.stringify(from.value))}`;
      return allOf([
        from ? `${text} ${from.isIncluded ? ">=" : ">"} ${dialect.bind(from.value)}` : yes,
        to ? `${text} ${to.isIncluded ? "<=" : "<"} ${dialect.bind(to.value)}` : yes,
      ]);
    }),
  );
}

/** The text has no escapes. */
function matchVerdict({ operator, text }: TextMatch, value: string, dialect: Dialect): Verdict {
  const has = (part: string): Verdict => {
    if (!part.isWellFormed()) return unknown;
    if (part === "") return yes;
    return isPlainText(part) ? `${dialect.find(value, dialect.bind(part))} > 0` : no;
  };
  switch (operator) {
    case "contains":
      return has(text);
    case "startsWith":
      return allOf([has(text), unknown]);
    case "like":
      return allOf([...text.split("*", maxPieces).map(has), unknown]);
    case "icontains":
    case "ieq":
      return foldedVerdict(operator, foldCase(text), value, dialect);
  }
}

const isAscii = (text: string): boolean => Buffer.byteLength(text) === text.length;

/** SQL folds ASCII texts only, and alike on every engine. The checker folds the others. */
function foldedVerdict(
  operator: "icontains" | "ieq",
  folded: string,
  value: string,
  dialect: Dialect,
): Verdict {
  const upper = `upper(${value})`;
  const isMatch = !(isAscii(folded) && isPlainText(folded))
    ? no
    : operator === "ieq"
      ? `${upper} = ${dialect.bind(`"${folded}"`)}`
      : `${dialect.find(upper, dialect.bind(folded))} > 0`;
  return `(CASE WHEN octet_length(${value}) > length(${value}) THEN ${unknown} ELSE ${isMatch} END)`;
}
