// Computes the figures of groups of resources, one resource at a time.

import { printDecimal } from "../../lib/decimal.ts";
import { divide, ExactSum } from "../../lib/exact-sum.ts";
import { isObject, readTree, type Tree } from "../../lib/json/tree.ts";
import { bucketOf, TimeZone } from "../../lib/time-buckets.ts";
import {
  type Aggregate,
  type Aggregation,
  aggregateLimits,
  type Grouping,
  type Groups,
  rangeOf,
} from "../../model/query/aggregate.ts";
import type { IndexedContent } from "../../model/query/index-plan.ts";
import { compareKeys, keyOf, minKey } from "../../model/query/sort-key.ts";
import type { Resource } from "../../model/resource.ts";

/** A value with its sort key. */
interface Keyed {
  readonly key: string;
  /** As JSON. */
  readonly text: string;
}

interface Group {
  readonly values: readonly Keyed[];
  readonly figures: readonly Figure[];
}

/** One figure while it is computed. */
interface Figure {
  add(content: IndexedContent, resource: Resource): void;
  result(): Keyed;
}

const nothing: Keyed = { key: minKey, text: "null" };
/** A number with more digits than a double keeps is added as it was written. */
const manyDigits = /\d[\d.]{15}/;

/** How many groups are counted to say how many there would be. */
const maxCountedGroups = 1_000_000;

export class Aggregator {
  readonly #aggregation: Aggregation;
  readonly #zone: TimeZone;
  readonly #groups = new Map<string, Group>();
  /** The groups beyond the limit, of which only the number is needed. */
  readonly #others = new Set<string>();
  readonly #distinct = { count: 0 };

  constructor(aggregation: Aggregation) {
    this.#aggregation = aggregation;
    this.#zone = new TimeZone(aggregation.timeZone);
    // Without groupings there is one group, also when no resource is in it.
    if (aggregation.groupings.length === 0) this.#newGroup(nameOf([]), []);
  }

  add(content: IndexedContent, resource: Resource): void {
    const values = this.#aggregation.groupings.map((grouping) => this.#valueOf(grouping, content));
    const name = nameOf(values);
    const group = this.#groups.get(name) ?? this.#newGroup(name, values);
    for (const figure of group?.figures ?? []) figure.add(content, resource);
  }

  result(): Groups {
    const { sortings, offset, limit } = this.#aggregation;
    const names = [...this.#aggregation.groupings, ...this.#aggregation.aggregates].map(
      ({ name }) => name,
    );
    const rows = [...this.#groups.values()].map(({ values, figures }) => [
      ...values,
      ...figures.map((figure) => figure.result()),
    ]);
    const orders = sortings.map(({ name, isDescending }) => ({
      column: names.indexOf(name),
      isDescending,
    }));
    rows.sort((one, other) => compareRows(one, other, orders));
    return {
      rows: rows.slice(offset, offset + limit).map((row) => row.map(({ text }) => text)),
      total: rows.length + this.#others.size,
      ...(this.#distinct.count > aggregateLimits.maxDistinct && { hasTooManyValues: true }),
    };
  }

