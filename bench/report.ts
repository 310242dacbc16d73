// The results in words: a page of Markdown.

import { peerConnections } from "./deep.ts";
import { fsyncWords, loadWords, machineList, method } from "./method.ts";
import { root } from "./processes.ts";
import type {
  Comparison,
  ContestFigures,
  DepthFigures,
  Figure,
  Results,
  RuleFigure,
  Verdict,
} from "./results.ts";
import { scenarios } from "./scenarios.ts";
import { servers } from "./servers.ts";
import { milliseconds, ratio, whole } from "./words.ts";

export function report(results: Results): string {
  return `${[
    "# Benchmark",
    "Written by `npm run bench`, in one run on one machine; no figure is edited by hand.",
    "![Requests per second of each server in each scenario](results.svg)",
    "## Asked for and reached",
    verdictTable(results.verdicts),
    "## Requests per second",
    ...results.embedded.contests.map(contestTable),
    ...depthSection(results.embedded.depth, "## Pages at any depth", embeddedDepth),
    ...rulesSection(results),
    ...bodiesSection(results),
    ...postgresSection(results),
    "## Resident memory",
    "While loaded as above; Linux's VmRSS at the end and VmHWM.",
    memoryTable(results),
    "## The machine",
    machineList(results),
    "## How it is measured",
    method(results),
  ].join("\n\n")}\n`;
}

