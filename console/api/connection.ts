// Knows whether the server answers, and waits for it when it does not.

import { signal } from "@preact/signals";

/** `restarting`: the server answers, but cannot serve requests yet. */
export const connection = signal<"online" | "offline" | "restarting">("online");

/** Grows each time the server answers again, so that what failed is loaded again. */
export const comebacks = signal(0);

const firstWaitMs = 500;
const longestWaitMs = 4_000;
let isProbing = false;

/** Waits until the server answers. */
export const untilOnline = (signal?: AbortSignal | null): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = connection.subscribe((state) => {
      if (state !== "online") return;
      queueMicrotask(() => stop());
      resolve();
    });
    signal?.addEventListener("abort", () => {
      stop();
      reject(signal.reason);
    });
  });

/** Called for every request that got no answer, or 503. */
export function reportLoss(state: "offline" | "restarting", healthUrl: string): void {
  connection.value = state;
  if (isProbing) return;
  isProbing = true;
  setTimeout(() => void probe(healthUrl, firstWaitMs), firstWaitMs);
}

async function probe(url: string, waitedMs: number): Promise<void> {
  const state = await readState(url);
  if (state !== "online") {
    connection.value = state;
    const wait = Math.min(2 * waitedMs, longestWaitMs);
    setTimeout(() => void probe(url, wait), wait);
    return;
  }
  isProbing = false;
  connection.value = "online";
  comebacks.value += 1;
}

async function readState(url: string): Promise<"online" | "offline" | "restarting"> {
  try {
    const { ok } = await fetch(url, { cache: "no-store" });
    return ok ? "online" : "restarting";
  } catch {
    return "offline";
  }
}
