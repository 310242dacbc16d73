// Counts the turns of the event loop during some work, and the work that is done in one of them.

import { setImmediate as nextTurn } from "node:timers/promises";

/** Lets the event loop turn so often that what this process has sent to itself has arrived and was handled. */
export async function passTurns(count = 20): Promise<void> {
  for (let turn = 0; turn < count; turn++) await nextTurn();
}

/** Others could be served in each of them. */
export async function turnsOf(
  work: () => Promise<unknown>,
  onTurn: () => void = () => undefined,
): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    onTurn();
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await work();
  isOver = true;
  return turns;
}

/** Returns the most that was done in one turn; `work` gets a function that it calls with what it does. */
export async function largestTurn(
  work: (note: (amount: number) => void) => Promise<unknown>,
): Promise<number> {
  let [now, largest] = [0, 0];
  const note = (amount: number) => {
    now += amount;
    largest = Math.max(largest, now);
  };
  await turnsOf(
    () => work(note),
    () => {
      now = 0;
    },
  );
  return largest;
}
