// Applies the operations of a change to the stored state, inside the transaction that writes the result.

import { RecentMap } from "../../lib/recent-map.ts";
import type { Rules } from "../../model/collection.ts";
import { operateOn } from "../../model/write/operate.ts";
import type { Operate, Outcome, Put } from "../store.ts";
import { failedExpectation } from "./expectation.ts";
import type { ResourceState } from "./state.ts";
import { isIntact } from "./stored-resource.ts";

/** Returns the put that writes the result, or the outcome when nothing is written. */
export function putOf(change: Operate, state: ResourceState, definition: string): Put | Outcome {
  const { fields, files } = state;
  if (fields === null) throw new Error("operations need the fields");
  const { collection, id, at, expect, owner } = change;
  const failure = failedExpectation(state, expect);
  if (failure) return failure;
  if (owner !== undefined && owner !== state.owner) return { kind: "stale" };
  if (!isIntactState(id, state, fields)) return { kind: "damaged" };
  const current = files === null ? { fields } : { fields, files };
  const result = operateOn(rulesOf(definition), current, change);
  if ("errors" in result) return result;
  return { kind: "put", collection, id, ...result, at, expect };
}

/** Damaged content would get a new checksum, and nobody would notice the damage. */
function isIntactState(id: string, state: ResourceState, fields: string): boolean {
  const { revision, createdAt, updatedAt, owner, files, sharesDate, checksum } = state;
  const times = [createdAt, updatedAt] as const;
  return isIntact([id, revision, ...times, fields, owner, files, sharesDate], checksum);
}

/** Enough for all collections of a busy server. */
const maxCached = 1_000;
const cache = new RecentMap<string, Rules>(maxCached);

/** The same object for the same text, because a parsed definition and its validator are cached by object. */
const rulesOf = (definition: string): Rules =>
  cache.getOrAdd(definition, () => ({ version: 0, definition }));
