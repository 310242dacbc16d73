// The points of a line that shows how a collection has grown.

import type { JsonObject } from "../api/json.ts";

export interface GrowthPoint {
  /** In milliseconds. */
  readonly time: number;
  /** How many there were. */
  readonly count: number;
}

/** From the number of resources that were created on each day, and the first of them. */
export function growthOf(days: readonly JsonObject[]): readonly GrowthPoint[] {
  let before = 0;
  return days.map((day) => {
    const point = { time: Date.parse(String(day["min(createdAt)"])), count: before + 1 };
    before += Number(day.count);
    return point;
  });
}

const samples = 4;

export const samplePositions = (total: number): readonly number[] => [
  ...new Set(Array.from({ length: samples }, (_, n) => 1 + Math.floor((n / samples) * total))),
];
