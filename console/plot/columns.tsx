// Figures over time as columns, with a value axis. The pointer or the arrow keys show one value.

import { useState } from "preact/hooks";
import { type Bar, type ChartQuery, roundUp } from "../api/aggregate.ts";
import { formatNumber } from "../ui/format.ts";

const columnPx = 12;
const heightPx = 180;

interface ColumnsProps {
  readonly query: ChartQuery;
  readonly bars: readonly Bar[];
}

/** The table below has the same figures. */
export function Columns({ query: { figure, by }, bars }: ColumnsProps) {
  const [chosen, setChosen] = useState<number>();
  const top = roundUp(Math.max(...bars.map(({ size }) => size), 0));
  const last = bars.length - 1;
  const bar = bars[Math.min(chosen ?? last, last)];
  const text = bar ? `${bar.label}: ${formatNumber(bar.size)}` : "";
  const point = ({ currentTarget, clientX }: PointerEvent): void => {
    const { left, width } = (currentTarget as Element).getBoundingClientRect();
    setChosen(Math.min(last, Math.max(0, Math.floor(((clientX - left) / width) * bars.length))));
  };
  const move = (event: KeyboardEvent): void => {
    const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, Home: -last, End: last };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    setChosen((at = last) => Math.min(last, Math.max(0, at + step)));
  };
  return (
    <figure class="columns card">
      <p class="columns-value" aria-hidden="true">
        {chosen === undefined ? `${figure} by ${by}` : text}
      </p>
      <div class="columns-axis" aria-hidden="true">
        {[top, top / 2, 0].map((tick) => (
          <span key={tick}>{formatNumber(tick)}</span>
        ))}
      </div>
      <div
        class="columns-plot"
        role="slider"
        tabIndex={0}
        aria-label={`${figure} by ${by}`}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={chosen ?? last}
        aria-valuetext={text}
        onPointerMove={point}
        onPointerLeave={() => setChosen(undefined)}
        onKeyDown={move}
      >
        <svg
          viewBox={`0 0 ${bars.length * columnPx} ${heightPx}`}
          preserveAspectRatio="none"
          aria-hidden="true"
        >
          {bars.map(({ label, size }, index) => {
            const height = Math.max(0, (size / top) * heightPx);
            return (
              <rect
                key={label}
                class={index === chosen ? "chosen" : undefined}
                x={index * columnPx + 1}
                y={heightPx - height}
                width={columnPx - 2}
                height={height}
              />
            );
          })}
        </svg>
      </div>
      <figcaption>
        <span>{bars[0]?.label}</span>
        <span>{last > 0 ? bars.at(-1)?.label : ""}</span>
      </figcaption>
    </figure>
  );
}