/** The same figures for a terminal, without the words around them. */
export const summary = (results: Results): string =>
  [
    `Load average before: ${loadWords(results.machine)}`,
    ...results.embedded.contests.map(contestTable),
    ...depthSection(results.embedded.depth, "## Pages at any depth", embeddedDepth),
    ...rulesSection(results),
    ...bodiesSection(results),
    ...postgresSection(results),
    memoryTable(results),
    verdictTable(results.verdicts),
  ].join("\n\n");

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = head.map((_, column) => (column === 0 ? "---" : "---:"));
  return [head, rule, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

const verdictTable = (verdicts: readonly Verdict[]): string =>
  table(
    ["", "asked for", "measured", "reached"],
    verdicts.map(({ what, asked, measured, unit, reached }) => [
      what,
      asked,
      measured === undefined ? "not measured" : measure(measured, unit),
      measured === undefined ? "–" : reached ? "yes" : "**no**",
    ]),
  );

const measure = (value: number, unit: Verdict["unit"]): string =>
  unit === "×" ? `${ratio(value)} ×` : `${whole(value)}${unit}`;

const contestTable = ({ scenario, figures }: ContestFigures): string => {
  const { title, about } = scenarios[scenario];
  const head = ["", "req/s", "lowest – highest", "of bare", "p50 ms", "p99 ms"];
  return `**${title}**: ${about}.\n\n${table(head, figures.map(figureRow))}${footnotes(figures)}`;
};

function figureRow(figure: Figure): readonly string[] {
  const name = servers[figure.server];
  if ("absence" in figure) return [name, "–", "–", "–", "–", "–"];
  const isInvalid = figure.faults.length > 0;
  return [
    name,
    isInvalid ? `invalid (${whole(figure.requestsPerSecond)})` : whole(figure.requestsPerSecond),
    `${whole(figure.lowest)} – ${whole(figure.highest)}`,
    isInvalid ? "invalid" : ratio(figure.ratioToBare),
    milliseconds(figure.p50Ms),
    milliseconds(figure.p99Ms),
  ];
}

/** Why a figure is missing or does not count. */
function footnotes(figures: readonly Figure[]): string {
  const notes = figures.flatMap((figure) => {
    const name = servers[figure.server];
    if ("absence" in figure) return [`- ${name}: ${oneLine(figure.absence)}`];
    return figure.faults.length > 0
      ? [`- ${name}: invalid, ${figure.faults.map(oneLine).join("; ")}`]
      : [];
  });
  return notes.length > 0 ? `\n\n${notes.join("\n")}` : "";
}

const depthSection = (
  depth: DepthFigures | undefined,
  heading: string,
  more: string,
): readonly string[] =>
  depth === undefined
    ? []
    : [
        heading,
        `Pages of 20 with the exact total, out of ${whole(depth.count)} resources. ${more}`,
        depthTable(depth),
      ];

const ruleTitles: Readonly<Record<RuleFigure["rule"], (figure: RuleFigure) => string>> = {
  validated: () => "POST of two fields, both judged by a schema",
  filtered: ({ count, matches }) =>
    `Page of 20 with an indexed filter that ${whole(matches)} fit, of ${whole(count)}`,
  searched: ({ count, matches }) =>
    `Page of 20 with a word that about ${whole(matches)} have, of ${whole(count)}`,
};

function rulesSection({ rules }: Results): readonly string[] {
  if (rules.length === 0) return [];
  const head = ["", "without, req/s", "with, req/s", "time of with to without", "lowest – highest"];
  const rows = rules.map((figure) => {
    const { rule, cost, faults } = figure;
    return [
      ruleTitles[rule](figure),
      whole(cost.firstPerSecond),
      whole(cost.lastPerSecond),
      faults.length > 0 ? `invalid: ${oneLine(faults.join("; "))}` : `${ratio(cost.lastToFirst)} ×`,
      `${ratio(cost.lowest)} – ${ratio(cost.highest)}`,
    ];
  });
  return [
    "## What rules cost",
    "Each against the same request without the rule. Lists have the exact total; pages, groups and words are taken at random.",
    table(head, rows),
  ];
}

function bodiesSection({ bodies }: Results): readonly string[] {
  if (bodies === undefined) return [];
  const { many, faults, uploads } = bodies;
  const rate =
    faults.length > 0
      ? `invalid: ${oneLine(faults.join("; "))}`
      : `${ratio(1 / many.lastToFirst)} ×`;
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

const fewConnections = `@platformatic/db has ${peerConnections} connections here: with more, one of its pages takes longer than a load lasts.`;

const embeddedDepth = `${fewConnections} json-server would hold all of it in memory and write all of it at each change, so it is left out.`;

function postgresSection({ postgres, machine }: Results): readonly string[] {
  if (postgres === undefined) return [];
  const { version, fsync, contests, depth } = postgres;
  return [
    "## On Postgres",
    `The same requests to Restante with \`--store\` and to @platformatic/db, each with a database of its own on one Postgres ${version}, on the same machine and with default settings (4 KiB write and fdatasync where its data is: ${fsyncWords(fsync)}).`,
    ...contests.map(contestTable),
    ...spentSection(contests, machine.cores),
    ...depthSection(depth, "### Pages at any depth, on Postgres", fewConnections),
  ];
}

function spentSection(contests: readonly ContestFigures[], cores: number): readonly string[] {
  const head = ["server", "Postgres", "loader"];
  const rows = contests.flatMap(({ scenario, figures }) =>
    figures.flatMap((figure) => {
      if (figure.server === "bare" || !("spent" in figure) || !figure.spent) return [];
      const shares = [figure.spent.server, figure.spent.database, figure.spent.loader];
      return [
        [
          `${scenarios[scenario].title}, ${servers[figure.server]}`,
          ...shares.map(({ perRequestUs }) => whole(perRequestUs)),
          ...shares.map((share) => share.cores.toFixed(2)),
        ],
      ];
    }),
  );
  if (rows.length === 0) return [];
  return [
    "### Who used the processors",
    `Processor time for one request, and how many of the ${cores} cores were busy with it. What is missing from ${cores} was idle, waiting for the disk, or taken by others on the machine.`,
    table(["", ...head.map((who) => `${who}, µs`), ...head.map((who) => `${who}, cores`)], rows),
  ];
}

function depthTable(depth: DepthFigures): string {
  const head = ["", "first, req/s", "last, req/s", "time of last to first", "lowest – highest"];
  const rows = depth.lines.flatMap((line) => {
    const name = `${servers[line.server]}, ${line.set}`;
    const isInvalid = line.faults.length > 0;
    const row = (label: string, { firstPerSecond, lastPerSecond, ...ratios }: Comparison) => [
      label,
      whole(firstPerSecond),
      whole(lastPerSecond),
      isInvalid ? "invalid" : `${ratio(ratios.lastToFirst)} ×`,
      `${ratio(ratios.lowest)} – ${ratio(ratios.highest)}`,
    ];
    return [
      row(`${name}: page 1 and page ${whole(line.lastPage)}`, line.same),
      row(`${name}: any page of the first and of the last tenth`, line.random),
    ];
  });
  const notes = [
    ...depth.absences.map((absence) => `- @platformatic/db: ${oneLine(absence)}`),
    ...depth.lines.flatMap(({ server, faults }) =>
      faults.map((fault) => `- ${servers[server]}: invalid, ${oneLine(fault)}`),
    ),
  ];
  return [table(head, rows), ...(notes.length > 0 ? [notes.join("\n")] : [])].join("\n\n");
}

function memoryTable({ embedded, postgres }: Results): string {
  const rows = [
    ["Restante, after every scenario above", embedded.memory],
    [`Restante, reading pages of ${whole(embedded.depth?.count ?? 0)}`, embedded.depth?.memory],
    ["Restante on Postgres, after every scenario on it", postgres?.memory],
    [
      `Restante on Postgres, reading pages of ${whole(postgres?.depth?.count ?? 0)}`,
      postgres?.depth?.memory,
    ],
  ] as const;
  return table(
    ["", "now, MB", "peak, MB"],
    rows.flatMap(([name, found]) =>
      found === undefined ? [] : [[name, whole(found.residentMb), whole(found.peakMb)]],
    ),
  );
}

/** Reasons come from programs; where on this machine they happened is nobody's business. */
const oneLine = (text: string): string =>
  text
    .replaceAll(`${root}/`, "")
    .replaceAll(/https?:\/\/[^\s/]+/g, "…")
    .replaceAll(/\s+/g, " ")
    .replaceAll("|", "/")
    .slice(0, 300);
