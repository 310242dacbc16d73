// How a collection has grown in the last weeks, where counting is cheap.

import { get } from "../api/client.ts";
import type { Page } from "../api/types.ts";
import { Spark } from "../plot/spark.tsx";
import { useLoad } from "../state/load.ts";
import { formatNumber } from "../ui/format.ts";

/** Counting more would keep the server busy for a picture. */
const mostCounted = 100_000;
const days = 28;
const dayMs = 86_400_000;

interface DayCount {
  readonly count: number;
  readonly "day(createdAt)": string;
}

export function Growth({ name, total }: { name: string; total: number | undefined }) {
  if (total === undefined || total === 0 || total > mostCounted) return null;
  return <GrowthLine name={name} total={total} />;
}

function GrowthLine({ name, total }: { name: string; total: number }) {
  const { value } = useLoad(`growth ${name}`, (signal) => readDays(name, signal));
  if (value === undefined) return null;
  const made = value.reduce((sum, count) => sum + count, 0);
  const text = `${formatNumber(made)} of ${formatNumber(total)} created in the last ${days} days`;
  return <Spark values={running(value, total - made)} label={text} />;
}

/** The totals after each day. */
function running(counts: readonly number[], before: number): readonly number[] {
  let sum = before;
  return [before, ...counts.map((count) => (sum += count))];
}

async function readDays(name: string, signal: AbortSignal): Promise<readonly number[]> {
  const dates = Array.from({ length: days }, (_, n) => dateOf(Date.now() - (days - 1 - n) * dayMs));
  const query = new URLSearchParams({
    ...{ aggregate: "count", by: "day(createdAt)", limit: "100" },
    "createdAt[gte]": `${dates[0]}T00:00:00Z`,
  });
  const { data } = await get<Page<DayCount>>(`/${name}?${query}`, signal);
  const found = new Map(data.map((one) => [one["day(createdAt)"], one.count]));
  return dates.map((date) => found.get(date) ?? 0);
}

const dateOf = (time: number): string => new Date(time).toISOString().slice(0, 10);
