// How long removals and Idempotency-Keys are stored, and how much of them is deleted at once.

/** Without it, they are stored forever. */
export interface Retention {
  /** How long a removal appears in feeds. */
  readonly removalsMs: number;
  /** The pause between two searches for what has expired; by default one minute. */
  readonly pauseMs?: number | undefined;
}

/** The key clock moves at most a minute per look, so it falls behind with a longer pause. */
export const defaultPauseMs = 60_000;

/** The number of rows that are deleted at once. */
export const rowsPerStep = 500;

/**
 * Returns the revision up to which removals have expired; undefined when the oldest has not. They are
 * given in the order of their revisions, in which they are deleted, so one revision tells what is gone.
 */
export function expiredUpTo(
  removals: readonly (readonly [revision: number, removedAt: number])[],
  before: number,
): number | undefined {
  const first = removals.findIndex(([, removedAt]) => removedAt > before);
  return (first < 0 ? removals : removals.slice(0, first)).at(-1)?.[0];
}
