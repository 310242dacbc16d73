// What results.json holds: for each part its figures, or why there are none, and the run they are from.

import type { BodiesFigures } from "../parts/bodies.ts";
import type { ConsoleFigures } from "../parts/console.ts";
import type { CopyFigures } from "../parts/copy.ts";
import type { FairnessFigures } from "../parts/fairness.ts";
import type { GrowthFigures } from "../parts/growth.ts";
import type { MemoryFigures } from "../parts/memory.ts";
import type { OneCoreFigures } from "../parts/one-core.ts";
import type { PostgresFigures } from "../parts/postgres.ts";
import type { RelationsFigures } from "../parts/relations.ts";
import type { RulesFigures } from "../parts/rules.ts";
import type { ScanFigures } from "../parts/scan.ts";
import type { SpeedFigures } from "../parts/speed.ts";
import type { StartFigures } from "../parts/start.ts";
import type { WatchingFigures } from "../parts/watching.ts";
import type { Machine } from "../servers/machine.ts";

export interface PartFigures {
  readonly speed: SpeedFigures;
  readonly "one-core": OneCoreFigures;
  readonly postgres: PostgresFigures;
  readonly start: StartFigures;
  readonly bodies: BodiesFigures;
  readonly watching: WatchingFigures;
  readonly growth: GrowthFigures;
  readonly scan: ScanFigures;
  readonly relations: RelationsFigures;
  readonly rules: RulesFigures;
  readonly copy: CopyFigures;
  readonly console: ConsoleFigures;
  readonly fairness: FairnessFigures;
  readonly memory: MemoryFigures;
}
export type PartName = keyof PartFigures;

export interface PartRun {
  /** As in `2026-11-16`. */
  readonly date: string;
  /** The version and commit that was measured. */
  readonly version: string;
  readonly seconds: number;
  /** The share of the processors' time that the host gave to others; older runs do not have it. */
  readonly stolen?: number;
  readonly machine: Machine;
}

export type PartResult<Figures> = PartRun &
  ({ readonly figures: Figures } | { readonly error: string });

export type Results = { readonly [Name in PartName]?: PartResult<PartFigures[Name]> };

/** The parts that were run replace those of earlier runs. */
export const merge = (earlier: Results, later: Results): Results => ({ ...earlier, ...later });

/** The figures of a part; none when it failed or was never run. */
export function figuresOf<Name extends PartName>(
  results: Results,
  name: Name,
): PartFigures[Name] | undefined {
  const result = results[name];
  return result !== undefined && "figures" in result ? result.figures : undefined;
}

/** Reads results.json. What an older benchmark has written counts as nothing. JSON writes NaN as null. */
export function readResults(text: string): Results {
  const revive = (_: string, value: unknown) => (value === null ? Number.NaN : value);
  const content = JSON.parse(text, revive) as { readonly parts?: Results };
  return content.parts ?? {};
}

export const writeResults = (parts: Results): string => `${JSON.stringify({ parts }, null, 2)}\n`;
