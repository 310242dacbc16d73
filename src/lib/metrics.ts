// Counts and measures in numbers that cost almost nothing to change, and writes them in the Prometheus text format.

/** Label names and values, in the order in which they are written. */
export type Labels = Readonly<Record<string, string>>;

/** How the values of several processes become one. */
export type Combination = "sum" | "max";

/** One value, such as `{method="GET"} 3`. The suffix is that of a histogram's parts. */
export interface Sample {
  readonly suffix: string;
  readonly labels: Labels;
  readonly value: number;
}

/** All values of one name. Can be sent to another process. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly combination: Combination;
  readonly samples: readonly Sample[];
}

type SampleSource = () => readonly Sample[];

/** Seconds; a response takes from a tenth of a millisecond to the deadline of a query. */
export const secondsBounds = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
] as const;

export class Metrics {
  readonly #families: (Omit<MetricFamily, "samples"> & { readonly read: SampleSource })[] = [];

  /** A counter only grows. By convention its name ends with `_total`. */
  counter(name: string, help: string): Counter {
    const counter = new Counter();
    this.count(name, help, () => counter.value);
    return counter;
  }

  /** A counter that something else keeps. */
  count(name: string, help: string, read: () => number): void {
    this.#add(name, help, "counter", "sum", () => [plain(read())]);
  }

  /** Counters that differ in their labels, and that something else keeps. */
  counts(name: string, help: string, read: () => Iterable<readonly [Labels, number]>): void {
    this.#add(name, help, "counter", "sum", () =>
      Array.from(read(), ([labels, value]) => ({ suffix: "", labels, value })),
    );
  }

  /** A value that is read when the metrics are. Undefined when there is none now. */
  gauge(
    name: string,
    help: string,
    read: () => number | undefined,
    combination: Combination = "sum",
  ): void {
    this.#add(name, help, "gauge", combination, () => {
      const value = read();
      return value === undefined ? [] : [plain(value)];
    });
  }

  histogram(name: string, help: string, bounds: readonly number[]): Histogram {
    const histogram = new Histogram(bounds);
    this.histograms(name, help, () => [[{}, histogram]]);
    return histogram;
  }

  /** Histograms that differ in their labels. */
  histograms(name: string, help: string, read: () => Iterable<readonly [Labels, Histogram]>): void {
    this.#add(name, help, "histogram", "sum", () =>
      [...read()].flatMap(([labels, histogram]) => histogram.samples(labels)),
    );
  }

  /** Facts in the labels; the value is 1. */
  info(name: string, help: string, labels: Labels): void {
    this.#add(name, help, "gauge", "max", () => [{ suffix: "", labels, value: 1 }]);
  }

  read(): readonly MetricFamily[] {
    return this.#families.map(({ read, ...family }) => ({ ...family, samples: read() }));
  }

  #add(
    name: string,
    help: string,
    type: MetricFamily["type"],
    combination: Combination,
    read: SampleSource,
  ): void {
    if (this.#families.some((family) => family.name === name))
      throw new Error(`the metric ${name} exists already`);
    this.#families.push({ name, help, type, combination, read });
  }
}

const plain = (value: number): Sample => ({ suffix: "", labels: {}, value });

class Counter {
  value = 0;

  add(count = 1): void {
    this.value += count;
  }
}

/** Counts values by size. The counts are in one array, so that a value costs two additions. */
export class Histogram {
  readonly #bounds: readonly number[];
  readonly #counts: Float64Array;
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  add(value: number): void {
    const bounds = this.#bounds;
    let at = 0;
    while (at < bounds.length && value > (bounds[at] as number)) at++;
    this.#counts[at] = (this.#counts[at] as number) + 1;
    this.#sum += value;
  }

  /** The counts are cumulative: each one includes those before it. */
  samples(labels: Labels): readonly Sample[] {
    let count = 0;
    const buckets = Array.from(this.#counts, (own, at): Sample => {
      count += own;
      const le = at < this.#bounds.length ? String(this.#bounds[at]) : "+Inf";
      return { suffix: "_bucket", labels: { ...labels, le }, value: count };
    });
    return [
      ...buckets,
      { suffix: "_sum", labels, value: this.#sum },
      { suffix: "_count", labels, value: count },
    ];
  }
}

/** Combines the metrics of several processes. */
export function combineMetrics(
  processes: readonly (readonly MetricFamily[])[],
): readonly MetricFamily[] {
  const byName = Map.groupBy(processes.flat(), ({ name }) => name);
  return [...byName.values()].map((families) => {
    const [first] = families as [MetricFamily];
    const byLabels = Map.groupBy(
      families.flatMap(({ samples }) => samples),
      ({ suffix, labels }) => suffix + writeLabels(labels),
    );
    const samples = [...byLabels.values()].map((same) => combined(same, first.combination));
    return { ...first, samples };
  });
}

function combined(same: readonly Sample[], combination: Combination): Sample {
  const values = same.map(({ value }) => value);
  const value =
    combination === "max" ? Math.max(...values) : values.reduce((sum, each) => sum + each, 0);
  return { ...(same[0] as Sample), value };
}

/** What a process that has ended leaves: its counts. The memory that it used is free again. */
export const countsIn = (families: readonly MetricFamily[]): readonly MetricFamily[] =>
  families.filter(({ type }) => type !== "gauge");

/** The text format of Prometheus, version 0.0.4. */
export function writeMetrics(families: readonly MetricFamily[]): string {
  return families
    .filter(({ samples }) => samples.length > 0)
    .map(({ name, help, type, samples }) => {
      const lines = samples.map(
        ({ suffix, labels, value }) => `${name}${suffix}${writeLabels(labels)} ${value}\n`,
      );
      return `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n${lines.join("")}`;
    })
    .join("");
}

function writeLabels(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

const escapeHelp = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");

const escapeLabel = (text: string): string => escapeHelp(text).replaceAll('"', '\\"');
