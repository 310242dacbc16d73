// Repeats a round of network work: soon after it failed, at once when somebody asks, else now and then.

import { Problem } from "../problem.ts";
import { pauseMs } from "../send.ts";
import type { Failure } from "./state.ts";

export interface Pauses {
  readonly everyMs: number;
  readonly waitMs: number;
}

export class Rounds {
  readonly #pauses: Pauses;
  readonly #signal: AbortSignal;
  #asked: (() => void)[] = [];
  #wake: () => void = () => undefined;
  #isAwake = false;
  /** When the last round has ended well. */
  #endedAt: number | undefined;

  constructor(pauses: Pauses, signal: AbortSignal) {
    this.#pauses = pauses;
    this.#signal = signal;
    signal.addEventListener("abort", this.wake);
  }

  /** Until the signal ends it. `onEnd` gets what a round has thrown. */
  async run(round: () => Promise<void>, onEnd: (error: unknown) => void): Promise<void> {
    for (let failures = 0; !this.#signal.aborted; ) {
      this.#isAwake = false;
      const asked = this.#asked;
      this.#asked = [];
      const error = await round().catch((error: unknown) => error ?? new Error("It failed."));
      this.#endedAt = error === undefined ? Date.now() : undefined;
      if (!this.#signal.aborted) onEnd(error);
      for (const resolve of asked) resolve();
      failures = error === undefined ? 0 : failures + 1;
      await this.#pause(error, failures);
    }
    for (const resolve of this.#asked) resolve();
  }

  /** Begins the next round. */
  wake = (): void => {
    this.#isAwake = true;
    this.#wake();
  };

  /** Begins it, if its time has passed: timers of tabs in the background run seldom. */
  remind(): void {
    const { everyMs } = this.#pauses;
    if (Date.now() - (this.#endedAt ?? Number.POSITIVE_INFINITY) >= everyMs) this.#wake();
  }

  /** Resolves when a round that begins after this has ended. */
  now(): Promise<void> {
    if (this.#signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      this.#asked.push(resolve);
      this.wake();
    });
  }

  #pause(error: unknown, failures: number): Promise<void> {
    const { everyMs, waitMs } = this.#pauses;
    if (this.#isAwake) return Promise.resolve();
    const problem = error instanceof Problem ? error : new Problem(0, {});
    const ms = error === undefined ? everyMs : pauseMs(problem, waitMs * 2 ** (failures - 1));
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

export const failureOf = (error: unknown): Failure =>
  error === undefined
    ? undefined
    : error instanceof Problem && error.status === 401
      ? "unauthorized"
      : "offline";