  #newGroup(name: string, values: readonly Keyed[]): Group | undefined {
    if (this.#groups.size >= aggregateLimits.maxGroups) {
      if (this.#others.size < maxCountedGroups) this.#others.add(name);
      return undefined;
    }
    const { aggregates } = this.#aggregation;
    const group = { values, figures: aggregates.map((each) => figureOf(each, this.#distinct)) };
    this.#groups.set(name, group);
    return group;
  }

  #valueOf({ field, kind, unit, bounds }: Grouping, content: IndexedContent): Keyed {
    const value = content.at(field);
    if (unit !== undefined) {
      const ms = timeOf(value);
      if (ms === undefined) return nothing;
      // A date has no time zone.
      const local = isDate(value) ? new Date(ms) : this.#zone.local(ms);
      return Number.isNaN(local.getTime()) ? nothing : keyed("text", bucketOf(unit, local));
    }
    if (bounds === undefined) return keyed(kind, value);
    if (typeof value !== "number") return nothing;
    const text = JSON.stringify(rangeOf(bounds, value));
    // Ranges sort by their bounds, not by their names.
    const at = bounds.filter((bound) => bound <= value).length;
    return { key: keyOf("number", at), text };
  }
}

interface Order {
  readonly column: number;
  readonly isDescending: boolean;
}

function compareRows(
  one: readonly Keyed[],
  other: readonly Keyed[],
  orders: readonly Order[],
): number {
  for (const { column, isDescending } of orders) {
    const order = compareKeys(one[column]?.key ?? minKey, other[column]?.key ?? minKey);
    if (order !== 0) return isDescending ? -order : order;
  }
  // Groups that are equal in the sort order follow their values.
  for (const [column, { key }] of one.entries()) {
    const order = compareKeys(key, other[column]?.key ?? minKey);
    if (order !== 0) return order;
  }
  return 0;
}

/** Identifies a group. */
const nameOf = (values: readonly Keyed[]): string =>
  values.length === 1 ? (values[0]?.key ?? "") : JSON.stringify(values.map(({ key }) => key));

/** Objects and arrays have no key, like missing values. */
function keyed(kind: Aggregate["kind"], value: unknown): Keyed {
  const key = keyOf(kind, value);
  return key === minKey ? nothing : { key, text: JSON.stringify(value) };
}

const isDate = (value: unknown): boolean => typeof value === "string" && value.length === 10;

/** The server's own times are numbers of milliseconds. */
function timeOf(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  if (typeof value !== "string" || !keyOf("time", value).startsWith("t")) return undefined;
  return Date.parse(value);
}

interface Budget {
  count: number;
}

function figureOf(aggregate: Aggregate, distinct: Budget): Figure {
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

  add(): void {
    this.#count++;
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

  add(content: IndexedContent, { fields }: Resource): void {
    const value = content.at(this.#field);
    if (typeof value !== "number") return;
    this.#sum.add(value, manyDigits.test(fields) ? literalAt(fields, this.#field) : undefined);
  }

  result(): Keyed {
    const text = this.#figureOf(this.#sum);
    return text === null ? nothing : numberKeyed(text);
  }
}

/** The number as it was written. */
function literalAt(fields: string, field: string): string | undefined {
  let tree: Tree | undefined = readTree(fields);
  for (const name of field.split(".")) tree = isObject(tree) ? tree.members.get(name) : undefined;
  return typeof tree === "string" ? tree : undefined;
}

class Distinct implements Figure {
  readonly #aggregate: Aggregate;
  readonly #budget: Budget;
  readonly #keys = new Set<string>();

  constructor(aggregate: Aggregate, budget: Budget) {
    this.#aggregate = aggregate;
    this.#budget = budget;
  }

  add(content: IndexedContent): void {
    const { field, kind } = this.#aggregate;
    const key = keyOf(kind, content.at(field));
    if (key === minKey || this.#keys.has(key)) return;
    if (this.#budget.count++ < aggregateLimits.maxDistinct) this.#keys.add(key);
  }

  result(): Keyed {
    return numberKeyed(String(this.#keys.size));
  }
}

/** The smallest or the largest value, in the order of lists. */
class Extreme implements Figure {
  readonly #aggregate: Aggregate;
  readonly #sign: 1 | -1;
  #best: Keyed | undefined;

  constructor(aggregate: Aggregate, sign: 1 | -1) {
    this.#aggregate = aggregate;
    this.#sign = sign;
  }

  add(content: IndexedContent, { fields }: Resource): void {
    const { field, kind } = this.#aggregate;
    const value = content.at(field);
    const key = keyOf(kind, value);
    if (key === minKey) return;
    if (this.#best && this.#sign * compareKeys(key, this.#best.key) <= 0) return;
    this.#best = { key, text: textOf(field, kind, value, fields) };
  }

  result(): Keyed {
    return this.#best ?? nothing;
  }
}

/** Times of the server are shown as in resources, numbers as they were written. */
function textOf(field: string, kind: Aggregate["kind"], value: unknown, fields: string): string {
  const isNumber = typeof value === "number";
  if (isNumber && kind === "time" && isServerTime(field))
    return JSON.stringify(new Date(value).toISOString());
  return (isNumber && literalAt(fields, field)) || JSON.stringify(value);
}

const isServerTime = (field: string): boolean => field === "createdAt" || field === "updatedAt";
