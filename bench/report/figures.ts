// From loads to figures: medians, spreads and ratios.

import type { ComparedLoads } from "../load/compare.ts";
import type { Load } from "../load/load.ts";
import { scenarios } from "../load/scenarios.ts";
import type { ServerName } from "../servers/peers.ts";

/** One scenario on several servers. */
export interface ScenarioFigures {
  readonly key: string;
  readonly title: string;
  readonly about: string;
  readonly figures: readonly Figure[];
}

export type Figure = Measured | { readonly server: ServerName; readonly absence: string };

export interface Measured {
  readonly server: ServerName;
  readonly requestsPerSecond: number;
  readonly lowest: number;
  readonly highest: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** To the mean of the bare server before and after it, round by round. */
  readonly ratioToBare: number;
  readonly faults: readonly string[];
  /** Only where it was asked for. */
  readonly spent?: Spent | undefined;
}

/** Processor time for one request, in microseconds, and the cores that were busy with it. */
export interface Spent {
  readonly server: Share;
  readonly database: Share;
  readonly loader: Share;
}

export interface Share {
  readonly perRequestUs: number;
  readonly cores: number;
}

/** The rates of two loads that differ in one thing. */
export interface RatePair {
  readonly firstPerSecond: number;
  readonly lastPerSecond: number;
  /** Rate of the last to the rate of the first, round by round. */
  readonly lastToFirst: number;
  readonly lowest: number;
  readonly highest: number;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2;
}

const perSecond = (load: Load): number => load.requestsPerSecond;
export const faultsIn = (loads: readonly Load[]): readonly string[] => [
  ...new Set(loads.map((load) => load.fault).filter((fault) => fault !== undefined)),
];

export function scenarioFigures(
  compared: ComparedLoads,
  named: Partial<Omit<ScenarioFigures, "figures">> = {},
): ScenarioFigures {
  const { scenario, bareBefore, bareAfter, loads, absent } = compared;
  const limits = bareBefore.map((load, round) =>
    median([perSecond(load), ...bareAfter.slice(round, round + 1).map(perSecond)]),
  );
  const bare = measured("bare", [...bareBefore, ...bareAfter], [...limits, ...limits]);
  const others = Object.entries(loads).map(([server, series]) =>
    measured(server as ServerName, series, limits),
  );
  const absences = absent.map(({ name, reason }) => ({ server: name, absence: reason }));
  return {
    ...{ key: scenario, ...scenarios[scenario], ...named },
    figures: [bare, ...others, ...absences],
  };
}

function measured(server: ServerName, loads: readonly Load[], limits: readonly number[]): Measured {
  const rates = loads.map(perSecond);
  return {
    server,
    requestsPerSecond: median(rates),
    lowest: Math.min(...rates),
    highest: Math.max(...rates),
    p50Ms: median(loads.map((load) => load.p50Ms)),
    p99Ms: median(loads.map((load) => load.p99Ms)),
    ratioToBare: median(rates.map((rate, round) => rate / (limits[round] ?? Number.NaN))),
    faults: faultsIn(loads),
    spent: spentOn(loads),
  };
}

export function spentOn(loads: readonly Load[]): Spent | undefined {
  const metered = loads.flatMap(({ usage, completed }) =>
    usage && Number.isFinite(usage.server) && completed > 0 ? [{ usage, completed }] : [],
  );
  if (metered.length === 0) return undefined;
  const share = (whose: "server" | "database" | "loader"): Share => ({
    perRequestUs: median(metered.map(({ usage, completed }) => (usage[whose] * 1e6) / completed)),
    cores: median(metered.map(({ usage }) => usage[whose] / usage.elapsed)),
  });
  return { server: share("server"), database: share("database"), loader: share("loader") };
}

export function ratePair(first: readonly Load[], last: readonly Load[]): RatePair {
  const ratios = first.map(
    (load, round) => (last[round]?.requestsPerSecond ?? 0) / perSecond(load),
  );
  return {
    firstPerSecond: median(first.map(perSecond)),
    lastPerSecond: median(last.map(perSecond)),
    lastToFirst: median(ratios),
    lowest: Math.min(...ratios),
    highest: Math.max(...ratios),
  };
}
