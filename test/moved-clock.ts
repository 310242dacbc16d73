// Moves and stops the clocks of this process, for what the passing of time does to a server in it.

import { after, before } from "node:test";

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
