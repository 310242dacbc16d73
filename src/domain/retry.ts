// Repeats a write while other writers change the same state.

import { Outage } from "../model/outage.ts";

/**
 * An attempt fails only when another write succeeds, so that hardly any write needs many. A request that has
 * repeated its work for so long leaves it to its client when to go on.
 */
const maxRepeatMs = 30_000;

/** Repeats reading and writing while other writers change the same state in between. */
export function retryOnConflict<T>(
  attempt: (isFirst: boolean) => Promise<T | undefined>,
): Promise<T> {
  return attempt(true).then((result) => (result === undefined ? repeat(attempt) : result));
}

async function repeat<T>(attempt: (isFirst: boolean) => Promise<T | undefined>): Promise<T> {
  const end = performance.now() + maxRepeatMs;
  do {
    const result = await attempt(false);
    if (result !== undefined) return result;
  } while (performance.now() < end);
  throw new Outage("busy", "other requests keep changing the same resource");
}
