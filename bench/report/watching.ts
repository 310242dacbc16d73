// The section on metrics and traces, and whether what was asked for is reached.

import { type Variant, variants } from "../load/variants.ts";
import type { Runtime, Spread, WatchingLine } from "../parts/watching.ts";
import { milliseconds, whole } from "./numbers.ts";
import { figuresOf, type Results } from "./results.ts";
import { oneLine, table } from "./tables.ts";
import { atMost, type Verdict, valid } from "./verdict.ts";

const maxShare = 0.01;

export const watchingVerdicts = (results: Results): readonly Verdict[] =>
  (["Bun", "Node"] as const).map((runtime) => {
    const line = lineOf(results, runtime);
    const share = line && valid(line) && shareOf(line);
    return atMost("Metrics", `to the processor time of a GET, ${runtime}`, maxShare, "×", share);
  });

const lineOf = (results: Results, runtime: Runtime): WatchingLine | undefined =>
  figuresOf(results, "watching")?.lines.find((line) => line.runtime === runtime);

/** Of the two measurements the larger one: the loop has everything at hand, and the apps differ by chance, too. */
const shareOf = ({ countNs, more, getUs }: WatchingLine): number =>
  Math.max(countNs, -more.unmeasured.medianNs) / 1e3 / getUs;

export function watchingSection(results: Results): readonly string[] {
  const lines = figuresOf(results, "watching")?.lines;
  if (lines === undefined) return [];
  const faults = lines.flatMap(({ runtime, faults }) =>
    faults.map((fault) => `- ${runtime}: invalid, ${oneLine(fault)}`),
  );
  return [
    "## Metrics and traces",
    "What is added to GET one. The first table is from apps in one process that differ in one thing and answer 20 GETs each in turn, without a socket and with the log: the median of what each takes more than the first one, round by round, and its quartiles. `the same again` shows what this can tell apart.",
    table(["ns", ...lines.map(({ runtime }) => runtime)], variantRows(lines)),
    "The second table has what counts a request, run in a loop; the processor time of a GET of a server over sockets; the share of metrics in it, by the larger of the two measurements; and the processor time with a collector that gets the trace of each request. The clock is read for the log, too, and does not count.",
    table(
      ["", ...lines.map(({ runtime }) => runtime)],
      [
        ["counting, ns", ...lines.map(({ countNs }) => countNs.toFixed(1))],
        ["GET one, CPU µs", ...lines.map(({ getUs }) => milliseconds(getUs))],
        ["metrics, share of it", ...lines.map((line) => `${(100 * shareOf(line)).toFixed(2)} %`)],
        ["GET one with its trace, CPU µs", ...lines.map(({ tracedUs }) => milliseconds(tracedUs))],
      ],
    ),
    ...(faults.length > 0 ? [faults.join("\n")] : []),
  ];
}

const variantRows = (lines: readonly WatchingLine[]): readonly (readonly string[])[] =>
  (Object.keys(variants) as readonly Variant[]).map((name) => [
    variants[name],
    ...lines.map(({ plainNs, more }) => (name === "plain" ? whole(plainNs) : spread(more[name]))),
  ]);

const spread = ({ medianNs, lowerNs, upperNs }: Spread): string =>
  `${signed(medianNs)} (${signed(lowerNs)} to ${signed(upperNs)})`;

const signed = (value: number): string => (value < 0 ? `−${whole(-value)}` : `+${whole(value)}`);
