// Provides the clock by which Idempotency-Keys expire: it follows the system clock, but ignores its jumps.

/**
 * Stored in the database, so that all nodes share it. It only moves forward, at most one minute per read,
 * and not at all when the system clock has jumped by more than a day. So no key expires early because a
 * clock was wrong. A server that rarely receives keys stores them longer.
 */
export interface KeyClock {
  readonly now: number;
  /** The system time when this clock last moved. */
  readonly seen: number;
}

const minute = 60_000;
const day = 24 * 60 * minute;

/** Returns the clock moved forward to the system time `at`. */
export function advanceClock(clock: KeyClock, at: number): KeyClock {
  const { now, seen } = clock;
  if (now === 0) return { now: at, seen: at };
  const step = at - seen;
  if (Math.abs(step) > day) return { now, seen: at };
  // A small step back: the clock of another node is behind.
  return step <= 0 ? clock : { now: now + Math.min(step, minute), seen: at };
}

/** Whether the clock has moved enough to store it. Smaller steps add up and are not lost. */
export const isWorthSaving = (kept: KeyClock, clock: KeyClock): boolean =>
  kept.now === 0 || clock.seen < kept.seen || clock.seen - kept.seen >= 1_000;
