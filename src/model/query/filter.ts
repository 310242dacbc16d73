// Turns a filter into a condition on the keys of a field.

import { compareLiterals } from "../../lib/decimal.ts";
import { isExact } from "../../lib/json/number.ts";
import { listRequestLimits } from "./list-request.ts";
import {
  isTextOperator,
  type Operator,
  type OperatorOn,
  operandOf,
  type TextOperator,
} from "./operators.ts";
import type { Condition } from "./predicate.ts";
import {
  above,
  beginningWith,
  below,
  equalTo,
  from,
  keyOf,
  noValue,
  type Span,
  someValue,
  upTo,
  type ValueKind,
} from "./sort-key.ts";
import { unionOf } from "./spans.ts";

interface KeyComparison {
  readonly spanOf: (key: string) => Span;
  /** Matches when no key is in the spans. */
  readonly isNegated?: true;
  /** Matches the numbers on this side of one that no stored number equals. */
  readonly side?: "less" | "greater";
}

const comparisons: Readonly<Record<OperatorOn<"value" | "list">, KeyComparison>> = {
  eq: { spanOf: equalTo },
  ne: { spanOf: equalTo, isNegated: true },
  lt: { spanOf: below, side: "less" },
  lte: { spanOf: upTo, side: "less" },
  gt: { spanOf: above, side: "greater" },
  gte: { spanOf: from, side: "greater" },
  in: { spanOf: equalTo },
};

/** What a filter compares. From a URL, the operand is a text that stands for a value. */
export interface Comparison {
  readonly field: string;
  readonly kind: ValueKind;
  readonly operator: Operator;
  readonly operand: unknown;
  readonly isFromUrl: boolean;
  /** The limit for one `in`. */
  readonly maxValues?: number;
}

/** Returns the condition, or an error message for the operand. */
export function conditionOf(comparison: Comparison): Condition | string {
  const { field, kind, operator, operand, isFromUrl } = comparison;
  if (operator === "exists") return existsCondition(comparison);
  if (isTextOperator(operator)) return textCondition(field, kind, operator, operand);
  const { maxValues = listRequestLimits.maxValues } = comparison;
  const values =
    operandOf[operator] === "list" ? valuesOf(operand, isFromUrl, maxValues) : [operand];
  if (typeof values === "string") return values;
  const { spanOf, isNegated, side } = comparisons[operator];
  const spans: Span[] = [];
  for (const value of values) {
    const keys = isFromUrl ? keysOfText(kind, `${value}`) : keysOfValue(kind, value);
    if (typeof keys === "string") return keys;
    spans.push(...keys.map(spanOf));
    if (isFromUrl && kind === "any") spans.push(...spansBeside(side, `${value}`));
  }
  return { field, kind, spans: unionOf(spans), ...(isNegated && { isNegated }) };
}

function existsCondition({ field, kind, operand, isFromUrl }: Comparison): Condition | string {
  const given = isFromUrl ? booleans.get(operand) : operand;
  if (typeof given !== "boolean") return "exists takes true or false";
  return { field, kind, spans: [given ? someValue : noValue] };
}

const booleans: ReadonlyMap<unknown, boolean> = new Map([
  ["true", true],
  ["false", false],
]);

function textCondition(
  field: string,
  kind: ValueKind,
  operator: TextOperator,
  operand: unknown,
): Condition | string {
  if (kind !== "text" && kind !== "any") {
    return `${operator} works on strings only, and this field is a ${kind}; use another operator`;
  }
  if (operand === null) return nullError;
  if (typeof operand !== "string") {
    const meaning = operator === "like" ? " in which * stands for any characters" : "";
    return `${operator} takes a string${meaning}`;
  }
  return { field, kind, ...textSpans(operator, operand) };
}

function textSpans(operator: TextOperator, text: string): Pick<Condition, "spans" | "match"> {
  const match = { operator, text };
  switch (operator) {
    case "startsWith":
      return { spans: [beginningWith(prefixOf(text))], ...(prefixOf(text) !== text && { match }) };
    case "like": {
      const [start = "", ...more] = text.split("*");
      if (more.length === 0) return { spans: [equalTo(keyOf("text", text))] };
      if (more.length === 1 && more[0] === "") return textSpans("startsWith", start);
      return { spans: [beginningWith(prefixOf(start))], match };
    }
    default:
      return { spans: [beginningWith("")], match };
  }
}

