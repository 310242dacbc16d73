// Interleaved rounds: everything in turn, again and again, because machines are noisy.

import { bar } from "../progress.ts";
import type { Load } from "./load.ts";

export interface Pace {
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUpSeconds: number;
}

/** Loads the same thing again, for so many seconds. */
export type Run = (seconds: number) => Promise<Load>;

/** For each run its loads, one for each round, after a warm-up that does not count. */
export async function interleave(
  label: string,
  runs: readonly Run[],
  pace: Pace,
): Promise<readonly (readonly Load[])[]> {
  const show = bar(label, runs.length * pace.rounds);
  const columns: Load[][] = runs.map(() => []);
  let done = 0;
  for (const run of new Set(runs)) await run(pace.warmUpSeconds);
  for (let round = 0; round < pace.rounds; round++)
    for (const [index, run] of runs.entries()) {
      columns[index]?.push(await run(pace.seconds));
      show(++done);
    }
  return columns;
}
