// How long removals and Idempotency-Keys are stored, and how much of them is deleted at once.

import { isVolatile } from "../../model/system-collections.ts";

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

/** What was removed before a time has expired. */
export interface Expiry {
  readonly now: number;
  readonly before: number;
}

/** Returns what has expired in a collection. */
export const expiryOf = ({ removalsMs }: Retention, name: string): Expiry => {
  const now = Date.now();
  return { now, before: isVolatile(name) ? now : now - removalsMs };
};

/** Whether removals may have expired. The clock was ahead at one of the future: the next ones tell its age. */
export const mayBeExpired = (oldest: number, { now, before }: Expiry): boolean =>
  oldest <= before || oldest > now;

/**
 * Returns the revision up to which removals have expired; undefined when the oldest has not. They are
 * given in the order of their revisions, in which they are deleted, so one revision tells what is gone.
 */
export function expiredUpTo(
  removals: readonly (readonly [revision: number, removedAt: number])[],
  expiry: Expiry,
): number | undefined {
  const first = removals.findIndex(([, removedAt]) => !mayBeExpired(removedAt, expiry));
  const oldest = first < 0 ? removals : removals.slice(0, first);
  return oldest.findLast(([, removedAt]) => removedAt <= expiry.before)?.[0];
}
