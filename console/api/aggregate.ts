// The query of a chart, and its groups as bars.

import type { Json, JsonObject } from "./json.ts";
import type { Schema } from "./types.ts";

export const timeUnits = ["hour", "day", "week", "month", "quarter", "year"] as const;

/** What a chart shows: a figure, and what it is grouped by. */
export interface ChartQuery {
  /** Such as `count` or `sum(total)`. */
  readonly figure: string;
  /** Such as `status` or `month(placed)`. */
  readonly by: string;
}

export const isTimeGroup = (by: string): boolean =>
  timeUnits.some((unit) => by.startsWith(`${unit}(`));

const mostValues = 50;
const mostTimes = 1_000;

/** Times are in their order; of values the largest figures come first. `filter` holds the parameters of a list. */
export function chartPath(
  collection: string,
  { figure, by }: ChartQuery,
  filter: URLSearchParams,
  timezone: string,
): string {
  const params = new URLSearchParams(filter);
  params.set("aggregate", figure);
  params.set("by", by);
  if (isTimeGroup(by)) {
    params.set("timezone", timezone);
    params.set("sort", `-${by}`);
  } else params.set("sort", `-${figure}`);
  params.set("limit", String(isTimeGroup(by) ? mostTimes : mostValues));
  return `/${collection}?${params}`;
}

export interface Bar {
  readonly label: string;
  /** The value of the group, for a link to its resources; undefined for times. */
  readonly value: Json | undefined;
  readonly size: number;
}

/** Groups whose figure is no number, such as an average of nothing, are left out. */
export function barsOf(groups: readonly JsonObject[], { figure, by }: ChartQuery): readonly Bar[] {
  const isTime = isTimeGroup(by);
  const bars = groups.flatMap((group): readonly Bar[] => {
    const size = group[figure];
    const value = group[by] ?? null;
    if (typeof size !== "number") return [];
    return [{ label: labelOf(value), value: isTime ? undefined : value, size }];
  });
  return isTime ? bars.toReversed() : bars;
}

const labelOf = (value: Json): string =>
  value === null ? "(none)" : typeof value === "string" ? value : JSON.stringify(value);

const isOneOf = (schema: Schema, types: readonly string[]): boolean =>
  [schema.type ?? []].flat().some((type) => types.includes(type));

export interface ChartFields {
  readonly numbers: readonly string[];
  readonly times: readonly string[];
  readonly values: readonly string[];
}

/** The fields that a chart can compute with, from the schema. Without one, people type a name. */
export function chartFields(schema: Schema | undefined): ChartFields {
  const fields = Object.entries(schema?.properties ?? {});
  const names = (isWanted: (property: Schema) => boolean): readonly string[] =>
    fields.filter(([, property]) => isWanted(property)).map(([name]) => name);
  const isTime = ({ format = "" }: Schema): boolean => format === "date" || format === "date-time";
  return {
    numbers: names((property) => isOneOf(property, ["number", "integer"])),
    times: ["createdAt", "updatedAt", ...names(isTime)],
    values: names((property) => !isTime(property) && !isOneOf(property, ["object"])),
  };
}

const dayMs = 86_400_000;
const spans: readonly (readonly [days: number, unit: (typeof timeUnits)[number]])[] = [
  [2, "hour"],
  [62, "day"],
  [370, "week"],
  [3_700, "month"],
];

/** An interval that makes some dozens of bars. */
export function unitFor(first: string, last: string): (typeof timeUnits)[number] {
  const days = (Date.parse(last) - Date.parse(first)) / dayMs;
  return spans.find(([most]) => days <= most)?.[1] ?? "year";
}

/** The field that a chart begins with: a time that people have set, or else when resources were created. */
export const firstTime = (schema: Schema | undefined): string =>
  chartFields(schema).times[2] ?? "createdAt";

/** A round number that is not less: the end of an axis. */
export function roundUp(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 4, 5, 10].find((step) => step * power >= value) ?? 10) * power;
}
