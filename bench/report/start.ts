// The section on the start.

import { milliseconds, whole } from "./numbers.ts";
import { figuresOf, type Results } from "./results.ts";
import { oneLine, table } from "./tables.ts";

export function startSection(results: Results): readonly string[] {
  const figures = figuresOf(results, "start");
  if (figures === undefined) return [];
  const { rounds, lines, absence } = figures;
  return [
    "## Start",
    `From the start of the program, as \`npm start\` runs it, to the first answer of its health check, with an empty folder; and its resident memory three seconds later. Medians of ${rounds} starts in turns.`,
    table(
      ["", "first answer, ms", "processor time, ms", "memory when idle, MB"],
      lines.map(({ server, seconds, processorSeconds, idleMb }) => [
        server,
        milliseconds(seconds * 1_000),
        whole(processorSeconds * 1_000),
        whole(idleMb),
      ]),
    ),
    ...(absence === undefined ? [] : [`- PocketBase is missing: ${oneLine(absence)}`]),
  ];
}
