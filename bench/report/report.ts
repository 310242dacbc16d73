// The results in words: a page of Markdown.

import { partNames, parts } from "../parts/parts.ts";
import { peerNames } from "../servers/install.ts";
import { serverTitles } from "../servers/peers.ts";
import { consoleSection } from "./console.ts";
import { copySection } from "./copy.ts";
import type { ScenarioFigures } from "./figures.ts";
import { fairnessSection, growthSection, memorySection, scanSection } from "./long-run-sections.ts";
import { fsyncWords, loadWords, machineList, method, stolenWords } from "./method.ts";
import { ratio, whole } from "./numbers.ts";
import { relationsSection } from "./relations.ts";
import { figuresOf, type PartName, type Results } from "./results.ts";
import { rulesSection } from "./rules.ts";
import { startSection } from "./start.ts";
import { comparisonTable, oneLine, table } from "./tables.ts";
import type { Verdict } from "./verdict.ts";
import { timesPeer, verdicts } from "./verdicts.ts";
import { watchingSection } from "./watching.ts";

export const report = (results: Results): string =>
  `${[
    "# Benchmark",
    "Written by `npm run bench` on one machine; no figure is edited by hand. Each part is from one run, named below.",
    runsTable(results),
    "![Requests per second of each server in each scenario](results.svg)",
    "## Asked for and reached",
    verdictTable(verdicts(results)),
    ...sections(results),
    "## The machine",
    machineList(results),
    "## How it is measured",
    method,
  ].join("\n\n")}\n`;

/** The same figures for a terminal, without the words around them. */
export const summary = (results: Results): string =>
  [
    ...sections(results),
    verdictTable(verdicts(results).filter(({ measured }) => measured !== undefined)),
    runsTable(results),
  ].join("\n\n");

const sectionsOf: Readonly<Record<PartName, (results: Results) => readonly string[]>> = {
  speed: speedSection,
  "one-core": oneCoreSection,
  postgres: postgresSection,
  start: startSection,
  bodies: bodiesSection,
  watching: watchingSection,
  growth: growthSection,
  memory: () => [],
  fairness: (results) => [...fairnessSection(results), ...memorySection(results)],
  scan: scanSection,
  relations: relationsSection,
  rules: rulesSection,
  copy: copySection,
  console: consoleSection,
};

const sections = (results: Results): readonly string[] =>
  partNames.flatMap((name) => {
    const result = results[name];
    if (result !== undefined && "error" in result)
      return [`## ${parts[name].title}`, `**This part failed:** ${oneLine(result.error)}`];
    return sectionsOf[name](results);
  });

const runsTable = (results: Results): string =>
  table(
    ["part", "Restante", "date", "seconds", "load average before", "taken by the host"],
    partNames.flatMap((name) => {
      const run = results[name];
      if (run === undefined) return [];
      const failed = "error" in run ? " (**failed**)" : "";
      const title = `${parts[name].title}${failed}`;
      const load = [loadWords(run.machine), stolenWords(run)];
      return [[title, run.version, run.date, whole(run.seconds), ...load]];
    }),
    3,
  );

const verdictTable = (all: readonly Verdict[]): string =>
  table(
    ["", "set-up", "asked for", "measured", "reached"],
    all.map(({ what, setUp, asked, measured, unit, reached }) => [
      what,
      setUp,
      asked,
      measured === undefined ? "not measured" : measure(measured, unit),
      measured === undefined ? "–" : reached ? "yes" : "**no**",
    ]),
    2,
  );

const measure = (value: number, unit: Verdict["unit"]): string =>
  unit === "×" ? `${ratio(value)} ×` : `${whole(value)}${unit}`;

function speedSection(results: Results): readonly string[] {
  const figures = figuresOf(results, "speed");
  if (figures === undefined) return [];
  const { memory, comparisons } = figures;
  return [
    "## Speed",
    "The embedded store, 100,000 people, every server free to use all cores beside the loader.",
    ...comparisons.map(comparisonTable),
    ...(memory === undefined
      ? []
      : [
          `After all of these Restante had ${whole(memory.residentMb)} MB of resident memory, ${whole(memory.peakMb)} MB at its peak.`,
        ]),
  ];
}

