// The section on relations, sums and imports, and whether what was asked for is reached.

import { type Engine, engines, engineTitles } from "../data/stores.ts";
import type { EngineFigures, SumFigures } from "../parts/relations.ts";
import { milliseconds, ratio, whole } from "./numbers.ts";
import { figuresOf, type Results } from "./results.ts";
import { oneLine, table } from "./tables.ts";
import { atLeast, atMost, type Verdict, valid } from "./verdict.ts";

const measuredOf = (results: Results): readonly EngineFigures[] =>
  (figuresOf(results, "relations")?.lines ?? []).filter((line) => "expand" in line);

const cpuRatio = ({ expand: { plain, expanded } }: EngineFigures) => expanded.cpuUs / plain.cpuUs;
const timeRatio = ({ expand: { plain, expanded } }: EngineFigures) => expanded.p50Ms / plain.p50Ms;

export const relationsVerdicts = (results: Results): readonly Verdict[] =>
  engines.flatMap((engine): readonly Verdict[] => {
    const found = measuredOf(results).find((line) => line.engine === engine);
    const line = found && valid(found);
    const title = engineTitles[engine];
    const expand = "20 orders with customer and 5 products each";
    return [
      atMost(expand, `CPU, to the plain page, ${title}`, 4, "×", line && cpuRatio(line)),
      atMost(expand, `p50, to the plain page, ${title}`, 4, "×", line && timeRatio(line)),
      atMost("Sum over 1,000,000", title, 2_000, " ms", line?.sum?.ms ?? scanMs(results, engine)),
      atLeast("CSV import", `to NDJSON, ${title}`, 0.5, "×", line?.csv.lastToFirst),
    ];
  });

function scanMs(results: Results, engine: Engine): number | undefined {
  const figures = figuresOf(results, "scan");
  const found = figures?.engines.find((one) => one.engine === engine);
  const scans = found !== undefined && "scans" in found ? found.scans : [];
  const sum = scans.find(({ filter }) => filter === "sum");
  return figures && sum && (figures.count * 1000) / sum.rowsPerSecond;
}

export function relationsSection(results: Results): readonly string[] {
  const figures = figuresOf(results, "relations");
  if (figures === undefined) return [];
  const lines = measuredOf(results);
  const rows = (cells: (line: EngineFigures) => readonly string[]) =>
    lines.map((line) => [engineTitles[line.engine], ...cells(line)]);
  const notes = figures.lines.flatMap((line) => {
    const faults = "error" in line ? [line.error] : line.faults;
    return faults.map((fault) => `- ${engineTitles[line.engine]}: **failed:** ${oneLine(fault)}`);
  });
  return [
    "## Relations, sums and imports",
    "A page of 20 of 100,000 orders, at random, with 64 connections, while another client creates 20 orders a second, so that no page is kept: plain, and with `expand=customer,lines[].product`, which adds the customer and the products of the five lines of each. The processor time on Postgres is that of the process and of the database.",
    table(
      [
        "",
        "plain, CPU µs",
        "expanded, CPU µs",
        "ratio",
        "plain, p50 ms",
        "expanded, p50 ms",
        "ratio",
      ],
      rows((line) => {
        const { plain, expanded } = line.expand;
        return [
          ...[plain.cpuUs, expanded.cpuUs].map(whole),
          `${ratio(cpuRatio(line))} ×`,
          ...[plain.p50Ms, expanded.p50Ms].map(milliseconds),
          `${ratio(timeRatio(line))} ×`,
        ];
      }),
    ),
    "`aggregate=count,sum(age)` over all members, without an index: the time of one alone, and how long a GET of one resource takes at 20 % of its peak rate while one client asks for such sums again and again.",
    table(
      [
        "",
        "members",
        "sum, ms",
        "CPU ms",
        "rows a second",
        "idle p99, ms",
        "p99 of GET",
        "p99 to idle",
      ],
      lines.flatMap(({ engine, sum }) => (sum === undefined ? [] : [sumRow(engine, sum)])),
    ),
    "20,000 records of five fields in each request, as NDJSON and as CSV, validated by the same schema; counted in resources.",
    table(
      ["resources a second", "NDJSON", "CSV", "CSV to NDJSON"],
      rows(({ csv }) => [
        ...[csv.firstPerSecond, csv.lastPerSecond].map(whole),
        `${ratio(csv.lastToFirst)} ×`,
      ]),
    ),
    ...(notes.length > 0 ? [notes.join("\n")] : []),
  ];
}

const sumRow = (engine: Engine, { count, ms, cpuMs, beside }: SumFigures): readonly string[] => [
  engineTitles[engine],
  ...[count, ms, cpuMs, (count * 1000) / ms].map(whole),
  ...[beside.idle.p99Ms, beside.loaded.p99Ms].map(milliseconds),
  `${ratio(beside.loaded.p99Ms / beside.idle.p99Ms)} ×`,
];
