// Rejects a PUT to a resource that the caller may not access as if it did not exist.

import type { Rules } from "../model/collection.ts";
import { definitionOf } from "../model/definition.ts";
import { newId } from "../model/id.ts";
import type { Problem } from "../model/problem.ts";
import { isOutdated, type Put, type Store } from "../store/store.ts";
import { conflictProblem, impossibleChange } from "./outcomes.ts";
import { resourceNotFound } from "./problems.ts";

/**
 * Returns the problem that the PUT would have if the resource did not exist; undefined when the
 * write must be retried. To find a conflict, it tries the change under another id and rolls it back.
 */
export async function rejectHiddenPut(
  store: Store,
  put: Put,
  rules: Rules | undefined,
): Promise<Problem | undefined> {
  if (rules === undefined || definitionOf(rules).unique.length === 0) return resourceNotFound;
  const probe = { ...put, id: newId(), expect: "nothing" } as const;
  const [outcome] = await store.commit([{ kind: "all", changes: [probe, impossibleChange] }]);
  if (outcome === undefined || isOutdated(outcome)) return undefined;
  return conflictProblem(outcome) ?? resourceNotFound;
}
