// Short messages at the edge of the screen, and changes that are held back some seconds so that they can be undone.

import { signal } from "@preact/signals";
import { asProblem } from "../api/problem.ts";

export interface Notice {
  readonly id: number;
  readonly kind: "done" | "failed" | "held";
  readonly text: string;
  readonly action?: { readonly label: string; readonly run: () => void };
}

export const notices = signal<readonly Notice[]>([]);

const shownMs = 6_000;
export const heldMs = 7_000;
let lastId = 0;

function show(notice: Omit<Notice, "id">, milliseconds?: number): () => void {
  const id = ++lastId;
  notices.value = [...notices.peek(), { ...notice, id }];
  const close = () => {
    notices.value = notices.peek().filter((one) => one.id !== id);
  };
  if (milliseconds !== undefined) setTimeout(close, milliseconds);
  return close;
}

export const tellDone = (text: string): void => void show({ kind: "done", text }, shownMs);

/** A failure stays until someone closes it. */
export const tellFailure = (error: unknown): void =>
  void show({ kind: "failed", text: asProblem(error).message });

export const closeNotice = (id: number): void => {
  notices.value = notices.peek().filter((one) => one.id !== id);
};

const held = new Set<() => void>();

/**
 * Waits some seconds before `run`, and shows a button that cancels it. `undone` puts the screen back; it
 * is also called when `run` fails. Closing the page runs what is held back first, or asks.
 */
export function holdBack(text: string, run: () => Promise<void>, undone: () => void): void {
  const end = (): void => {
    clearTimeout(timer);
    held.delete(now);
    close();
  };
  const now = (): void => {
    end();
    run().catch((error) => {
      undone();
      tellFailure(error);
    });
  };
  const undo = (): void => {
    end();
    undone();
  };
  const timer = setTimeout(now, heldMs);
  const close = show({ kind: "held", text, action: { label: "Undo", run: undo } });
  held.add(now);
}

/** Runs at once what is held back. */
export const flushHeld = (): void => {
  for (const run of [...held]) run();
};

addEventListener("beforeunload", (event) => {
  if (held.size === 0) return;
  flushHeld();
  event.preventDefault();
});
