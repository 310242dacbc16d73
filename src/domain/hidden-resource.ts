// A PUT to an address whose resource the caller does not reach: refused as if nothing were there.

import type { Rules } from "../model/collection.ts";
import { definitionOf } from "../model/definition.ts";
import { newId } from "../model/id.ts";
import type { Problem } from "../model/problem.ts";
import { isOutdated, type Put, type Store } from "../store/store.ts";
import { conflictIn, impossible } from "./outcomes.ts";
import { resourceNotFound } from "./problems.ts";

/**
 * Refuses the PUT with what else would refuse it if nothing were there; undefined when it has to be
 * judged again. A conflict is found by trying the change at another address and undoing it.
 */
export async function refuseHidden(
  store: Store,
  put: Put,
  rules: Rules | undefined,
): Promise<Problem | undefined> {
  if (rules === undefined || definitionOf(rules).unique.length === 0) return resourceNotFound;
  const elsewhere = { ...put, id: newId(), expect: "nothing" } as const;
  const [outcome] = await store.commit([{ kind: "all", changes: [elsewhere, impossible] }]);
  if (outcome === undefined || isOutdated(outcome)) return undefined;
  return conflictIn(outcome) ?? resourceNotFound;
}
