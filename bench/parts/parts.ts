// The parts of the benchmark, in the order in which they run.

import type { PartFigures, PartName } from "../report/results.ts";
import { measureBodies } from "./bodies.ts";
import { measureConsole } from "./console.ts";
import { measureCopy } from "./copy.ts";
import { measureFairness } from "./fairness.ts";
import { measureGrowth } from "./growth.ts";
import { measureMemory } from "./memory.ts";
import { measureOneCore } from "./one-core.ts";
import { measurePostgres } from "./postgres.ts";
import { measureRelations } from "./relations.ts";
import { measureRules } from "./rules.ts";
import { measureScan } from "./scan.ts";
import type { Setting } from "./setting.ts";
import { measureSpeed } from "./speed.ts";
import { measureStart } from "./start.ts";
import { measureWatching } from "./watching.ts";

interface Part<Figures> {
  readonly title: string;
  /** How long it takes on a small machine, with the data that it is the first to need. */
  readonly minutes: number;
  measure(setting: Setting): Promise<Figures>;
}

/** Fairness comes last, because it ends with a build that may go on. */
export const parts: { readonly [Name in PartName]: Part<PartFigures[Name]> } = {
  speed: { title: "Speed", minutes: 4, measure: measureSpeed },
  "one-core": { title: "One core, and other servers", minutes: 3, measure: measureOneCore },
  postgres: { title: "On Postgres", minutes: 2, measure: measurePostgres },
  start: { title: "Start", minutes: 2, measure: measureStart },
  bodies: { title: "Other ways in", minutes: 1, measure: measureBodies },
  watching: { title: "Metrics and traces", minutes: 2, measure: measureWatching },
  growth: { title: "Growth", minutes: 7, measure: measureGrowth },
  memory: { title: "Memory", minutes: 3, measure: measureMemory },
  scan: { title: "Scans", minutes: 2, measure: measureScan },
  relations: { title: "Relations, sums and imports", minutes: 3, measure: measureRelations },
  rules: { title: "Rules", minutes: 7, measure: measureRules },
  copy: { title: "Copy", minutes: 8, measure: measureCopy },
  console: { title: "The console", minutes: 3, measure: measureConsole },
  fairness: { title: "Fairness", minutes: 13, measure: measureFairness },
};

export const partNames = Object.keys(parts) as readonly PartName[];
