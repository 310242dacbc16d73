// Follows the references of all changes of a plan.

import { Problem } from "../../model/problem.ts";
import type { ResourceChange } from "../../store/store.ts";
import type { CollectionAccess } from "../collection-access.ts";
import {
  isFollowed,
  isPut,
  type ReferenceFollower,
  type Restriction,
} from "./follow-references.ts";

/**
 * Follows the references of planned changes. Deletions come first, because they decide what is left to
 * refer to. Problems replace changes. In bulk, each change can be committed without the others.
 */
export async function followAll(
  follower: ReferenceFollower,
  operations: readonly { readonly access: CollectionAccess }[],
  planned: readonly (ResourceChange | Problem)[],
  isBulk: boolean,
): Promise<readonly (ResourceChange | Problem)[]> {
  const result = [...planned];
  const restricting = new Map<number, readonly Restriction[]>();
  const followed = [...operations.entries()].flatMap(([index, { access }]) => {
    const change = planned[index];
    if (!isFollowed(change, access.rules) || (!isBulk && isReplaced(index, planned))) return [];
    return [{ index, access, change }];
  });
  for (const { index, access, change } of followed) {
    if (change.kind === "put") continue;
    const found = await follower.remove(access, change.id);
    if (found instanceof Problem) result[index] = found;
    else restricting.set(index, found);
  }
  const invalid = follower.finishRemovals();
  const [first] = restricting.keys();
  if (invalid !== undefined && first !== undefined) result[first] = invalid;
  await Promise.all(
    followed.map(async ({ index, access, change }) => {
      const checked =
        change.kind === "put"
          ? await follower.check(access, change)
          : await follower.restriction(access, restricting.get(index) ?? []);
      if (checked !== undefined) result[index] = checked;
    }),
  );
  return result;
}

/** Whether a later change of a batch leaves another state: references hold after all of its changes. */
function isReplaced(index: number, planned: readonly (ResourceChange | Problem)[]): boolean {
  const change = planned[index];
  if (!isPut(change)) return false;
  const isSame = (later: ResourceChange | Problem) =>
    "id" in later && later.collection === change.collection && later.id === change.id;
  return planned.slice(index + 1).some(isSame);
}
