// How a collection has grown: when some of its resources were created, evenly from the first to the last.

import { get } from "../api/client.ts";
import type { Page, Resource } from "../api/types.ts";
import { Spark } from "../plot/spark.tsx";
import { useLoad } from "../state/load.ts";
import { formatNumber, formatTime } from "../ui/format.ts";

/** A page at any depth costs the same, so a few of one resource say enough about any collection. */
const samples = 9;

export function Growth({ name, total }: { name: string; total: number | undefined }) {
  return total === undefined || total === 0 ? null : <GrowthLine name={name} total={total} />;
}

interface Sample {
  readonly position: number;
  readonly createdAt: string;
}

function GrowthLine({ name, total }: { name: string; total: number }) {
  const { value } = useLoad(`growth ${name}`, (signal) => readSamples(name, total, signal));
  const [first] = value ?? [];
  if (value === undefined || first === undefined) return null;
  const points = value.map(({ position, createdAt }) => [Date.parse(createdAt), position] as const);
  const label = `${formatNumber(total)} since ${formatTime(first.createdAt)}`;
  return <Spark points={[...points, [Date.now(), total]]} label={label} />;
}

async function readSamples(name: string, total: number, signal: AbortSignal): Promise<Sample[]> {
  const parts = Array.from({ length: samples }, (_, n) => n / (samples - 1));
  const positions = new Set(parts.map((part) => 1 + Math.round(part * (total - 1))));
  const found = [...positions].map(async (position) => {
    const path = `/${name}?fields=createdAt&limit=1&page=${position}`;
    const { data } = await get<Page<Resource>>(path, signal);
    return data.map(({ createdAt }) => ({ position, createdAt }));
  });
  return (await Promise.all(found)).flat();
}
