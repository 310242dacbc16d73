// Turns the outcomes of store changes into results and problems.

import { pointerTo } from "../../lib/json/error-report.ts";
import { Problem } from "../../model/problem.ts";
import { failureOf, Outage, type Outcome, type Put, type Remove } from "../../store/store.ts";
import type { CollectionAccess } from "../collection-access.ts";
import type { WriteResult } from "./operation.ts";

/** Returns the result of a change that was applied, otherwise undefined. */
export function resultOf(
  access: CollectionAccess,
  outcome: Outcome | undefined,
  isReplay: boolean,
): WriteResult | undefined {
  switch (outcome?.kind) {
    case "created":
    case "replaced": {
      const { kind, resource } = outcome;
      return { kind: "written", resource, access, isNew: kind === "created", isReplay };
    }
    case "removed":
      return { kind: "removed" };
    default:
      return undefined;
  }
}

export function conflictProblem(outcome: Outcome): Problem | undefined {
  const failed = failureOf(outcome);
  return failed.kind === "conflict" ? notUnique(failed.field) : undefined;
}

function notUnique(field: string): Problem {
  const pointer = pointerTo(field.split("."));
  const errors = [{ pointer, detail: "another resource has this value, and it must be unique" }];
  return new Problem("conflict", `${field} must be unique. Nothing was stored.`, { errors });
}

/** Returns whether the collection does not exist: only then is a put without an expected revision "missing". */
export const isCollectionMissing = (outcome: Outcome, change: Put | Remove | undefined): boolean =>
  outcome.kind === "missing" && change?.kind === "put" && typeof change.expect !== "number";

/** Returns a change that always fails: no resource has this id. */
export const impossibleChange = (collection: string): Remove => ({
  kind: "remove",
  collection,
  id: "-",
  at: 0,
  expect: 0,
});

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

export const keyReused = new Problem(
  "key-reused",
  "This Idempotency-Key was already used for a different request. Nothing was changed.",
);

export const createdThenDeleted = new Problem(
  "gone",
  "A resource created with this Idempotency-Key has since been deleted. Nothing was created; use a new key to create it again.",
);
