// Compares what a change was decided by with the state at the commit.

import type { ReadState } from "../read-state.ts";
import type { Outcome } from "../store.ts";
import type { OpenCollection } from "./open-collection.ts";

const stale: Outcome = { kind: "stale" };
const outdated: Outcome = { kind: "outdated" };

/** Returns the outcome of a change when something that it was decided by has changed since. */
export function differenceIn(
  unchanged: readonly ReadState[],
  find: (name: string) => OpenCollection | undefined,
): Outcome | undefined {
  for (const read of unchanged) {
    const collection = find(read.collection);
    if ("version" in read) {
      if ((collection?.head.version ?? 0) !== read.version) return outdated;
      continue;
    }
    const { id, revision } = read;
    const current = id === undefined ? collection?.head.revision : collection?.revisionOf(id);
    if ((current ?? -1) !== revision) return stale;
  }
  return undefined;
}