function oneCoreSection(results: Results): readonly string[] {
  const figures = figuresOf(results, "one-core");
  if (figures === undefined) return [];
  const { comparisons } = figures;
  return [
    "## One core, and other servers",
    "Every thread of a server on one core (`taskset`), the loader on the other, 10,000 people.",
    ...comparisons.map(comparisonTable),
    "Requests per second of Restante, to those of each:",
    timesTable(comparisons),
    "**PocketBase does not sync a commit to the disk** (`synchronous=NORMAL`): what it has acknowledged may be lost when the power fails. json-server does not either. Restante and @platformatic/db do.",
  ];
}

const timesTable = (comparisons: readonly ScenarioFigures[]): string =>
  table(
    ["", ...comparisons.map(({ title }) => title)],
    peerNames.map((peer) => [
      serverTitles[peer],
      ...comparisons.map(({ key }) => {
        const times = timesPeer(comparisons, key, peer);
        return times === undefined ? "–" : `${ratio(times)} ×`;
      }),
    ]),
  );

function postgresSection(results: Results): readonly string[] {
  const figures = figuresOf(results, "postgres");
  if (figures === undefined) return [];
  const { version, fsync, comparisons, memory } = figures;
  const cores = results.postgres?.machine.cores ?? 0;
  return [
    "## On Postgres",
    `The same requests to Restante with \`--store\` and to @platformatic/db, each with a database of its own on one Postgres ${version}, on the same machine and with default settings (4 KiB write and fdatasync where its data is: ${fsyncWords(fsync)}). 10,000 people.`,
    ...comparisons.map(comparisonTable),
    ...spentSection(comparisons, cores),
    ...(memory === undefined
      ? []
      : [`Restante had ${whole(memory.peakMb)} MB of resident memory at its peak.`]),
  ];
}

function spentSection(comparisons: readonly ScenarioFigures[], cores: number): readonly string[] {
  const head = ["server", "Postgres", "loader"];
  const rows = comparisons.flatMap(({ title, figures }) =>
    figures.flatMap((figure) => {
      if (figure.server === "bare" || !("spent" in figure) || !figure.spent) return [];
      const shares = [figure.spent.server, figure.spent.database, figure.spent.loader];
      return [
        [
          `${title}, ${serverTitles[figure.server]}`,
          ...shares.map(({ perRequestUs }) => whole(perRequestUs)),
          ...shares.map((share) => share.cores.toFixed(2)),
        ],
      ];
    }),
  );
  if (rows.length === 0) return [];
  return [
    "### Who used the processors",
    `Processor time for one request, and how many of the ${cores} cores were busy with it.`,
    table(["", ...head.map((who) => `${who}, µs`), ...head.map((who) => `${who}, cores`)], rows),
  ];
}

function bodiesSection(results: Results): readonly string[] {
  const figures = figuresOf(results, "bodies");
  if (figures === undefined) return [];
  const { many, faults, uploads } = figures;
  const rate =
    faults.length > 0 ? `invalid: ${oneLine(faults.join("; "))}` : `${ratio(many.lastToFirst)} ×`;
  return [
    "## Other ways in",
    "Many resources in one request, against one a request; both counted in resources.",
    table(
      ["", "one a POST", "NDJSON, 20,000 a POST", "NDJSON to one"],
      [["resources a second", whole(many.firstPerSecond), whole(many.lastPerSecond), rate]],
    ),
    "A form with one file, to a server that was just started and does nothing else; on Node as the package starts it, built.",
    table(
      ["", "bytes", "resident now, MB", "peak, MB"],
      uploads.map(({ runtime, bytes, memory }) => [
        runtime,
        whole(bytes),
        whole(memory?.residentMb ?? Number.NaN),
        whole(memory?.peakMb ?? Number.NaN),
      ]),
    ),
  ];
}
