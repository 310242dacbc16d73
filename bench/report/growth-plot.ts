// Growth as a picture: for each kind of request a small plot of processor time over size.

import { engines } from "../data/stores.ts";
import {
  type GrowthFigures,
  type GrowthLine,
  growthRequests,
  growthTitles,
} from "../parts/growth.ts";
import { whole } from "./numbers.ts";
import { figuresOf, type Results } from "./results.ts";
import { colours, write } from "./svg.ts";

const columns = 3;
const cell = { width: 280, height: 200 };
const area = { left: 52, top: 34, width: 196, height: 110 };
const top = 74;

export function growthPlot(results: Results): string {
  const figures = figuresOf(results, "growth");
  const width = columns * cell.width + 20;
  const height = top + Math.ceil(growthRequests.length / columns) * cell.height;
  const plots = growthRequests.map((request, index) => {
    const x = 10 + (index % columns) * cell.width;
    const y = top + Math.floor(index / columns) * cell.height;
    const lines = figures?.lines.filter((line) => line.request === request) ?? [];
    return drawPlot(growthTitles[request], figures?.sizes ?? [], lines, x, y);
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="Processor time per request while a collection grows">
<style>${colours}
</style>
<rect class="paper" width="${width}" height="${height}" rx="8"/>
${write(24, 34, "Processor time of one request, in µs", "title")}
<circle class="embedded-dot" cx="30" cy="52" r="5"/>${write(42, 56, "embedded", "quiet")}
<circle class="postgres-dot" cx="130" cy="52" r="5"/>${write(142, 56, "Postgres, process and database together", "quiet")}
${plots.join("\n")}
</svg>
`;
}

function drawPlot(
  title: string,
  sizes: GrowthFigures["sizes"],
  lines: readonly GrowthLine[],
  left: number,
  topOfCell: number,
): string {
  const sums = (line: GrowthLine) =>
    line.points.map(({ serverUs, databaseUs }) => serverUs + databaseUs);
  const largest = ceiling(Math.max(1, ...lines.flatMap(sums).filter(Number.isFinite)));
  const x = (index: number) =>
    left + area.left + (index / Math.max(1, sizes.length - 1)) * area.width;
  const y = (value: number) => topOfCell + area.top + (1 - value / largest) * area.height;
  const grid = [0, largest / 2, largest].map((value) => {
    const at = y(value).toFixed(1);
    const line = `<line class="grid" x1="${x(0)}" x2="${x(sizes.length - 1)}" y1="${at}" y2="${at}"/>`;
    return line + write(left + area.left - 8, y(value) + 4, whole(value), "quiet", "end");
  });
  const labels = sizes.map((size, index) =>
    write(x(index), topOfCell + area.top + area.height + 20, whole(size), "quiet", "middle"),
  );
  const curves = engines.flatMap((engine) => {
    const line = lines.find((one) => one.engine === engine);
    if (line === undefined) return [];
    const points = sums(line).flatMap((value, index) =>
      Number.isFinite(value) ? [[x(index).toFixed(1), y(value).toFixed(1)] as const] : [],
    );
    const path = points.map((point) => point.join(",")).join(" ");
    const dots = points.map(
      ([cx, cy]) => `<circle class="${engine}-dot" cx="${cx}" cy="${cy}" r="4"/>`,
    );
    return [`<polyline class="curve ${engine}" points="${path}"/>`, ...dots];
  });
  const head = write(left + area.left - 40, topOfCell + 16, title, "head");
  return [head, ...grid, ...labels, ...curves].join("\n");
}

/** The next of 1, 2, 5, 10, 20, 50 and so on. */
function ceiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 2, 5, 10].find((one) => one * power >= value) ?? 10;
  return factor * power;
}
