// Repeats a write while other writers change the same state.

import { Outage } from "../../model/outage.ts";

/** An attempt fails only when another write succeeds, so this many are hardly ever needed. */
const maxAttempts = 1_000;

/** Repeats reading and writing while other writers change the same state in between. */
export async function retryOnConflict<T>(
  attempt: (isFirst: boolean) => Promise<T | undefined>,
): Promise<T> {
  for (let count = 0; count < maxAttempts; count++) {
    const result = await attempt(count === 0);
    if (result !== undefined) return result;
  }
  throw new Outage("busy", "other requests keep changing the same resource");
}
