// What the requests of a server were like between readings of its metrics: points of plots, and rows of a table.

import {
  countOf,
  type Histogram,
  histogramsOf,
  type Metrics,
  merge,
  percentile,
  since,
  totalOf,
} from "./metrics.ts";

export interface Reading {
  /** In seconds since 1970. */
  readonly at: number;
  readonly requests: ReadonlyMap<string, Histogram>;
  readonly lag: Histogram;
  readonly memory: number | undefined;
}

export const statusClasses = ["2xx", "3xx", "4xx", "5xx"] as const;

export function readingOf(metrics: Metrics, at: number): Reading {
  return {
    at,
    requests: histogramsOf(metrics, "restante_http_request_duration_seconds"),
    lag: merge([...histogramsOf(metrics, "restante_event_loop_lag_seconds").values()]),
    memory: totalOf(metrics, "process_resident_memory_bytes"),
  };
}

const newRequests = (later: Reading, earlier: Reading): readonly Histogram[] =>
  [...later.requests].map(([key, histogram]) => since(histogram, earlier.requests.get(key)));

const percentiles = (histogram: Histogram): readonly (number | null)[] =>
  [0.5, 0.95, 0.99].map((part) => percentile(histogram, part));

export interface Point {
  readonly at: number;
  /** Requests per second, by class of status. */
  readonly rates: readonly number[];
  /** p50, p95 and p99 in seconds. */
  readonly latency: readonly (number | null)[];
  /** The p99 of the event loop's lag, in seconds. */
  readonly lag: number | null;
  readonly memory: number | null;
}

export function pointOf(later: Reading, earlier: Reading): Point {
  const all = newRequests(later, earlier);
  const seconds = later.at - earlier.at;
  const rateOf = (status: string): number =>
    all
      .filter(({ labels }) => labels.status === status)
      .reduce((sum, one) => sum + countOf(one), 0) / seconds;
  return {
    at: later.at,
    rates: statusClasses.map(rateOf),
    latency: percentiles(merge(all)),
    lag: percentile(since(later.lag, earlier.lag), 0.99),
    memory: later.memory ?? null,
  };
}

export interface RouteRow {
  readonly method: string;
  readonly route: string;
  readonly count: number;
  readonly perSecond: number;
  readonly failed: number;
  readonly latency: readonly (number | null)[];
}

/** The routes that had requests between two readings, the busiest first. */
export function routeRows(later: Reading, earlier: Reading): readonly RouteRow[] {
  const byRoute = Map.groupBy(
    newRequests(later, earlier).filter((one) => countOf(one) > 0),
    ({ labels }) => `${labels.method} ${labels.route}`,
  );
  const rows = [...byRoute.values()].map((list) => rowOf(list, later.at - earlier.at));
  return rows.sort((one, other) => other.count - one.count);
}

function rowOf(list: readonly Histogram[], seconds: number): RouteRow {
  const merged = merge(list);
  const count = countOf(merged);
  const failed = list.filter(({ labels }) => /^[45]/.test(labels.status ?? ""));
  return {
    method: merged.labels.method ?? "",
    route: merged.labels.route ?? "",
    ...{ count, perSecond: count / seconds, latency: percentiles(merged) },
    failed: failed.reduce((sum, one) => sum + countOf(one), 0),
  };
}
