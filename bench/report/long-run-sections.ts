// The sections on growth, fairness, memory and scans.

import { type Engine, engines, engineTitles } from "../data/stores.ts";
import type { FairnessLine } from "../parts/fairness.ts";
import { growthRequests, growthTitles } from "../parts/growth.ts";
import { askedNames, heavyTitles } from "../parts/heavy-work.ts";
import { filterTitles } from "../parts/scan.ts";
import { milliseconds, ratio, whole } from "./numbers.ts";
import { figuresOf, type Results } from "./results.ts";
import { oneLine, table } from "./tables.ts";

export function growthSection(results: Results): readonly string[] {
  const figures = figuresOf(results, "growth");
  if (figures === undefined) return [];
  const { sizes, lines, errors } = figures;
  const head = ["µs per request", ...sizes.map(whole), "last to first"];
  const rowsOf = (engine: Engine) =>
    growthRequests.flatMap((request) => {
      const line = lines.find((one) => one.engine === engine && one.request === request);
      if (line === undefined) return [];
      const sums = line.points.map(({ serverUs, databaseUs }) => serverUs + databaseUs);
      const cells = line.points.map(({ serverUs, databaseUs }) =>
        engine === "embedded" ? whole(serverUs) : `${whole(serverUs)} + ${whole(databaseUs)}`,
      );
      const times = (sums.at(-1) ?? Number.NaN) / (sums[0] ?? Number.NaN);
      const last = line.faults.length > 0 ? "invalid" : `${ratio(times)} ×`;
      return [[growthTitles[request], ...cells, last]];
    });
  const faults = lines.flatMap(({ engine, request, faults }) =>
    faults.map((fault) => `- ${engineTitles[engine]}, ${growthTitles[request]}: ${oneLine(fault)}`),
  );
  return [
    "## Growth",
    "Processor time of one request, with 64 connections, in collections of these sizes. Each resource has two indexed fields and a searchable one; a filter and a search match as many resources at every size. The POSTs come last and make the collections larger.",
    "![Processor time per request at each size](growth.svg)",
    "Embedded:",
    table(head, rowsOf("embedded")),
    "On Postgres, in the process and in the database:",
    table(head, rowsOf("postgres")),
    ...[...errors.map((error) => `- **failed:** ${oneLine(error)}`), ...faults],
  ];
}

export function fairnessSection(results: Results): readonly string[] {
  const figures = figuresOf(results, "fairness");
  if (figures === undefined) return [];
  const head = ["", "idle p50, ms", "idle p99", "p50", "p99", "p99 to idle", "longest", "done"];
  const rowsOf = (engine: Engine) =>
    figures.lines
      .filter((line) => line.engine === engine)
      .map((line) => {
        const title = heavyTitles[line.heavy];
        return "idle" in line ? fairnessRow(title, line) : [title, ...head.slice(1).map(() => "–")];
      });
  const notes = figures.lines.flatMap((line) => {
    const where = `- ${engineTitles[line.engine]}, ${heavyTitles[line.heavy]}`;
    if ("error" in line) return [`${where}: **failed:** ${oneLine(line.error)}`];
    return line.faults.map((fault) => `${where}: invalid, ${oneLine(fault)}`);
  });
  const rates = engines.map((engine) => {
    const line = figures.lines.find(
      (one): one is FairnessLine => one.engine === engine && "idle" in one,
    );
    return `${whole(line?.getsPerSecond ?? Number.NaN)} a second ${engineTitles[engine]}`;
  });
  return [
    "## Fairness",
    `How long a GET of one resource takes at ${figures.share * 100} % of its peak rate (${rates.join(", ")}), alone and while one client does the heavy work again and again. 1,000,000 members, or 1,000 resources of 1 MB; a server that was just started for each line. The median of three rounds, each idle first. An index is built once: GETs are measured three times beside it, one after another, and \`longest\` is that of all three. \`done\` is how often the work was completed meanwhile. A page of 1,000 × 1 MB is refused with 400, because it exceeds the limit of 32 MiB.`,
    ...engines.flatMap((engine) => [
      engine === "embedded" ? "Embedded:" : "On Postgres:",
      table(head, rowsOf(engine)),
    ]),
    ...(notes.length > 0 ? [notes.join("\n")] : []),
    "While an index was built, and while GET was measured without it, one client POSTed to the same collection, one request after another. The build was watched for up to 40 s.",
    table(
      ["", "watched, s", "built, %", "POSTs", "longest POST without it, ms", "longest POST, ms"],
      figures.builds.map(({ engine, seconds, percent, posts, longestMs, idleLongestMs }) => [
        engineTitles[engine],
        ...[seconds, percent, posts].map(whole),
        ...[idleLongestMs, longestMs].map(milliseconds),
      ]),
    ),
  ];
}

