// Puts resources into groups, and computes the figures of each group.

import { bucketOf, TimeZone } from "../../lib/time-buckets.ts";
import {
  type Aggregate,
  type Aggregation,
  aggregateLimits,
  type Grouping,
  type Groups,
  rangeOf,
} from "../../model/query/aggregate.ts";
import { compareKeys, keyOf, minKey } from "../../model/query/sort-key.ts";
import {
  type Figure,
  figureOf,
  isServerTime,
  jsonOf,
  type KeptValues,
  type Keyed,
  nothing,
  shortKey,
} from "./figures.ts";
import type { Running } from "./filter-reads.ts";
import { itemWork, runEachInTurns } from "./in-turns.ts";
import { ColumnValues, type RowValues } from "./row-values.ts";

interface Group {
  /** Those of its first resource. */
  values: readonly Keyed[];
  seq: number;
  readonly figures: readonly Figure[];
}

/** How many groups are counted to say how many there would be. */
const maxCountedGroups = 1_000_000;

export class Aggregator {
  readonly #aggregation: Aggregation;
  readonly #groups = new Map<string, Group>();
  /** The groups beyond the limit, of which only the number is needed. */
  readonly #others = new Set<string>();
  readonly #kept: KeptValues = { distinct: 0, textLength: 0 };
  /** The fields that the values of a resource are needed of. */
  readonly fields: readonly string[];
  /** Whether it matters which resource was created first. */
  readonly hasSeqs: boolean;
  readonly #groupKeys: readonly GroupKey[];
  /** The only group when there are no groupings, also when no resource is in it. */
  readonly #whole: Group | undefined;

  constructor(aggregation: Aggregation) {
    this.#aggregation = aggregation;
    const { groupings, aggregates, timeZone } = aggregation;
    const fields = [...groupings, ...aggregates].map(({ field }) => field);
    this.fields = [...new Set(fields)].filter((field) => field !== "");
    this.hasSeqs = aggregates.some(isExtreme) || groupings.some(hasSpellings);
    const zone = new TimeZone(timeZone);
    this.#groupKeys = groupings.map((grouping) => new GroupKey(grouping, zone));
    this.#whole = groupings.length === 0 ? this.#newGroup(nameOf([]), []) : undefined;
  }

  /** Whether the values to show take more memory than an answer may. Then nothing is added. */
  get isTooLarge(): boolean {
    return this.#kept.textLength > aggregateLimits.maxTextLength;
  }

  /** `count` is how many resources the values stand for. */
  add(row: RowValues, count = 1): void {
    if (this.isTooLarge) return;
    const group = this.#whole ?? this.#groupOf(row);
    if (group !== undefined) for (const figure of group.figures) figure.add(row, count);
  }

  #groupOf(row: RowValues): Group | undefined {
    const values = this.#groupKeys.map((key) => key.of(row));
    const name = nameOf(values);
    const group = this.#groups.get(name);
    if (group === undefined) return this.#newGroup(name, values, row.seq);
    if (row.seq < group.seq) Object.assign(group, { values, seq: row.seq });
    return group;
  }

  /** Adds resources. For each of `fields` a text has their values as JSON, with commas between them; one has their seqs. */
  *addColumns(count: number, texts: readonly string[]): Running<void> {
    const columns = new ColumnValues(this.fields, texts);
    const work = itemWork.value * Math.max(1, this.fields.length);
    yield* runEachInTurns(
      Array(count).keys(),
      () => work,
      (row) => {
        columns.row = row;
        this.add(columns);
      },
    );
  }

  result(): Groups {
    if (this.isTooLarge) return { rows: [], total: this.#groups.size, isTooLarge: true };
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
      ...(this.#kept.distinct > aggregateLimits.maxDistinct && { hasTooManyValues: true }),
    };
  }

  #newGroup(name: string, values: readonly Keyed[], seq = 0): Group | undefined {
    if (this.#groups.size >= aggregateLimits.maxGroups) {
      if (this.#others.size < maxCountedGroups) this.#others.add(shortKey(name));
      return undefined;
    }
    for (const { text } of values) this.#kept.textLength += text.length;
    const { aggregates } = this.#aggregation;
    const figures = aggregates.map((each) => figureOf(each, this.#kept));
    const group = { values, seq, figures };
    this.#groups.set(name, group);
    return group;
  }
}

const isExtreme = ({ function: name }: Aggregate): boolean => name === "min" || name === "max";

/** Whether values of one group can be shown in several ways. */
const hasSpellings = ({ kind, unit }: Grouping): boolean => kind === "time" && unit === undefined;

/** How many values of a grouping are kept with their keys, and how long they are. */
const maxKnown = 10_000;
const maxKnownLength = 200;

/** Finds the value of a grouping. */
class GroupKey {
  readonly #grouping: Grouping;
  readonly #zone: TimeZone;
  readonly #known = new Map<unknown, Keyed>();

  constructor(grouping: Grouping, zone: TimeZone) {
    this.#grouping = grouping;
    this.#zone = zone;
  }

  of(row: RowValues): Keyed {
    const value = row.at(this.#grouping.field);
    if (typeof value === "object" || value === undefined) return nothing;
    const known = this.#known.get(value);
    if (known !== undefined) return known;
    const found = this.#keyOf(value);
    if (typeof value === "string" && value.length > maxKnownLength) return found;
    if (this.#known.size === maxKnown) this.#known.clear();
    this.#known.set(value, found);
    return found;
  }

  #keyOf(value: unknown): Keyed {
    const { field, kind, unit, bounds } = this.#grouping;
    if (unit !== undefined) {
      const ms = timeOf(field, value);
      if (ms === undefined) return nothing;
      // A date has no time zone.
      const local = isDate(value) ? new Date(ms) : this.#zone.local(ms);
      return Number.isNaN(local.getTime()) ? nothing : bucket(bucketOf(unit, local));
    }
    if (bounds === undefined) return { key: keyOf(kind, value), text: jsonOf(field, value) };
    if (typeof value !== "number") return nothing;
    const text = JSON.stringify(rangeOf(bounds, value));
    // Ranges sort by their bounds, not by their names.
    const at = bounds.filter((each) => each <= value).length;
    return { key: keyOf("number", at), text };
  }
}

interface ColumnOrder {
  readonly column: number;
  readonly isDescending: boolean;
}

function compareRows(
  one: readonly Keyed[],
  other: readonly Keyed[],
  orders: readonly ColumnOrder[],
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

/** Identifies a group. No key contains NUL. */
const nameOf = (values: readonly Keyed[]): string =>
  values.length === 1 ? (values[0]?.key ?? "") : values.map(({ key }) => key).join("\0");

const bucket = (name: string): Keyed => ({ key: keyOf("text", name), text: JSON.stringify(name) });

const isDate = (value: unknown): boolean => typeof value === "string" && value.length === 10;

/** The server's own times are numbers of milliseconds. A number in another field is no time. */
function timeOf(field: string, value: unknown): number | undefined {
  if (typeof value === "number") return isServerTime(field) ? value : undefined;
  if (typeof value !== "string" || !keyOf("time", value).startsWith("t")) return undefined;
  return Date.parse(value);
}
