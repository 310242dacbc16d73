// Divides long work into turns of the event loop, so that other requests do not wait long for it.

import { setTimeout as sleep } from "node:timers/promises";

/** The work of one turn, in bytes that are read or written. It takes well under a millisecond. */
export const turnBytes = 65_536;

const waiting: (() => void)[] = [];

/**
 * Resolves in a later turn of the event loop. Only one task goes on in a turn, however many do long work
 * at the same time.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(startOne);
  });
}

function startOne(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(startOne);
}

/**
 * Acts after everything that has arrived was read, for what a timer decides about a client: a timer that comes
 * late is called before the sockets are read. A turn may begin or end with reading, so there are two.
 */
export function afterReading(act: () => void): void {
  setImmediate(() => setImmediate(act));
}

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

const maxTurnMs = 1;

/** Ends a turn also after a millisecond, for work whose bytes do not say how long it takes. */
export class TimedTurns extends Turns {
  #startedAt = performance.now();

  override take(bytes: number): Promise<void> | undefined {
    const isLong = performance.now() - this.#startedAt > maxTurnMs;
    return super.take(isLong ? turnBytes : bytes)?.then(() => {
      this.#startedAt = performance.now();
    });
  }
}

/** Work that may pause at each `yield`, which says how much was done since the last one, in bytes. */
export type WorkSteps<T> = Generator<number, T>;

export function runAtOnce<T>(steps: WorkSteps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Other requests are answered between the steps. */
export async function runInTurns<T>(steps: WorkSteps<T>): Promise<T> {
  const turns = new TimedTurns();
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    const ended = turns.take(value);
    if (ended !== undefined) await ended;
  }
}

/** So much work is done without rests, so that what is short ends soon. */
const promptMs = 20;
const restMs = 4;

/** For work that may take seconds: it rests between its turns, so that most of the time is for others. */
export class RestingTurns {
  #turnMs = 0;
  #workedMs = 0;

  /** Returns a promise of the next turn when this one has lasted a millisecond. */
  take(ms: number): Promise<void> | undefined {
    this.#turnMs += ms;
    if (this.#turnMs < maxTurnMs) return undefined;
    this.#workedMs += this.#turnMs;
    this.#turnMs = 0;
    return this.#workedMs < promptMs ? nextTurn() : sleep(restMs);
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
    const ended = turns.take(bytesOf(item));
    if (ended !== undefined) await ended;
  }
}

/** Yields the same bytes in pieces, about `turnBytes` in one turn; what is not bytes is passed on. */
export async function* inTurns<T>(
  chunks: AsyncIterable<Uint8Array | T>,
): AsyncGenerator<Uint8Array | T> {
  const turns = new Turns();
  for await (const chunk of chunks)
    if (!(chunk instanceof Uint8Array)) yield chunk;
    else
      for (let start = 0; start < chunk.length; start += turnBytes) {
        const piece = chunk.subarray(start, start + turnBytes);
        yield piece;
        await turns.take(piece.length);
      }
}
