// The points of a line that shows how a collection has grown.

import type { Json, JsonObject } from "../api/json.ts";

export interface GrowthPoint {
  /** In milliseconds. */
  readonly time: number;
  /** How many there were. */
  readonly count: number;
}

/** From the number of resources that were created on each day, and the first and the last of them. */
export function growthOf(days: readonly JsonObject[]): readonly GrowthPoint[] {
  let before = 0;
  return days.flatMap((day) => {
    const first = { time: timeOf(day["min(createdAt)"]), count: before + 1 };
    before += Number(day.count);
    return [first, { time: timeOf(day["max(createdAt)"]), count: before }];
  });
}

const timeOf = (value: Json | undefined): number => Date.parse(String(value));

const samples = 5;

/** Evenly from the first to the last. */
export const samplePositions = (total: number): readonly number[] => [
  ...new Set(
    Array.from({ length: samples }, (_, n) => 1 + Math.round((n / (samples - 1)) * (total - 1))),
  ),
];
