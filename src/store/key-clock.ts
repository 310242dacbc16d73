// The clock by which Idempotency-Keys expire: it follows the server's clock, but never its jumps.

/**
 * Kept in the store, so that all nodes share it. A key is kept for a length of this clock. It only goes
 * forward, at most a minute for each time it is looked at, and not at all where the server's clock has
 * jumped by more than a day. So no key expires because a clock was wrong, when the key was made or later;
 * a server that is seldom sent keys keeps them longer.
 */
export interface KeyClock {
  readonly now: number;
  /** What the server's clock said when this one last moved. */
  readonly seen: number;
}

const minute = 60_000;
const day = 24 * 60 * minute;

/** The clock when the server's own says `at`. */
export function advanced(clock: KeyClock, at: number): KeyClock {
  const { now, seen } = clock;
  if (now === 0) return { now: at, seen: at };
  const step = at - seen;
  if (Math.abs(step) > day) return { now, seen: at };
  // A step back is small here: another node's clock is behind.
  return step <= 0 ? clock : { now: now + Math.min(step, minute), seen: at };
}

/** Whether the clock has moved so far that it is worth a write. What is less is not lost. */
export const isWorthKeeping = (kept: KeyClock, clock: KeyClock): boolean =>
  kept.now === 0 || clock.seen < kept.seen || clock.seen - kept.seen >= 1_000;