/** The longest prefix that is used as a key range. A key never truncates it. */
const maxPrefixChars = 100;

/** Does not split a surrogate pair. */
const prefixOf = (text: string): string =>
  text.slice(0, maxPrefixChars).replace(/[\ud800-\udbff]$/, "");

function valuesOf(
  operand: unknown,
  isFromUrl: boolean,
  maxValues: number,
): readonly unknown[] | string {
  const range = `1 to ${maxValues} values`;
  const values = isFromUrl && operand !== "" ? `${operand}`.split(",") : operand;
  const isValid = Array.isArray(values) && values.length > 0 && values.length <= maxValues;
  if (isValid) return values;
  return isFromUrl ? `in takes ${range} separated by commas` : `in takes a list of ${range}`;
}

/** The JSON number grammar. */
const numberPattern = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Returns the keys of the values that a text can stand for, or an error message. */
export function keysOfText(kind: ValueKind, text: string): readonly string[] | string {
  if (text === "null" && kind !== "text" && kind !== "any") return nullError;
  switch (kind) {
    case "text":
    case "time":
      return keysOfValue(kind, text);
    case "boolean":
      return keysOfValue(kind, booleans.get(text));
    case "number":
      if (!numberPattern.test(text)) return expectedValues.number;
      return isExact(text) ? [keyOf("number", Number(text))] : inexact(text);
    case "any": {
      const values: unknown[] = [text];
      if (numberPattern.test(text) && isExact(text)) values.push(Number(text));
      if (booleans.has(text)) values.push(booleans.get(text));
      return values.map((value) => keyOf("any", value));
    }
  }
}

/** The numbers that are less or greater than a number which no stored one can equal. */
function spansBeside(side: KeyComparison["side"], text: string): readonly Span[] {
  if (side === undefined || !numberPattern.test(text) || isExact(text)) return [];
  const { MAX_VALUE: max } = Number;
  const nearest = Math.max(-max, Math.min(max, Number(text)));
  const key = keyOf("number", nearest);
  const isGreater = isGreaterThan(text, nearest);
  if (side === "less") return [isGreater ? upTo(key) : below(key)];
  return [isGreater ? above(key) : from(key)];
}

/** Beyond all doubles and next to 0, the sign tells. */
function isGreaterThan(text: string, nearest: number): boolean {
  const isBeyond = nearest === 0 || !Number.isFinite(Number(text));
  return isBeyond ? !text.startsWith("-") : compareLiterals(text, String(nearest)) > 0;
}

const inexact = (literal: string): string =>
  `this number would be read as ${Number(literal)}; no stored number can equal it`;

/** The error message of each kind. */
const expectedValues: Readonly<Record<ValueKind, string>> = {
  text: "must be a string",
  number: "must be a number, such as 30, -1.5 or 1e6",
  boolean: "must be true or false",
  time: "must be a date (2026-03-28) or a time (2026-03-28T12:00:00Z, 2026-03-28T12:00:00.5+01:00); in a URL, write + as %2B",
  any: "must be a string, a number, true or false; to match missing values, use exists",
};

const nullError =
  "null equals nothing; to find resources without a value, use exists: false (in a URL field[exists]=false)";

function keysOfValue(kind: ValueKind, value: unknown): readonly string[] | string {
  if (value === null) return nullError;
  return isOf(kind, value) ? [keyOf(kind, value)] : expectedValues[kind];
}

/** Whether a field of this kind can have the value. */
export function isOf(kind: ValueKind, value: unknown): boolean {
  switch (kind) {
    case "text":
      return typeof value === "string";
    case "number":
    case "boolean":
      return typeof value === kind;
    case "time":
      return typeof value === "string" && isTime(value);
    case "any":
      return ["string", "number", "boolean"].includes(typeof value);
  }
}

const timePattern =
  /^(\d{4})-(\d\d)-(\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/i;

/** `Date.parse` accepts more formats, some of them in local time, and dates such as 30 February. */
function isTime(text: string): boolean {
  const [, year, month, day] = timePattern.exec(text) ?? [];
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  return date.getUTCDate() === Number(day) && !Number.isNaN(Date.parse(text));
}
