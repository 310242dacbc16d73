// Whether what was asked for is reached: long queries, their memory, scans and builds, on both engines.

import { type Engine, engines, engineTitles } from "../data/stores.ts";
import type { FairnessLine } from "../parts/fairness.ts";
import { askedNames, type Heavy, heavyTitles } from "../parts/heavy-work.ts";
import { figuresOf, type Results } from "./results.ts";
import { atLeast, atMost, type Verdict, valid } from "./verdict.ts";

export const longRunVerdicts = (results: Results): readonly Verdict[] => [
  ...engines.flatMap((engine) => fairnessVerdicts(results, engine)),
  ...engines.map((engine) => memoryVerdict(results, engine)),
  ...engines.flatMap((engine) => scanVerdicts(results, engine)),
];

const fairnessOf = (results: Results, engine: Engine, heavy: Heavy): FairnessLine | undefined => {
  const lines = figuresOf(results, "fairness")?.lines ?? [];
  const line = lines.find((one) => one.engine === engine && one.heavy === heavy);
  return line !== undefined && "idle" in line ? line : undefined;
};

function fairnessVerdicts(results: Results, engine: Engine): readonly Verdict[] {
  return askedNames.map((heavy) => {
    const line = fairnessOf(results, engine, heavy);
    const times = line && valid(line) && line.loaded.p99Ms / line.idle.p99Ms;
    const setUp = `p99 of GET beside it, to idle, ${engineTitles[engine]}`;
    return atMost(heavyTitles[heavy], setUp, 3, "×", times);
  });
}

/** The worst of all kinds of work, with one client and with ten that do not read. */
function memoryVerdict(results: Results, engine: Engine): Verdict {
  const one = askedNames.map((heavy) => fairnessOf(results, engine, heavy)?.peakMb);
  const ten = (figuresOf(results, "memory")?.lines ?? [])
    .filter((line) => line.engine === engine)
    .map((line) => line.peakMb);
  const isWhole = ten.length > 0 && [...one, ...ten].every((peak) => peak !== undefined);
  const peak = isWhole ? Math.max(...[...one, ...ten].map(Number)) : undefined;
  const setUp = `peak memory of the worst, ${engineTitles[engine]}`;
  return atMost("Each of these, also with ten clients that do not read", setUp, 300, " MB", peak);
}

function scanVerdicts(results: Results, engine: Engine): readonly Verdict[] {
  const found = figuresOf(results, "scan")?.engines.find((one) => one.engine === engine);
  const scans = found !== undefined && "scans" in found ? found.scans : [];
  // On Postgres only what SQL decides is asked for.
  const asked = scans.filter(
    ({ filter }) => filter !== "sum" && (engine === "embedded" || filter !== "folded"),
  );
  const slowest =
    asked.length > 0 ? Math.min(...asked.map(({ rowsPerSecond }) => rowsPerSecond)) : undefined;
  const build = figuresOf(results, "fairness")?.builds.find((one) => one.engine === engine);
  const title = engineTitles[engine];
  return [
    atLeast("Filter without an index, one thread", title, 250_000, " rows/s", slowest),
    atMost("Longest wait of a POST while an index is built", title, 100, " ms", build?.longestMs),
  ];
}
