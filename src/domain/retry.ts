// Repeats a write while other writers change the same state.

import { Outage } from "../model/outage.ts";

/** An attempt fails only when another write succeeds, so this many are hardly ever needed. */
const maxAttempts = 1_000;

/** Repeats reading and writing while other writers change the same state in between. */
export function retryOnConflict<T>(
  attempt: (isFirst: boolean) => Promise<T | undefined>,
): Promise<T> {
  return attempt(true).then((result) => (result === undefined ? repeat(attempt) : result));
}

async function repeat<T>(attempt: (isFirst: boolean) => Promise<T | undefined>): Promise<T> {
  for (let count = 1; count < maxAttempts; count++) {
    const result = await attempt(false);
    if (result !== undefined) return result;
  }
  throw new Outage("busy", "other requests keep changing the same resource");
}
