// The results in words: a page of Markdown.

import { peerConnections } from "./deep.ts";
import { defaultConnections } from "./load.ts";
import type { Fsync, Machine } from "./machine.ts";
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

function machineList({ machine }: Results): string {
  const lines = [
    ["processor", `${machine.processor}, ${machine.cores} cores`],
    ["memory", `${whole(machine.memoryGb)} GB`],
    ["kernel", machine.kernel],
    ["4 KiB write and fdatasync", fsyncWords(machine.fsync)],
    ["load average before", loadWords(machine)],
    ["date", machine.date],
    ...Object.entries(machine.versions),
  ];
  return lines.map(([name, value]) => `- ${name}: ${value}`).join("\n");
}

const loadWords = ({ loadAverage }: Machine): string =>
  `${loadAverage.toFixed(2)}${loadAverage > 0.5 ? ", **so the machine had other work to do**" : ""}`;

const fsyncWords = ({ medianMs, p99Ms }: Fsync): string =>
  `median ${milliseconds(medianMs)} ms, p99 ${milliseconds(p99Ms)} ms`;

const slowLoader =
  "- **autocannon is slower than the fast servers here**, so their figures are its own and the ratios come out too small or too even. Install wrk for figures that count.";

const method = ({ pace, machine }: Results): string =>
  [
    ...(machine.versions.loader?.startsWith("autocannon") ? [slowLoader] : []),
    `- ${defaultConnections} keep-alive connections from one loader thread on the same machine. Each figure is the median of ${pace.rounds} rounds of ${pace.seconds} s; in a round every server is loaded in turn, the bare one first and last. Ratios to it are taken within the round.`,
    "- The bare server is `Bun.serve` with a handler that returns a constant: it reads neither URL, header nor body. It gets Restante's requests and sends bodies of the same size.",
    "- Restante is one process with default settings: every request carries a bearer token that is checked, every request is logged (to /dev/null), a 201 is sent after the disk has confirmed the write. The line with 2 processes is `--workers 2`, and a first process that writes for both.",
    "- The peers check no token and write no log. json-server keeps all in memory and rewrites its file without waiting for the disk. @platformatic/db has its SQLite as it comes: a rollback journal with full durability. On Postgres it has the same server and the same durability as Restante, and a table of the same two columns. Its answers carry no ETag and no times.",
    "- All servers hold the same 10,000 resources; POSTs go to a second collection, which is empty at first. After each load of POSTs the number kept is compared with the number acknowledged.",
    "- One error status, broken connection or timeout, or a wrong answer before or after the load, makes a figure invalid, and the table says so.",
  ].join("\n");

const whole = (value: number): string => Math.round(value).toLocaleString("en");
const ratio = (value: number): string => value.toFixed(value >= 10 ? 1 : value >= 0.1 ? 2 : 3);
const milliseconds = (value: number): string => (value >= 10 ? value.toFixed(0) : value.toFixed(2));

/** Reasons come from programs; where on this machine they happened is nobody's business. */
const oneLine = (text: string): string =>
  text
    .replaceAll(`${root}/`, "")
    .replaceAll(/https?:\/\/[^\s/]+/g, "…")
    .replaceAll(/\s+/g, " ")
    .replaceAll("|", "/")
    .slice(0, 300);
