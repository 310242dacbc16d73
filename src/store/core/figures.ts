// Computes one figure of a group, one resource at a time.

import { printDecimal } from "../../lib/decimal.ts";
import { divide, ExactSum } from "../../lib/exact-sum.ts";
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

/** How many different values were found in all groups. */
export interface DistinctCount {
  count: number;
}

export function figureOf(aggregate: Aggregate, distinct: DistinctCount): Figure {
  switch (aggregate.function) {
    case "count":
      return new Count();
    case "sum":
      return new Sum(aggregate, ({ total }) => printDecimal(total));
    case "avg":
      return new Sum(aggregate, ({ total, count }) => (count === 0 ? null : divide(total, count)));
    case "distinct":
      return new Distinct(aggregate, distinct);
    case "min":
      return new Extreme(aggregate, -1);
    case "max":
      return new Extreme(aggregate, 1);
  }
}

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
  readonly #distinct: DistinctCount;
  readonly #keys = new Set<string>();

  constructor(aggregate: Aggregate, distinct: DistinctCount) {
    this.#aggregate = aggregate;
    this.#distinct = distinct;
  }

  add(row: RowValues): void {
    const { field, kind } = this.#aggregate;
    const key = keyOf(kind, row.at(field));
    if (key === minKey || this.#keys.has(key)) return;
    if (this.#distinct.count++ < aggregateLimits.maxDistinct) this.#keys.add(key);
  }

  result(): Keyed {
    return numberKeyed(String(this.#keys.size));
  }
}

/** The smallest or the largest value, in the order of lists. Among equal ones it is that of the first resource. */
class Extreme implements Figure {
  readonly #aggregate: Aggregate;
  readonly #sign: 1 | -1;
  #best: (Keyed & { readonly seq: number }) | undefined;

  constructor(aggregate: Aggregate, sign: 1 | -1) {
    this.#aggregate = aggregate;
    this.#sign = sign;
  }

  add(row: RowValues): void {
    const { field, kind } = this.#aggregate;
    const key = keyOf(kind, row.at(field));
    if (key === minKey) return;
    const order = this.#best ? this.#sign * compareKeys(key, this.#best.key) : 1;
    const isBetter = order > 0 || (order === 0 && row.seq < (this.#best?.seq ?? 0));
    if (isBetter) this.#best = { key, seq: row.seq, text: textOf(this.#aggregate, row) };
  }

  result(): Keyed {
    return this.#best ?? nothing;
  }
}

/** Numbers are shown as they were written. */
const textOf = ({ field }: Aggregate, row: RowValues): string =>
  (typeof row.at(field) === "number" && !isServerTime(field) && row.literalAt(field)) ||
  jsonOf(field, row.at(field));

/** Times of the server are shown as in resources. */
export const jsonOf = (field: string, value: unknown): string =>
  JSON.stringify(isServerTime(field) ? new Date(Number(value)) : value);

const isServerTime = (field: string): boolean => field === "createdAt" || field === "updatedAt";
