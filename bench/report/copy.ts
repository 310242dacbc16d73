// The section on copies, and whether what was asked for is reached.

import { type CopyLine, type CopyWay, copyTitles } from "../parts/copy.ts";
import { milliseconds, whole } from "./numbers.ts";
import { figuresOf, type Results } from "./results.ts";
import { oneLine, table } from "./tables.ts";
import { atMost, type Verdict } from "./verdict.ts";

const maxMb = 200;

export const copyVerdicts = (results: Results): readonly Verdict[] =>
  (["there", "back"] as const).map((way) =>
    atMost("Peak of a copy", copyTitles[way], maxMb, " MB", costOf(results, way)?.peakMb),
  );

function costOf(results: Results, way: CopyWay) {
  const line = figuresOf(results, "copy")?.lines.find((one) => one.way === way);
  return line && "error" in line ? undefined : line;
}

export function copySection(results: Results): readonly string[] {
  const figures = figuresOf(results, "copy");
  if (figures === undefined) return [];
  const { resources, files, lines } = figures;
  return [
    "## Copy",
    `\`restante copy\` of ${whole(resources)} resources, ${whole(files)} of them with a file of 20 kB, to Postgres and back. Members have two indexed fields and a searchable one. The time is that of the whole command, which reads every row and file back and compares them. Nobody writes meanwhile.`,
    table(["", "seconds", "resources/s", "peak MB", "writes waited ms"], lines.map(rowOf)),
  ];
}

const rowOf = (line: CopyLine): readonly string[] =>
  "error" in line
    ? [copyTitles[line.way], `**failed:** ${oneLine(line.error)}`, "–", "–", "–"]
    : [
        copyTitles[line.way],
        ...[line.seconds, line.resourcesPerSecond, line.peakMb].map(whole),
        milliseconds(line.heldMs),
      ];
