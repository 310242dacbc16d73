// How a collection has grown, as a small line, read when it comes into view.

import { useEffect, useRef, useState } from "preact/hooks";
import { get } from "../api/client.ts";
import type { JsonObject } from "../api/json.ts";
import type { Page, Resource } from "../api/types.ts";
import { Spark } from "../plot/spark.tsx";
import { useLoad } from "../state/load.ts";
import { formatNumber, formatTime } from "../ui/format.ts";
import { type GrowthPoint, growthOf, samplePositions } from "./growth-points.ts";

/** An aggregate looks at every resource, and from here on counts as a slow query. A page at any depth costs the same. */
const largeTotal = 1_000;
const byDay = "day(createdAt)";

export function Growth({ name, total }: { name: string; total: number | undefined }) {
  const place = useRef<HTMLSpanElement>(null);
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    if (place.current === null) return;
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setSeen(true);
    });
    observer.observe(place.current);
    return () => observer.disconnect();
  }, []);
  return (
    <span ref={place} class="growth">
      {isSeen && total !== undefined && total > 0 && <GrowthLine name={name} total={total} />}
    </span>
  );
}

function GrowthLine({ name, total }: { name: string; total: number }) {
  const { value } = useLoad(`growth ${name}`, (signal) =>
    total < largeTotal ? readDays(name, signal) : readSamples(name, total, signal),
  );
  const [first] = value ?? [];
  if (value === undefined || first === undefined) return null;
  const points = value.map(({ time, count }) => [time, count] as const);
  const label = `${formatNumber(total)} since ${formatTime(new Date(first.time).toISOString())}`;
  return <Spark points={[...points, [Date.now(), total]]} label={label} />;
}

/** One request: how many were created on each day. */
async function readDays(name: string, signal: AbortSignal): Promise<readonly GrowthPoint[]> {
  const path = `/${name}?aggregate=count,min(createdAt),max(createdAt)&by=${byDay}&limit=${largeTotal}`;
  const { data } = await get<Page<JsonObject>>(path, signal);
  return growthOf(data);
}

/** A few resources, evenly from the first to the last. */
async function readSamples(
  name: string,
  total: number,
  signal: AbortSignal,
): Promise<readonly GrowthPoint[]> {
  const found = samplePositions(total).map(async (count) => {
    const path = `/${name}?fields=createdAt&limit=1&page=${count}&total=none`;
    const { data } = await get<Page<Resource>>(path, signal);
    return data.map(({ createdAt }) => ({ time: Date.parse(createdAt), count }));
  });
  return (await Promise.all(found)).flat();
}
