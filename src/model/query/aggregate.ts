// Aggregates of a collection: which figures are computed for which groups of resources.

import { type BucketUnit, bucketUnits } from "../../lib/time-buckets.ts";
import type { ValueKind } from "../field-kind.ts";

export const aggregateLimits = {
  maxAggregates: 16,
  maxGroupings: 4,
  /** The limit of groups in one answer. */
  maxGroups: 10_000,
  /** The limit of different values that `distinct` counts, in all groups together. */
  maxDistinct: 1_000_000,
  /** The limit for the values in one answer, together. */
  maxTextLength: 32 * 1024 * 1024,
  maxBounds: 100,
} as const;

export const functions = ["sum", "avg", "min", "max", "distinct"] as const;
export type AggregateFunction = (typeof functions)[number] | "count";

/** A figure of a group, such as `sum(total)`. */
export interface Aggregate {
  /** As the client wrote it; the member of each group has this name. */
  readonly name: string;
  readonly function: AggregateFunction;
  /** Empty for `count`. */
  readonly field: string;
  readonly kind: ValueKind;
}

/** What resources of one group have in common: a value, the bucket of a time, or a range of numbers. */
export interface Grouping {
  readonly name: string;
  readonly field: string;
  readonly kind: ValueKind;
  readonly unit?: BucketUnit;
  readonly bounds?: readonly number[];
}

/** A sort order of groups by the name of a member. */
export interface GroupSorting {
  readonly name: string;
  readonly isDescending: boolean;
}

export interface Aggregation {
  readonly aggregates: readonly Aggregate[];
  readonly groupings: readonly Grouping[];
  /** A time zone of the IANA database; undefined for UTC. */
  readonly timeZone: string | undefined;
  readonly sortings: readonly GroupSorting[];
  readonly offset: number;
  readonly limit: number;
}

export interface Groups {
  /** The members of each group of the page as JSON, in the order of groupings and aggregates. */
  readonly rows: readonly (readonly string[])[];
  /** How many groups there are; beyond the limit, the figures are not complete. */
  readonly total: number;
  /** Whether the values are longer than the limit together. Then there are no groups. */
  readonly isTooLarge?: boolean;
  /** Whether `distinct` has found more values than it counts. */
  readonly hasTooManyValues?: boolean;
}

/** The name and the arguments of `name(argument,…)`; a plain name has none. */
interface AggregateCall {
  readonly name: string;
  readonly field: string;
  readonly rest: readonly string[];
}

const call = /^([a-z]+)\(([^()]*)\)$/;

function readCall(text: string): AggregateCall | undefined {
  const [, name, inner] = call.exec(text) ?? [];
  if (name === undefined || inner === undefined) return undefined;
  const [field = "", ...rest] = inner.split(",");
  return { name, field, rest };
}

/** Splits a list at its commas, but not at those in parentheses. */
export function splitList(text: string): readonly string[] {
  const pieces: string[] = [];
  let start = 0;
  let isInside = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === "(") isInside = true;
    else if (character === ")") isInside = false;
    else if (character === "," && !isInside) {
      pieces.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return [...pieces, text.slice(start)];
}

/** Returns the aggregate without its kind, or what is wrong with it. */
export function readAggregate(text: string): Omit<Aggregate, "kind"> | string {
  if (text === "count") return { name: text, function: "count", field: "" };
  const { name, field = "", rest = [] } = readCall(text) ?? {};
  const found = functions.find((each) => each === name);
  if (found === undefined || field === "" || rest.length > 0)
    return `${JSON.stringify(text)} is no aggregate; there are count, ${functions.map((each) => `${each}(field)`).join(", ")}. To filter by a field aggregate, write aggregate[eq]`;
  return { name: text, function: found, field };
}

/** Returns the grouping without its kind, or what is wrong with it. */
export function readGrouping(text: string): Omit<Grouping, "kind"> | string {
  const found = readCall(text);
  if (found === undefined)
    return /[()]/.test(text) ? notGrouping(text) : { name: text, field: text };
  const { name, field, rest } = found;
  if (field === "") return notGrouping(text);
  if (name === "range") return readRange(text, field, rest);
  const unit = bucketUnits.find((each) => each === name);
  return unit === undefined || rest.length > 0 ? notGrouping(text) : { name: text, field, unit };
}

function readRange(
  name: string,
  field: string,
  texts: readonly string[],
): Omit<Grouping, "kind"> | string {
  const bounds = texts.map((text) => (text.trim() === "" ? Number.NaN : Number(text)));
  const isRising = bounds.every((each, at) => at === 0 || each > (bounds[at - 1] ?? each));
  const isRight = bounds.length > 0 && bounds.length <= aggregateLimits.maxBounds && isRising;
  return isRight && bounds.every(Number.isFinite)
    ? { name, field, bounds }
    : `${name} needs 1 to ${aggregateLimits.maxBounds} numbers in rising order, such as range(${field},0,10,100)`;
}

const notGrouping = (text: string): string =>
  `${JSON.stringify(text)} is no grouping; name a field, ${bucketUnits.map((unit) => `${unit}(field)`).join(", ")} or range(field,0,10,100)`;

/** The name of the range that has the number: `..0`, `0..10` (without 10), `10..`. */
export function rangeOf(bounds: readonly number[], number: number): string {
  const next = bounds.findIndex((each) => number < each);
  const at = next < 0 ? bounds.length : next;
  return `${bounds[at - 1] ?? ""}..${bounds[at] ?? ""}`;
}
