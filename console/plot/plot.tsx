// A plot over time, drawn by uPlot, with a table of the same figures.

import { useEffect, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";
import { theme } from "../state/theme.ts";

export interface Series {
  readonly label: string;
  /** The name of a colour, see `.tone-…` in plot.css. */
  readonly tone: "accent" | "faint" | "warning" | "danger";
}

interface PlotProps {
  readonly title: string;
  /** What the names of the series mean. */
  readonly help?: string;
  readonly series: readonly Series[];
  /** In seconds since 1970. */
  readonly times: readonly number[];
  /** The values of each series. */
  readonly values: readonly (readonly (number | null)[])[];
  readonly format: (value: number) => string;
}

const heightPx = 160;
const rowsShown = 30;

export function Plot(props: PlotProps) {
  const { title, help, series, values, times, format } = props;
  return (
    <figure class="plot card">
      <figcaption>
        <h2>{title}</h2>
        {help && <p class="help faint">{help}</p>}
      </figcaption>
      {times.length > 1 ? (
        <Canvas {...props} />
      ) : (
        <p class="plot-place plot-wait faint">Waiting for requests…</p>
      )}
      <table class="table plot-legend">
        <thead>
          <tr>
            <th scope="col">Series</th>
            <th scope="col" class="number">
              Now
            </th>
            <th scope="col" class="number">
              Highest
            </th>
          </tr>
        </thead>
        <tbody>
          {series.map(({ label, tone }, index) => (
            <tr key={label}>
              <th scope="row">
                <span class={`swatch tone-${tone}`} /> {label}
              </th>
              <td class="number">{textOf(values[index]?.at(-1), format)}</td>
              <td class="number">{textOf(highest(values[index] ?? []), format)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {times.length > 0 && <Figures {...props} />}
    </figure>
  );
}

const textOf = (value: number | null | undefined, format: (value: number) => string): string =>
  value === null || value === undefined ? "–" : format(value);

const highest = (values: readonly (number | null)[]): number | null =>
  values.reduce((most, value) => (value !== null && value > (most ?? -1) ? value : most), null);

/** Every figure of the plot, the newest first. */
function Figures({ title, series, times, values, format }: PlotProps) {
  const [isOpen, setIsOpen] = useState(false);
  const newest = times
    .map((time, index) => ({ time, index }))
    .slice(-rowsShown)
    .reverse();
  return (
    <details onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>Figures of “{title}”</summary>
      {isOpen && (
        <table class="table">
          <thead>
            <tr>
              <th scope="col">Time</th>
              {series.map(({ label }) => (
                <th key={label} scope="col" class="number">
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {newest.map(({ time, index }) => (
              <tr key={time}>
                <th scope="row">{new Date(time * 1000).toLocaleTimeString()}</th>
                {series.map(({ label }, column) => (
                  <td key={label} class="number">
                    {textOf(values[column]?.[index], format)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </details>
  );
}

function Canvas({ series, times, values, format }: PlotProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const data = [times, ...values] as unknown as uPlot.AlignedData;
  const latest = useRef(data);
  latest.current = data;
  const isDark = useDark();
  useEffect(() => {
    const box = place.current;
    if (box === null) return;
    let isGone = false;
    const fit = new ResizeObserver(() =>
      plot.current?.setSize({ width: box.clientWidth, height: heightPx }),
    );
    void import("uplot").then(({ default: Drawn }) => {
      if (isGone) return;
      plot.current = new Drawn(optionsOf(box, series, format), latest.current, box);
      fit.observe(box);
    });
    return () => {
      isGone = true;
      fit.disconnect();
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [isDark]);
  useEffect(() => plot.current?.setData(latest.current), [times.at(-1)]);
  return <div ref={place} class="plot-place" aria-hidden="true" />;
}

function optionsOf(
  box: HTMLElement,
  series: readonly Series[],
  format: (value: number) => string,
): uPlot.Options {
  const [text, grid] = [colourOf(box, "tone-faint"), colourOf(box, "tone-line")];
  const axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { show: false } };
  return {
    ...{ width: box.clientWidth, height: heightPx },
    legend: { show: false },
    cursor: { show: false },
    padding: [8, 28, 0, 0],
    scales: { y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] } },
    axes: [
      { ...axis, size: 28, space: 90, values: (_, ticks) => ticks.map(clock) },
      { ...axis, size: 64, space: 36, values: (_, ticks) => ticks.map(format) },
    ],
    series: [
      {},
      ...series.map(({ label, tone }) => ({
        ...{ label, width: 1.5, stroke: colourOf(box, `tone-${tone}`), points: { show: false } },
        spanGaps: true,
      })),
    ],
  };
}

const clock = (seconds: number): string => new Date(seconds * 1000).toLocaleTimeString();

/** A canvas has no style sheet, so the colour is read from an element that has it. */
function colourOf(box: HTMLElement, name: string): string {
  const probe = document.createElement("span");
  probe.className = name;
  box.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

function useDark(): boolean {
  const [isSystemDark, setIsSystemDark] = useState(false);
  useEffect(() => {
    const query = matchMedia("(prefers-color-scheme: dark)");
    const read = () => setIsSystemDark(query.matches);
    read();
    query.addEventListener("change", read);
    return () => query.removeEventListener("change", read);
  }, []);
  return theme.value === "system" ? isSystemDark : theme.value === "dark";
}
