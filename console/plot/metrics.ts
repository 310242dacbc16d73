// Reads metrics in the text format of Prometheus, and says what happened between two readings.

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export type Metrics = ReadonlyMap<string, readonly Sample[]>;

const line = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const label = /(\w+)="((?:[^"\\]|\\.)*)",?/g;
const escapes: Readonly<Record<string, string>> = { n: "\n", "\\": "\\", '"': '"' };

export function parseMetrics(text: string): Metrics {
  const found = new Map<string, Sample[]>();
  for (const [, name = "", labels = "", value] of text
    .split("\n")
    .map((one) => line.exec(one) ?? []))
    if (name !== "") add(found, name, { labels: parseLabels(labels), value: Number(value) });
  return found;
}

function add(all: Map<string, Sample[]>, name: string, sample: Sample): void {
  const list = all.get(name);
  if (list === undefined) all.set(name, [sample]);
  else list.push(sample);
}

const parseLabels = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(label)].map(([, name = "", value = ""]) => [
      name,
      value.replace(/\\(.)/g, (_, char: string) => escapes[char] ?? char),
    ]),
  );

/** The sum of a metric over its labels, or undefined when the server has no such metric. */
export function totalOf(metrics: Metrics, name: string): number | undefined {
  const samples = metrics.get(name);
  return samples?.reduce((sum, { value }) => sum + value, 0);
}

/** How many observations were at most as large as each bound; the last bound is infinite. */
export interface Histogram {
  readonly labels: Readonly<Record<string, string>>;
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
}

export const countOf = ({ counts }: Histogram): number => counts.at(-1) ?? 0;

/** The histograms of a metric, one for each set of labels, by a key of these. */
export function histogramsOf(metrics: Metrics, name: string): ReadonlyMap<string, Histogram> {
  const found = new Map<
    string,
    { labels: Record<string, string>; bounds: number[]; counts: number[] }
  >();
  for (const { labels, value } of metrics.get(`${name}_bucket`) ?? []) {
    const { le = "+Inf", ...rest } = labels;
    const key = JSON.stringify(rest);
    const one = found.get(key) ?? { labels: rest, bounds: [], counts: [] };
    one.bounds.push(le === "+Inf" ? Number.POSITIVE_INFINITY : Number(le));
    one.counts.push(value);
    found.set(key, one);
  }
  return found;
}

/** What was observed since an earlier reading. A restarted server begins at 0 again. */
export function since(later: Histogram, earlier: Histogram | undefined): Histogram {
  if (earlier === undefined || countOf(earlier) > countOf(later)) return later;
  return { ...later, counts: later.counts.map((count, n) => count - (earlier.counts[n] ?? 0)) };
}

export function merge(histograms: readonly Histogram[]): Histogram {
  const [first] = histograms;
  if (first === undefined) return { labels: {}, bounds: [], counts: [] };
  const counts = first.bounds.map((_, n) =>
    histograms.reduce((sum, { counts }) => sum + (counts[n] ?? 0), 0),
  );
  return { ...first, counts };
}

/** Estimates a percentile from the buckets; null without observations. */
export function percentile({ bounds, counts }: Histogram, part: number): number | null {
  const wanted = (counts.at(-1) ?? 0) * part;
  if (wanted === 0) return null;
  const index = counts.findIndex((count) => count >= wanted);
  const below = index === 0 ? 0 : (counts[index - 1] ?? 0);
  const from = index === 0 ? 0 : (bounds[index - 1] ?? 0);
  const to = bounds[index] ?? from;
  if (!Number.isFinite(to)) return from;
  return from + ((to - from) * (wanted - below)) / ((counts[index] ?? 0) - below);
}
