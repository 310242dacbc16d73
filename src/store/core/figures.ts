// Computes one figure of a group, one resource at a time.

import { hash } from "node:crypto";
import { printDecimal } from "../../lib/decimal.ts";
import { divide, ExactSum } from "../../lib/exact-sum.ts";
import { ownText } from "../../lib/own-text.ts";
import { type Aggregate, aggregateLimits } from "../../model/query/aggregate.ts";
import { compareKeys, keyOf, minKey } from "../../model/query/sort-key.ts";
import type { RowValues } from "./row-values.ts";

/** A value with its sort key. */
export interface Keyed {
  readonly key: string;
  /** As JSON. */
  readonly text: string;
}

/** One figure while it is computed. */
export interface Figure {
  /** `count` is how many resources the values stand for. */
  add(row: RowValues, count: number): void;
  result(): Keyed;
}

export const nothing: Keyed = { key: minKey, text: "null" };

/** What is kept in all groups together. */
export interface KeptValues {
  /** How many different values were found. */
  distinct: number;
  /** The length of the values that are shown. */
  textLength: number;
}

export function figureOf(aggregate: Aggregate, kept: KeptValues): Figure {
  switch (aggregate.function) {
    case "count":
      return new Count();
    case "sum":
      return new Sum(aggregate, ({ total }) => printDecimal(total));
    case "avg":
      return new Sum(aggregate, ({ total, count }) => (count === 0 ? null : divide(total, count)));
    case "distinct":
      return new Distinct(aggregate, kept);
    case "min":
      return new Extreme(aggregate, -1, kept);
    case "max":
      return new Extreme(aggregate, 1, kept);
  }
}

/** Of so many keys as there can be, long ones would take too much memory. */
const maxKeptKey = 64;

/** Returns a key that only tells values apart. */
export const shortKey = (key: string): string =>
  key.length <= maxKeptKey ? key : hash("sha256", key, "base64");

const numberKeyed = (text: string): Keyed => ({ key: keyOf("number", Number(text)), text });

class Count implements Figure {
  #count = 0;

  add(_row: RowValues, count: number): void {
    this.#count += count;
  }

  result(): Keyed {
    return numberKeyed(String(this.#count));
  }
}

/** Adds up numbers; values of other types are ignored. */
class Sum implements Figure {
  readonly #field: string;
  readonly #sum = new ExactSum();
  readonly #figureOf: (sum: ExactSum) => string | null;

  constructor({ field }: Aggregate, figureOf: (sum: ExactSum) => string | null) {
    this.#field = field;
    this.#figureOf = figureOf;
  }

  add(row: RowValues): void {
    const value = row.at(this.#field);
    if (typeof value !== "number") return;
    this.#sum.add(value, row.isLongAt(this.#field) ? row.literalAt(this.#field) : undefined);
  }

  result(): Keyed {
    const text = this.#figureOf(this.#sum);
    return text === null ? nothing : numberKeyed(text);
  }
}

class Distinct implements Figure {
  readonly #aggregate: Aggregate;
  readonly #kept: KeptValues;
  readonly #keys = new Set<string>();

  constructor(aggregate: Aggregate, kept: KeptValues) {
    this.#aggregate = aggregate;
    this.#kept = kept;
  }

  add(row: RowValues): void {
    const { field, kind } = this.#aggregate;
    const key = shortKey(keyOf(kind, row.at(field)));
    if (key === minKey || this.#keys.has(key)) return;
    if (this.#kept.distinct++ < aggregateLimits.maxDistinct) this.#keys.add(key);
  }

  result(): Keyed {
    return numberKeyed(String(this.#keys.size));
  }
}

/** The smallest or the largest value, in the order of lists. Among equal ones it is that of the first resource. */
class Extreme implements Figure {
  readonly #aggregate: Aggregate;
  readonly #sign: 1 | -1;
  readonly #kept: KeptValues;
  #best: (Keyed & { readonly seq: number }) | undefined;

  constructor(aggregate: Aggregate, sign: 1 | -1, kept: KeptValues) {
    this.#aggregate = aggregate;
    this.#sign = sign;
    this.#kept = kept;
  }

  add(row: RowValues): void {
    const { field, kind } = this.#aggregate;
    const key = keyOf(kind, row.at(field));
    if (key === minKey) return;
    const order = this.#best ? this.#sign * compareKeys(key, this.#best.key) : 1;
    const isBetter = order > 0 || (order === 0 && row.seq < (this.#best?.seq ?? 0));
    if (!isBetter) return;
    const text = textOf(this.#aggregate, row);
    this.#kept.textLength += text.length - (this.#best?.text.length ?? 0);
    this.#best = { key, seq: row.seq, text };
  }

  result(): Keyed {
    return this.#best ?? nothing;
  }
}

/** Numbers are shown as they were written. */
function textOf({ field }: Aggregate, row: RowValues): string {
  const value = row.at(field);
  const isNumber = typeof value === "number" && !isServerTime(field);
  const literal = isNumber ? row.literalAt(field) : undefined;
  return literal === undefined ? jsonOf(field, value) : ownText(literal);
}

/** Times of the server are shown as in resources. */
export const jsonOf = (field: string, value: unknown): string =>
  JSON.stringify(isServerTime(field) ? new Date(Number(value)) : value);

export const isServerTime = (field: string): boolean =>
  field === "createdAt" || field === "updatedAt";
