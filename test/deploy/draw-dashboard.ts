// Draws the panels of the dashboard as SVG, for machines without Grafana.

export interface Series {
  readonly name: string;
  readonly points: readonly (readonly [at: number, value: number])[];
}

export interface DrawnPanel {
  readonly type: string;
  readonly title: string;
  readonly place: {
    readonly h: number;
    readonly w: number;
    readonly x: number;
    readonly y: number;
  };
  readonly unit: string;
  readonly series: readonly Series[];
}

const column = 50;
const rowHeight = 26;
const colors = [
  "#7eb26d",
  "#eab839",
  "#6ed0e0",
  "#ef843c",
  "#e24d42",
  "#5794f2",
  "#ba43a9",
  "#b7dbab",
];

export function drawDashboard(panels: readonly DrawnPanel[]): string {
  const height = Math.max(...panels.map(({ place }) => place.y + place.h)) * rowHeight + 30;
  const drawn = panels.map((panel) => (panel.type === "row" ? drawRow(panel) : drawPanel(panel)));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${24 * column} ${height}" font-family="sans-serif" font-size="11" fill="#ccccdc">
<title>The panels of the dashboard</title>
<rect width="100%" height="100%" fill="#111217"/>
${drawn.join("\n")}
</svg>
`;
}

const drawRow = ({ title, place }: DrawnPanel): string =>
  `<text x="8" y="${place.y * rowHeight + 18}" font-size="14">${escapeXml(title)}</text>`;

function drawPanel({ type, title, place, unit, series }: DrawnPanel): string {
  const [x, y] = [place.x * column + 3, place.y * rowHeight + 3];
  const [w, h] = [place.w * column - 6, place.h * rowHeight - 6];
  const inside = type === "stat" ? drawStat(series, unit, h) : drawLines(series, unit, w, h);
  return `<g transform="translate(${x} ${y})"><rect width="${w}" height="${h}" rx="2" fill="#181b1f" stroke="#2c3235"/>
<text x="8" y="17" font-weight="bold">${escapeXml(title)}</text>
${inside}</g>`;
}

function drawStat(series: readonly Series[], unit: string, h: number): string {
  const value = series[0]?.points.at(-1)?.[1];
  const text = value === undefined ? "no data" : written(value, unit);
  return `<text x="8" y="${h / 2 + 22}" font-size="28">${text}</text>`;
}

function drawLines(series: readonly Series[], unit: string, w: number, h: number): string {
  const all = series.flatMap(({ points }) => points);
  if (all.length === 0) return `<text x="${w / 2 - 24}" y="${h / 2}">no data</text>`;
  const [left, top, right, bottom] = [58, 28, w - 10, h - 34];
  const times = all.map(([at]) => at);
  const [from, to] = [Math.min(...times), Math.max(...times)];
  const most = Math.max(...all.map(([, value]) => value)) * 1.1 || 1;
  const atX = (at: number) => left + ((at - from) / (to - from || 1)) * (right - left);
  const atY = (value: number) => bottom - (value / most) * (bottom - top);
  const grid = [0, 0.5, 1].map((share) => {
    const at = atY(most * share).toFixed(1);
    return `<path d="M${left} ${at}H${right}" stroke="#2c3235"/><text x="${left - 5}" y="${Number(at) + 4}" text-anchor="end" font-size="10">${written(most * share, unit)}</text>`;
  });
  const lines = series.map(({ points }, index) => {
    const path = points.map(([at, value]) => `${atX(at).toFixed(1)} ${atY(value).toFixed(1)}`);
    return `<path d="M${path.join("L")}" fill="none" stroke="${colors[index % colors.length]}"/>`;
  });
  return [...grid, ...lines, drawLegend(series, w, h)].join("\n");
}

function drawLegend(series: readonly Series[], w: number, h: number): string {
  let x = 10;
  const names = series.map(({ name }, index) => {
    const at = x;
    x += name.length * 5.6 + 24;
    if (x > w) return "";
    return `<rect x="${at}" y="${h - 17}" width="10" height="3" fill="${colors[index % colors.length]}"/><text x="${at + 14}" y="${h - 12}" font-size="10">${escapeXml(name)}</text>`;
  });
  return names.join("");
}

function written(value: number, unit: string): string {
  if (unit === "s") return value < 1 ? `${short(value * 1_000)} ms` : `${short(value)} s`;
  if (unit === "percentunit") return `${short(value * 100)} %`;
  if (unit === "bytes" || unit === "Bps") return `${scaled(value)}B${unit === "Bps" ? "/s" : ""}`;
  return `${short(value)}${unit === "reqps" || unit === "ops" ? "/s" : ""}`;
}

function scaled(value: number): string {
  const units = ["", "k", "M", "G"];
  const at = Math.min(3, Math.max(0, Math.floor(Math.log10(Math.max(value, 1)) / 3)));
  return `${short(value / 1_000 ** at)} ${units[at]}`;
}

const short = (value: number): string => String(Number(value.toPrecision(3)));

const escapeXml = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
