// A filter as a condition: which keys its field may have.

import { isExact } from "../../lib/json/number.ts";
import { type Filter, listRequestLimits, type Operator } from "./list-request.ts";
import type { Condition } from "./query.ts";
import {
  above,
  beginningWith,
  below,
  compareKeys,
  equalTo,
  from,
  keyOf,
  noValue,
  type Span,
  someValue,
  upTo,
  type ValueKind,
} from "./sort-key.ts";

const spanOf: Readonly<Partial<Record<Operator, (key: string) => Span>>> = {
  eq: equalTo,
  ne: equalTo,
  lt: below,
  lte: upTo,
  gt: above,
  gte: from,
  in: equalTo,
};

/** The condition, or what is wrong with the operand. Where it is spelled, a text stands for a value. */
export function conditionOf(
  { field, operator, operand }: Filter,
  kind: ValueKind,
  isSpelled: boolean,
): Condition | string {
  if (operator === "exists") return existence(field, kind, operand, isSpelled);
  if (operator === "like") return likeness(field, kind, operand);
  const values = operator === "in" ? valuesOf(operand, isSpelled) : [operand];
  if (typeof values === "string") return values;
  const makeSpan = spanOf[operator] ?? equalTo;
  const spans: Span[] = [];
  for (const value of values) {
    const keys = isSpelled ? spelledKeys(kind, `${value}`) : givenKeys(kind, value);
    if (typeof keys === "string") return keys;
    spans.push(...keys.map(makeSpan));
  }
  return { field, kind, spans: inOrder(spans), ...(operator === "ne" && { isNegated: true }) };
}

function existence(
  field: string,
  kind: ValueKind,
  operand: unknown,
  isSpelled: boolean,
): Condition | string {
  const given = isSpelled ? truths.get(operand) : operand;
  if (typeof given !== "boolean") return "exists takes true or false";
  return { field, kind, spans: [given ? someValue : noValue] };
}

const truths: ReadonlyMap<unknown, boolean> = new Map([
  ["true", true],
  ["false", false],
]);

/** So much of a pattern's beginning narrows enough, and is never cut off in a key. */
const maxBeginning = 100;

function likeness(field: string, kind: ValueKind, operand: unknown): Condition | string {
  if (kind !== "text" && kind !== "any") {
    return `like is for texts, and this field holds a ${kind}; use another operator`;
  }
  if (typeof operand !== "string") return "like takes a text, in which * stands for any characters";
  const start = operand.indexOf("*");
  if (start < 0) return { field, kind, spans: [equalTo(keyOf("text", operand))] };
  // Not through the middle of a character.
  const beginning = operand.slice(0, Math.min(start, maxBeginning)).replace(/[\ud800-\udbff]$/, "");
  return { field, kind, spans: [beginningWith(beginning)], pattern: operand };
}

function valuesOf(operand: unknown, isSpelled: boolean): readonly unknown[] | string {
  const { maxValues } = listRequestLimits;
  const words = isSpelled ? "values with commas between them" : "a list of values";
  const values = isSpelled && operand !== "" ? `${operand}`.split(",") : operand;
  const isRight = Array.isArray(values) && values.length > 0 && values.length <= maxValues;
  return isRight ? values : `in takes 1 to ${maxValues} ${words}`;
}

/** As JSON writes a number. */
const numberShape = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** The keys of what a text stands for, or what is wrong with it. */
function spelledKeys(kind: ValueKind, text: string): readonly string[] | string {
  switch (kind) {
    case "text":
    case "time":
      return givenKeys(kind, text);
    case "boolean":
      return givenKeys(kind, truths.get(text));
    case "number":
      if (!numberShape.test(text)) return needed.number;
      return isExact(text) ? [keyOf("number", Number(text))] : inexact(text);
    case "any": {
      const values: unknown[] = [text];
      if (numberShape.test(text) && isExact(text)) values.push(Number(text));
      if (truths.has(text)) values.push(truths.get(text));
      return values.map((value) => keyOf("any", value));
    }
  }
}

const inexact = (literal: string): string =>
  `this number would be read as ${Number(literal)}; no resource can hold it as it is`;

/** What each kind asks for. */
const needed: Readonly<Record<ValueKind, string>> = {
  text: "a text is needed",
  number: "a number is needed, such as 30, -1.5 or 1e6",
  boolean: "true or false is needed",
  time: "a date (2026-03-28) or a time (2026-03-28T12:00:00Z, 2026-03-28T12:00:00.5+01:00) is needed; in a URL, + is written %2B",
  any: "a text, a number, true or false is needed; for what has no value, use exists",
};

function givenKeys(kind: ValueKind, value: unknown): readonly string[] | string {
  return isOf(kind, value) ? [keyOf(kind, value)] : needed[kind];
}

function isOf(kind: ValueKind, value: unknown): boolean {
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

const timeShape =
  /^(\d{4})-(\d\d)-(\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d))?$/;

/** `Date.parse` alone takes far more, and some of it in local time; and a calendar has no 30 February. */
function isTime(text: string): boolean {
  const [, year, month, day] = timeShape.exec(text) ?? [];
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  return date.getUTCDate() === Number(day) && !Number.isNaN(Date.parse(text));
}

/** In order, each once. */
function inOrder(spans: readonly Span[]): readonly Span[] {
  const sorted = [...spans].sort((one, other) => compareKeys(one.from, other.from));
  return sorted.filter((span, index) => span.from !== sorted[index - 1]?.from);
}
