// Tables of Markdown, and the table that compares servers.

import { serverTitles } from "../servers/peers.ts";
import { root } from "../servers/processes.ts";
import type { Figure, ScenarioFigures } from "./figures.ts";
import { milliseconds, ratio, whole } from "./numbers.ts";

/** The first columns are words, the others numbers. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  wordColumns = 1,
): string {
  const rule = head.map((_, column) => (column < wordColumns ? "---" : "---:"));
  return [head, rule, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

export const comparisonTable = ({ title, about, figures }: ScenarioFigures): string => {
  const head = ["", "req/s", "lowest – highest", "of bare", "p50 ms", "p99 ms", "CPU µs"];
  return `**${title}**: ${about}.\n\n${table(head, figures.map(figureRow))}${footnotes(figures)}`;
};

function figureRow(figure: Figure): readonly string[] {
  const name = serverTitles[figure.server];
  if ("absence" in figure) return [name, ...Array(6).fill("–")];
  const isInvalid = figure.faults.length > 0;
  return [
    name,
    isInvalid ? `invalid (${whole(figure.requestsPerSecond)})` : whole(figure.requestsPerSecond),
    `${whole(figure.lowest)} – ${whole(figure.highest)}`,
    isInvalid ? "invalid" : ratio(figure.ratioToBare),
    milliseconds(figure.p50Ms),
    milliseconds(figure.p99Ms),
    whole(figure.spent?.server.perRequestUs ?? Number.NaN),
  ];
}

/** Why a figure is missing or does not count. */
function footnotes(figures: readonly Figure[]): string {
  const notes = figures.flatMap((figure) => {
    const name = serverTitles[figure.server];
    if ("absence" in figure) return [`- ${name}: ${oneLine(figure.absence)}`];
    return figure.faults.length > 0
      ? [`- ${name}: invalid, ${figure.faults.map(oneLine).join("; ")}`]
      : [];
  });
  return notes.length > 0 ? `\n\n${notes.join("\n")}` : "";
}

/** Reasons come from programs; where on this machine they happened is nobody's business. */
export const oneLine = (text: string): string =>
  text
    .replaceAll(`${root}/`, "")
    .replaceAll(/https?:\/\/[^\s/]+/g, "…")
    .replaceAll(/\s+/g, " ")
    .replaceAll("|", "/")
    .slice(0, 300);
