// The results as a picture: bars in SVG that read well on a light and on a dark page.

import { type ServerName, serverTitles } from "../servers/peers.ts";
import type { Figure, Measured, ScenarioFigures } from "./figures.ts";
import { whole } from "./numbers.ts";
import { figuresOf, type Results } from "./results.ts";
import { asText, colours, write } from "./svg.ts";

const width = 860;
const barLeft = 250;
const barMax = 366;
const barHeight = 18;
const barStep = 25;
const panelGap = 26;

/** What Restante is asked to reach: a share of one server's rate, or a multiple of it. */
interface Goals {
  readonly of: ServerName;
  readonly factors: Readonly<Record<string, number>>;
}
const speedGoals: Goals = {
  of: "bare",
  factors: {
    get: 0.7,
    list: 0.65,
    page: 0.3,
    post: 0.4,
    conditional: 0.6,
    tokens: 0.5,
    beside: 0.6,
  },
};
const oneCoreGoals: Goals = { of: "bare", factors: { random: 0.55, post: 0.3 } };
const postgresGoals: Goals = { of: "platformatic", factors: { list: 8, post: 3.5 } };

interface Bar {
  readonly server: ServerName;
  readonly label: string;
  readonly value: number;
  readonly note: string;
  readonly goal?: number;
}

interface Panel {
  readonly title: string;
  readonly about: string;
  readonly bars: readonly Bar[];
}

export function plot(results: Results): string {
  const panels = [
    ...panelsOf(figuresOf(results, "speed")?.comparisons, "", speedGoals),
    ...panelsOf(figuresOf(results, "one-core")?.comparisons, ", one core", oneCoreGoals),
    ...panelsOf(figuresOf(results, "postgres")?.comparisons, ", on Postgres", postgresGoals),
  ];
  const drawn: string[] = [];
  let top = 74;
  for (const panel of panels) {
    drawn.push(drawPanel(panel, top));
    top += 22 + panel.bars.length * barStep + panelGap;
  }
  const run = Object.values(results)[0];
  const machine = run ? `; ${run.machine.processor}, ${run.machine.cores} cores, ${run.date}` : "";
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${top}" role="img" aria-label="Requests per second of Restante, a bare server and its peers">
<style>${colours}
</style>
<rect class="paper" width="${width}" height="${top}" rx="8"/>
${write(24, 34, "Requests per second", "title")}
${write(24, 55, `64 connections${machine}. The upright line: what Restante is asked to reach.`, "quiet")}
${drawn.join("\n")}
</svg>
`;
}

const panelsOf = (
  comparisons: readonly ScenarioFigures[] | undefined,
  where: string,
  goals: Goals,
): readonly Panel[] =>
  (comparisons ?? []).map(({ key, title, about, figures }) => ({
    title: `${title}${where}`,
    about,
    bars: figures.map((figure) => figureBar(figure, goalOf(figures, key, goals))),
  }));

function goalOf(figures: readonly Figure[], key: string, goals: Goals): number | undefined {
  const find = (name: ServerName) =>
    figures.find((one): one is Measured => one.server === name && "faults" in one);
  const [ours, other] = [find("restante"), find(goals.of)];
  const factor = goals.factors[key];
  if (ours === undefined || other === undefined || factor === undefined) return undefined;
  // The limit that the ratio was taken of, so that line and figure agree.
  const limit = ours.requestsPerSecond / ours.ratioToBare;
  return factor * (goals.of === "bare" ? limit : other.requestsPerSecond);
}

function figureBar(figure: Figure, goal: number | undefined): Bar {
  const { server } = figure;
  const label = serverTitles[server];
  if ("absence" in figure) return { server, label, value: 0, note: figure.absence.slice(0, 24) };
  const { requestsPerSecond: value, ratioToBare, faults } = figure;
  return {
    server,
    label,
    value,
    note: faults.length > 0 ? "invalid: it made mistakes" : rateNote(server, value, ratioToBare),
    ...(server === "restante" && goal !== undefined ? { goal } : {}),
  };
}

function rateNote(server: ServerName, rate: number, ratioToBare: number): string {
  const share = `${ratioToBare.toFixed(ratioToBare < 0.1 ? 3 : 2)} of bare`;
  return server === "bare" ? whole(rate) : `${whole(rate)}, ${share}`;
}

function drawPanel({ title, about, bars }: Panel, top: number): string {
  const largest = Math.max(...bars.map(({ value, goal }) => Math.max(value, goal ?? 0)));
  const head = `<text x="24" y="${top + 8}"><tspan class="head">${asText(title)}</tspan><tspan class="quiet" dx="8">${asText(about)}</tspan></text>`;
  const rows = bars.map((bar, index) => drawBar(bar, top + 20 + index * barStep, largest));
  return [head, ...rows].join("\n");
}

function drawBar({ server, label, value, note, goal }: Bar, top: number, largest: number): string {
  const length = (amount: number) => ((amount / largest) * barMax).toFixed(1);
  const baseline = top + barHeight - 5;
  const parts = [
    write(barLeft - 10, baseline, label, server === "restante" ? "ours" : "", "end"),
    `<rect class="track" x="${barLeft}" y="${top}" width="${barMax}" height="${barHeight}" rx="3"/>`,
    `<rect class="${server}" x="${barLeft}" y="${top}" width="${value > 0 ? Math.max(1.5, Number(length(value))) : 0}" height="${barHeight}" rx="3"/>`,
    write(barLeft + barMax + 12, baseline, note, server === "restante" ? "ours" : ""),
  ];
  if (goal !== undefined) {
    const x = barLeft + Number(length(goal));
    parts.push(
      `<line class="goal" x1="${x}" x2="${x}" y1="${top - 3}" y2="${top + barHeight + 3}"/>`,
    );
  }
  return parts.join("\n");
}