const fairnessRow = (title: string, { idle, loaded, done, faults }: FairnessLine) => [
  title,
  milliseconds(idle.p50Ms),
  milliseconds(idle.p99Ms),
  milliseconds(loaded.p50Ms),
  milliseconds(loaded.p99Ms),
  faults.length > 0 ? "invalid" : `${ratio(loaded.p99Ms / idle.p99Ms)} ×`,
  milliseconds(loaded.maxMs),
  whole(done),
];

export function memorySection(results: Results): readonly string[] {
  const fairness = figuresOf(results, "fairness")?.lines ?? [];
  const memory = figuresOf(results, "memory");
  if (fairness.length === 0 && memory === undefined) return [];
  const rows = askedNames.map((heavy) => [
    heavyTitles[heavy],
    ...engines.flatMap((engine) => {
      const one = fairness.find((line) => line.engine === engine && line.heavy === heavy);
      const ten = memory?.lines.find((line) => line.engine === engine && line.heavy === heavy);
      return [
        whole(one !== undefined && "peakMb" in one ? one.peakMb : Number.NaN),
        whole(ten?.peakMb ?? Number.NaN),
      ];
    }),
  ]);
  const notes = (memory?.lines ?? []).flatMap(({ engine, heavy, error }) =>
    error === undefined
      ? []
      : [`- ${engineTitles[engine]}, ${heavyTitles[heavy]}: **failed:** ${oneLine(error)}`],
  );
  const idleMb = memory?.lines.find((line) => line.idleMb !== undefined)?.idleMb;
  const idle = idleMb === undefined ? "" : ` Idle it has ${whole(idleMb)} MB.`;
  const columns = engines.flatMap((engine) => [
    `${engineTitles[engine]}, one client`,
    `${engineTitles[engine]}, ten that do not read`,
  ]);
  return [
    "## Memory",
    `Peak of the resident memory in MB (VmHWM of Linux) of a server that was just started for each figure, with the GETs and one client that does the work again and again, or with ten clients that ask once and read nothing.${idle}`,
    table(["MB", ...columns], rows),
    ...(notes.length > 0 ? [notes.join("\n")] : []),
  ];
}

export function scanSection(results: Results): readonly string[] {
  const figures = figuresOf(results, "scan");
  if (figures === undefined) return [];
  const found = figures.engines;
  const scans = found.flatMap((one) =>
    "scans" in one ? one.scans.map((scan) => ({ ...scan, engine: one.engine })) : [],
  );
  const rows = Object.entries(filterTitles).map(([filter, title]) => [
    title,
    ...engines.map((engine) => {
      const scan = scans.find((one) => one.engine === engine && one.filter === filter);
      return scan?.error === undefined ? whole(scan?.rowsPerSecond ?? Number.NaN) : "failed";
    }),
  ]);
  const notes = found.flatMap((one) => {
    const where = `- ${engineTitles[one.engine]}`;
    if ("error" in one) return [`${where}: **failed:** ${oneLine(one.error)}`];
    return one.scans.flatMap(({ filter, error }) =>
      error === undefined
        ? []
        : [`${where}, ${filterTitles[filter]}: **failed:** ${oneLine(error)}`],
    );
  });
  return [
    "## Scans",
    `Rows that a filter without an index looks at in a second, in one query, which one thread runs, over ${whole(figures.count)} members. The filters match nothing; the sum is over all.`,
    table(["rows a second", ...engines.map((engine) => engineTitles[engine])], rows),
    ...(notes.length > 0 ? [notes.join("\n")] : []),
  ];
}
