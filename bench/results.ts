// From loads to figures: medians, spreads, ratios, and whether what was asked for is reached.

import type { Bodies, Upload } from "./bodies.ts";
import type { Depth } from "./deep.ts";
import type { Load } from "./load.ts";
import type { Fsync, Machine } from "./machine.ts";
import type { Contest, Pace } from "./measure.ts";
import type { Memory } from "./processes.ts";
import type { RuleLine } from "./rules.ts";
import type { Scenario } from "./scenarios.ts";
import type { ServerName } from "./servers.ts";

export interface Results {
  readonly machine: Machine;
  readonly pace: Pace;
  readonly embedded: Suite;
  readonly rules: readonly RuleFigure[];
  readonly bodies: BodyFigures | undefined;
  readonly postgres: PostgresSuite | undefined;
  readonly verdicts: readonly Verdict[];
}

/** Everything that is measured on one engine. */
export interface Suite {
  readonly contests: readonly ContestFigures[];
  readonly depth: DepthFigures | undefined;
  /** Of the one server process that took every scenario. */
  readonly memory: Memory | undefined;
}

export interface PostgresSuite extends Suite {
  readonly version: string;
  readonly fsync: Fsync;
}

export interface ContestFigures {
  readonly scenario: Scenario;
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
  readonly spent: Spent | undefined;
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

export interface DepthFigures {
  readonly count: number;
  readonly lines: readonly DepthFigure[];
  readonly absences: readonly string[];
  readonly memory: Memory | undefined;
}

export interface DepthFigure {
  readonly server: ServerName;
  readonly set: string;
  readonly lastPage: number;
  /** The same page again and again. */
  readonly same: Comparison;
  /** Pages at random of the first and of the last tenth. */
  readonly random: Comparison;
  readonly faults: readonly string[];
}

export interface BodyFigures {
  /** Resources each second: one a request first, many in one last. */
  readonly many: Comparison;
  readonly faults: readonly string[];
  readonly uploads: readonly Upload[];
}

export interface RuleFigure {
  readonly rule: RuleLine["rule"];
  /** How many resources are in the collection; 0 for one that grows. */
  readonly count: number;
  /** How many of them the rule leaves. */
  readonly matches: number;
  /** Without the rule first, with it last. */
  readonly cost: Comparison;
  readonly faults: readonly string[];
}

export interface Comparison {
  readonly firstPerSecond: number;
  readonly lastPerSecond: number;
  /** Time of the last to the time of the first, round by round. */
  readonly lastToFirst: number;
  readonly lowest: number;
  readonly highest: number;
}

export interface Verdict {
  readonly what: string;
  readonly asked: string;
  /** Undefined when it was not measured, or when faults make the figure invalid. */
  readonly measured: number | undefined;
  readonly unit: "×" | " MB";
  readonly reached: boolean;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2;
}

const perSecond = (load: Load): number => load.requestsPerSecond;
const faultsOf = (loads: readonly Load[]): readonly string[] =>
  loads.map((load) => load.fault).filter((fault) => fault !== undefined);

export function contestFigures(contest: Contest): ContestFigures {
  const { scenario, bareBefore, bareAfter, loads, absent } = contest;
  const limits = bareBefore.map((load, round) =>
    median([perSecond(load), ...bareAfter.slice(round, round + 1).map(perSecond)]),
  );
  const bare = measured("bare", [...bareBefore, ...bareAfter], [...limits, ...limits]);
  const others = Object.entries(loads).map(([server, series]) =>
    measured(server as ServerName, series, limits),
  );
  const absences = absent.map(({ name, reason }) => ({ server: name, absence: reason }));
  return { scenario, figures: [bare, ...others, ...absences] };
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
    faults: faultsOf(loads),
    spent: spentOn(loads),
  };
}

function spentOn(loads: readonly Load[]): Spent | undefined {
  const metered = loads.flatMap(({ usage, completed }) =>
    usage && Number.isFinite(usage.server) ? [{ usage, completed }] : [],
  );
  if (metered.length === 0) return undefined;
  const share = (whose: "server" | "database" | "loader"): Share => ({
    perRequestUs: median(metered.map(({ usage, completed }) => (usage[whose] * 1e6) / completed)),
    cores: median(metered.map(({ usage }) => usage[whose] / usage.elapsed)),
  });
  return { server: share("server"), database: share("database"), loader: share("loader") };
}

export function depthFigures({ count, lines, absent, memory }: Depth): DepthFigures {
  return {
    count,
    memory,
    absences: absent.map(({ reason }) => reason),
    lines: lines.map(({ server, set, lastPage, first, last, early, late }) => ({
      server,
      set,
      lastPage,
      same: compare(first, last),
      random: compare(early, late),
      faults: faultsOf([...first, ...last, ...early, ...late]),
    })),
  };
}

export const bodyFigures = ({ single, many, uploads }: Bodies): BodyFigures => ({
  many: compare(single, many),
  faults: faultsOf([...single, ...many]),
  uploads,
});

export const ruleFigures = (lines: readonly RuleLine[]): readonly RuleFigure[] =>
  lines.map(({ rule, count, matches, without, with: ruled }) => ({
    rule,
    count,
    matches,
    cost: compare(without, ruled),
    faults: faultsOf([...without, ...ruled]),
  }));

function compare(first: readonly Load[], last: readonly Load[]): Comparison {
  const ratios = first.map(
    (load, round) => perSecond(load) / (last[round]?.requestsPerSecond ?? 0),
  );
  return {
    firstPerSecond: median(first.map(perSecond)),
    lastPerSecond: median(last.map(perSecond)),
    lastToFirst: median(ratios),
    lowest: Math.min(...ratios),
    highest: Math.max(...ratios),
  };
}
