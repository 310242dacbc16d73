// Short messages at the edge of the screen, changes that are held back some seconds, and the way back from changes.

import { signal } from "@preact/signals";
import { reasonOf } from "../api/problem.ts";
import { token } from "../api/session.ts";
import { Countdown } from "./countdown.ts";

export interface Notice {
  readonly id: number;
  readonly kind: "done" | "failed" | "held";
  readonly text: string;
  readonly action?: { readonly label: string; readonly run: () => void };
}

export const notices = signal<readonly Notice[]>([]);

const shownMs = 6_000;
/** Long enough to notice a mistake. */
export const heldMs = 15_000;
const countdowns = new Map<number, Countdown>();
let lastId = 0;

function show(notice: Omit<Notice, "id">, milliseconds?: number, ended?: () => void): () => void {
  const id = ++lastId;
  notices.value = [...notices.peek(), { ...notice, id }];
  const close = (): void => closeNotice(id);
  if (milliseconds !== undefined)
    countdowns.set(id, new Countdown(milliseconds, ended ?? close, isPaused));
  return close;
}

/**
 * `undo` writes the former values back. Its button stays for a while, and Ctrl+Z works after that, too, until
 * whoever made the change signs out.
 */
export function tellDone(text: string, undo?: () => Promise<void>): void {
  if (undo === undefined || token.peek() === undefined)
    return void show({ kind: "done", text }, shownMs);
  const run = (): void => {
    undos.delete(run);
    close();
    undo().then(() => tellDone("Undone."), tellFailure);
  };
  const close = show({ kind: "done", text, action: { label: "Undo", run } }, heldMs);
  undos.add(run);
}

/** A failure stays until someone closes it. */
export const tellFailure = (error: unknown): void =>
  void show({ kind: "failed", text: reasonOf(error) });

export const closeNotice = (id: number): void => {
  countdowns.get(id)?.stop();
  countdowns.delete(id);
  notices.value = notices.peek().filter((one) => one.id !== id);
};

let isPaused = false;

/** Messages stay while someone points at them or has the focus there. */
export function pauseNotices(isOn: boolean): void {
  isPaused = isOn;
  for (const countdown of countdowns.values()) countdown.pause(isOn);
}

/** What Ctrl+Z takes back, the last one first. */
const undos = new Set<() => void>();

/** Takes back the last change that was made here. */
export function undoLast(): void {
  const last = [...undos].at(-1);
  if (last === undefined) show({ kind: "done", text: "There is nothing to undo." }, shownMs);
  else last();
}

/** `leave` runs a change when the page is left; undefined for one that cannot run then. */
const held = new Set<{ readonly leave: (() => void) | undefined; readonly undo: () => void }>();

export interface HeldChange {
  /** What will happen, such as `Ada will be deleted.` */
  readonly text: string;
  /** Does it, and tells it. */
  readonly run: () => Promise<void>;
  /** Instead of `run` when the page is left: with requests that outlive it. Where there is no way the browser asks. */
  readonly leave?: (() => Promise<void>) | undefined;
  /** Puts the screen back; also called when it fails. */
  readonly undone: () => void;
}

/** Waits some seconds before a change, and shows a button that cancels it. */
export function holdBack({ text, run, leave, undone }: HeldChange): void {
  const end = (): void => {
    held.delete(one);
    undos.delete(undo);
    close();
  };
  const begin = (change: () => Promise<void>) => (): void => {
    end();
    change().catch((error) => {
      undone();
      tellFailure(error);
    });
  };
  const undo = (): void => {
    end();
    undone();
  };
  const action = { label: "Undo", run: undo };
  const close = show({ kind: "held", text, action }, heldMs, begin(run));
  const one = { leave: leave && begin(leave), undo };
  held.add(one);
  undos.add(undo);
}

/** Runs at once what is held back, as far as it outlives the page. The rest goes on waiting. */
export const runHeld = (): void => {
  for (const { leave } of [...held]) leave?.();
};

// Not when it is only hidden: whoever comes back from another tab can still undo. A frozen page may never come back.
addEventListener("pagehide", runHeld);
document.addEventListener("freeze", runHeld);

addEventListener("beforeunload", (event) => {
  if ([...held].some(({ leave }) => leave === undefined)) event.preventDefault();
});

// The next person neither sees, undoes nor sends what the former one did.
token.subscribe((secret) => {
  if (secret !== undefined) return;
  for (const { undo } of [...held]) undo();
  undos.clear();
  for (const { id } of notices.peek()) closeNotice(id);
});
