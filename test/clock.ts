// Moves and stops the clocks of this process, for what the passing of time does to a server in it.

import { after, before } from "node:test";
import { passTurns } from "./turns-of.ts";

/** While the tests of this file or `describe` run, no time passes by the clock that only counts from a start. */
export function stopTimeHere(): void {
  const { now } = performance;
  before(() => {
    const at = performance.now();
    performance.now = () => at;
  });
  after(() => {
    performance.now = now;
  });
}

/** Does some work while the clock is so many milliseconds ahead, or behind when it is negative. */
export async function withClockMoved<T>(ms: number, work: () => Promise<T>): Promise<T> {
  const { now } = Date;
  Date.now = () => now() + ms;
  try {
    return await work();
  } finally {
    Date.now = now;
  }
}

/** The clock and the timers of this process, which go on only when a test says so. */
export class Clock {
  readonly #real = { now: performance.now, setTimeout, clearTimeout };
  readonly #timers = new Map<number, { readonly at: number; readonly act: () => void }>();
  #now = 1_000_000;
  #last = 0;

  stop(): void {
    performance.now = () => this.#now;
    globalThis.setTimeout = ((
      act: (...values: unknown[]) => void,
      ms = 0,
      ...values: unknown[]
    ) => {
      const id = ++this.#last;
      this.#timers.set(id, { at: this.#now + ms, act: () => act(...values) });
      return { id, unref: () => undefined };
    }) as unknown as typeof setTimeout;
    globalThis.clearTimeout = ((timer?: { readonly id: number }) =>
      this.#timers.delete(timer?.id ?? 0)) as unknown as typeof clearTimeout;
  }

  go(): void {
    performance.now = this.#real.now;
    globalThis.setTimeout = this.#real.setTimeout;
    globalThis.clearTimeout = this.#real.clearTimeout;
  }

  /** Until so many milliseconds later, one by one. */
  async pass(ms: number): Promise<void> {
    for (const end = this.#now + ms; this.#now < end; ) {
      this.holdUp(1);
      await passTurns(1);
    }
  }

  /** So much later at once, as when this process was held up: what is due comes late. */
  holdUp(ms: number): void {
    this.#now += ms;
    for (const [id, { at, act }] of [...this.#timers])
      if (at <= this.#now && this.#timers.delete(id)) act();
  }
}
