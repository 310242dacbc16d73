// Divides long work into turns of the event loop, so that other requests do not wait long for it.

import { setImmediate as nextTurn } from "node:timers/promises";

/** The work of one turn, in bytes that are read or written. It takes well under a millisecond. */
export const turnBytes = 65_536;

/** Counts the work of one task, and ends the turn when there was enough. */
export class Turns {
  #left = turnBytes;

  /** Returns a promise of the next turn when this one has done its work. */
  take(bytes: number): Promise<void> | undefined {
    this.#left -= bytes;
    if (this.#left > 0) return undefined;
    this.#left = turnBytes;
    return nextTurn();
  }
}

/** Calls `act` with each item, in turns; `bytesOf` is the work that an item takes. */
export async function eachInTurns<T>(
  items: readonly T[],
  bytesOf: (item: T) => number,
  act: (item: T) => void,
): Promise<void> {
  const turns = new Turns();
  for (const item of items) {
    act(item);
    const nextTurn = turns.take(bytesOf(item));
    if (nextTurn !== undefined) await nextTurn;
  }
}
