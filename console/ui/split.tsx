// Two parts side by side; the edge between them moves by pointer and by keys. On narrow screens the side is the whole page.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

const key = "restante.side";
const narrowest = 320;
const step = 24;

const storedWidth = (): number => Number(localStorage.getItem(key)) || 520;

interface SplitProps {
  readonly children: ComponentChildren;
  /** What stands at the side, if anything. */
  readonly side: ComponentChildren;
}

export function Split({ children, side }: SplitProps) {
  const [width, setWidth] = useState(storedWidth);
  const resize = (next: number): void => {
    const fitting = Math.round(Math.max(narrowest, Math.min(next, innerWidth - narrowest)));
    setWidth(fitting);
    localStorage.setItem(key, String(fitting));
  };
  return (
    <div class="split" data-side={side ? "open" : undefined}>
      <div class="split-main">{children}</div>
      {side && (
        <>
          <div
            class="split-edge"
            role="separator"
            tabIndex={0}
            aria-label="Width of the panel"
            aria-orientation="vertical"
            aria-valuenow={width}
            aria-valuemin={narrowest}
            aria-valuemax={Math.max(narrowest, innerWidth - narrowest)}
            onPointerDown={(event) => drag(event, width, resize)}
            onKeyDown={(event) => {
              const move = { ArrowLeft: step, ArrowRight: -step }[event.key];
              if (move === undefined) return;
              event.preventDefault();
              resize(width + move * signOf(event.currentTarget));
            }}
          />
          <div class="split-side" style={{ "--side": `${width}px` }}>
            {side}
          </div>
        </>
      )}
    </div>
  );
}

const signOf = (element: Element): number =>
  getComputedStyle(element).direction === "rtl" ? -1 : 1;

function drag(event: PointerEvent, width: number, resize: (width: number) => void): void {
  const edge = event.currentTarget as HTMLElement;
  event.preventDefault();
  edge.setPointerCapture(event.pointerId);
  const move = (at: PointerEvent): void =>
    resize(width + (event.clientX - at.clientX) * signOf(edge));
  edge.addEventListener("pointermove", move);
  edge.addEventListener("lostpointercapture", () => edge.removeEventListener("pointermove", move), {
    once: true,
  });
}
