// The results as a picture: bars in SVG that read well on a light and on a dark page.

import type { DepthFigures, Figure, Measured, Results, Suite } from "./results.ts";
import { type Scenario, scenarios } from "./scenarios.ts";
import { type ServerName, servers } from "./servers.ts";

const width = 860;
const barLeft = 250;
const barMax = 366;
const barHeight = 18;
const barStep = 25;
const panelGap = 26;

const style = `
  text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328; }
  .paper { fill: #ffffff; } .title { font-size: 19px; font-weight: 650; }
  .head { font-weight: 650; font-size: 14px; } .quiet { fill: #59636e; }
  .ours { font-weight: 650; }
  .track { fill: #eef1f4; } .bare { fill: #8c959f; } .restante, .workers { fill: #0969da; }
  .json-server { fill: #bc4c00; } .platformatic { fill: #bc4c00; }
  .goal { stroke: #1f2328; stroke-width: 2.5; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .paper { fill: #0d1117; } .quiet { fill: #9198a1; }
    .track { fill: #1b222b; } .bare { fill: #6e7681; } .restante, .workers { fill: #4493f8; }
    .json-server { fill: #db6d28; } .platformatic { fill: #db6d28; }
    .goal { stroke: #f0f6fc; }
  }`;

/** What Restante is asked to reach: a share of one server's rate, or a multiple of it. */
interface Goals {
  readonly of: ServerName;
  readonly factors: Readonly<Partial<Record<Scenario, number>>>;
}
const embeddedGoals: Goals = { of: "bare", factors: { get: 0.5, post: 0.25, list: 0.2 } };
const postgresGoals: Goals = { of: "platformatic", factors: { get: 5, post: 5 } };

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
    ...suitePanels(results.embedded, "", embeddedGoals),
    ...(results.postgres ? suitePanels(results.postgres, " on Postgres", postgresGoals) : []),
  ];
  const drawn: string[] = [];
  let top = 74;
  for (const panel of panels) {
    drawn.push(drawPanel(panel, top));
    top += 22 + panel.bars.length * barStep + panelGap;
  }
  const { processor, cores, date } = results.machine;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${top}" role="img" aria-label="Requests per second of Restante, a bare server and its peers">
<style>${style}
</style>
<rect class="paper" width="${width}" height="${top}" rx="8"/>
${write(24, 34, "Requests per second", "title")}
${write(24, 55, `64 connections; ${processor}, ${cores} cores, ${date}. The upright line: what Restante is asked to reach.`, "quiet")}
${drawn.join("\n")}
</svg>
`;
}

const suitePanels = (suite: Suite, where: string, goals: Goals): readonly Panel[] => [
  ...suite.contests.map(({ scenario, figures }) => ({
    title: `${scenarios[scenario].title}${where}`,
    about: scenarios[scenario].about,
    bars: figures.map((figure) => figureBar(figure, goalOf(figures, scenario, goals))),
  })),
  ...(suite.depth === undefined ? [] : [depthPanel(suite.depth, where)]),
];

function goalOf(figures: readonly Figure[], scenario: Scenario, goals: Goals): number | undefined {
  const find = (name: ServerName) =>
    figures.find((one): one is Measured => one.server === name && "faults" in one);
  const [ours, other] = [find("restante"), find(goals.of)];
  const factor = goals.factors[scenario];
  if (ours === undefined || other === undefined || factor === undefined) return undefined;
  // The limit that the ratio was taken of, so that line and figure agree.
  const limit = ours.requestsPerSecond / ours.ratioToBare;
  return factor * (goals.of === "bare" ? limit : other.requestsPerSecond);
}

function figureBar(figure: Figure, goal: number | undefined): Bar {
  const { server } = figure;
  const label = servers[server];
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

function depthPanel({ count, lines }: DepthFigures, where: string): Panel {
  return {
    title: `Page 1 and the last page of ${whole(count)}${where}`,
    about: "pages of 20 with the exact total",
    bars: lines.flatMap(({ server, set, lastPage, same }) => {
      const name = set === "as filled" ? servers[server] : set;
      const bar = (page: number, value: number): Bar => {
        return { server, label: `${name}, page ${whole(page)}`, value, note: whole(value) };
      };
      return [bar(1, same.firstPerSecond), bar(lastPage, same.lastPerSecond)];
    }),
  };
}

function drawPanel({ title, about, bars }: Panel, top: number): string {
  const largest = Math.max(...bars.map(({ value }) => value));
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

const write = (x: number, y: number, text: string, className: string, anchor = "start"): string =>
  `<text x="${x}" y="${y}" class="${className}" text-anchor="${anchor}">${asText(text)}</text>`;

const whole = (value: number): string => Math.round(value).toLocaleString("en");
const asText = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
