// Checks the precondition of a POST, which is about the collection, and keeps it true until the commit.

import type { MaybePromise } from "../../lib/maybe-promise.ts";
import { Problem } from "../../model/problem.ts";
import type { ResourceChange, Store } from "../../store/store.ts";
import type { CollectionAccess } from "../collection-access.ts";
import { preconditionFailed } from "../problems.ts";
import type { CollectionPrecondition } from "./operation.ts";
import type { PlannedOperation } from "./plan.ts";

type Planned = readonly (ResourceChange | Problem)[];

/** A precondition counts only if the request would otherwise succeed, so it is checked after all else. */
export function withCollectionCondition(
  store: Store,
  [first]: readonly PlannedOperation[],
  planning: MaybePromise<Planned>,
): MaybePromise<Planned> {
  const condition =
    first?.operation.kind === "create" ? first.operation.collectionCondition : undefined;
  return first && condition ? check(store, first.access, condition, planning) : planning;
}

/** The revision is read before the state that the condition compares, which can only be newer. */
async function check(
  store: Store,
  access: CollectionAccess,
  condition: CollectionPrecondition,
  planning: MaybePromise<Planned>,
): Promise<Planned> {
  const planned = await planning;
  const [change] = planned;
  if (change === undefined || change instanceof Problem) return planned;
  const { name } = access;
  const revision = (await store.collection(name))?.revision;
  const holds = await condition(access);
  if (holds !== true) return [holds === false ? preconditionFailed : holds];
  // A collection that this write creates cannot have changed.
  if (revision === undefined) return planned;
  const unchanged = [...(change.unchanged ?? []), { collection: name, revision }];
  return [{ ...change, unchanged }];
}
