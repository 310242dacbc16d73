// Turns the outcomes of the store into the results and problems of operations.

import { Outage } from "../../model/outage.ts";
import type { Principal } from "../../model/principal.ts";
import { Problem } from "../../model/problem.ts";
import { Damage } from "../../store/core/stored-resource.ts";
import { failureOf, type Outcome, type ResourceChange } from "../../store/store.ts";
import type { CollectionAccess } from "../collection-access.ts";
import { overQuota } from "../file-limits.ts";
import { notUnique } from "../not-unique.ts";
import { tokenEnded } from "../problems.ts";
import { operationsProblem } from "./operate.ts";
import type { AllDone, Refused, WriteResult, Written } from "./operation.ts";
import type { PlannedOperation } from "./plan.ts";
import { danglingNow } from "./reference-problems.ts";

export const missing: Outcome = { kind: "missing" };

/** Returns the outcome of a change that was only tried, otherwise the outcome itself. */
export const singleOutcome = (outcome: Outcome): Outcome =>
  outcome.kind === "all" ? (outcome.outcomes[0] ?? missing) : outcome;

export function allDone(
  operations: readonly PlannedOperation[],
  { outcomes, isReplay }: Extract<Outcome, { kind: "all" }>,
): AllDone {
  // After the outcomes of the operations come those of changes that followed from deletions.
  const results = operations.map(({ access }, index) => {
    const outcome = outcomes[index];
    const result = resultOf(access, outcome, isReplay);
    if (result === undefined) throw new Error(`unexpected outcome in a batch: ${outcome?.kind}`);
    return result;
  });
  return { results, isReplay };
}

/** Returns the first operation that was rejected, if one was. */
export function firstOf(done: AllDone | readonly Refused[] | Problem): AllDone | Refused | Problem {
  if (done instanceof Problem || "results" in done) return done;
  const [first] = done;
  if (first === undefined) throw new Error("a rejected write must have a reason");
  return first;
}

/** Returns the result of a change that was applied, otherwise undefined. */
export const resultOf = (
  access: CollectionAccess,
  outcome: Outcome | undefined,
  isReplay = false,
): WriteResult | undefined =>
  outcome?.kind === "removed" ? { kind: "removed" } : writtenOf(access, outcome, isReplay);

/** Returns what a change has created or replaced, otherwise undefined. */
export function writtenOf(
  access: CollectionAccess,
  outcome: Outcome | undefined,
  isReplay = false,
): Written | undefined {
  if (outcome?.kind !== "created" && outcome?.kind !== "replaced") return undefined;
  const { kind, resource } = outcome;
  return { kind: "written", resource, access, isNew: kind === "created", isReplay };
}

export function conflictProblem(outcome: Outcome, caller: Principal): Problem | undefined {
  const failed = failureOf(outcome);
  switch (failed.kind) {
    case "revoked":
      return tokenEnded;
    case "conflict":
      return notUnique(failed.field);
    case "invalid":
    case "inapplicable":
      return operationsProblem(failed);
    case "over-quota":
      return overQuota(failed, caller);
    case "dangling":
      return danglingNow(failed.target);
    case "referenced":
      if (failed.isKnown) return undefined;
      throw new Outage("busy", `the index of the references in ${failed.by} is being built`);
    default:
      return undefined;
  }
}

export const damageOf = (change: ResourceChange | undefined): Damage =>
  new Damage(change?.id ?? "", change?.collection);

/** Returns whether the collection does not exist: only then is a put without an expected revision "missing". */
export const isCollectionMissing = (
  outcome: Outcome,
  change: ResourceChange | undefined,
): boolean =>
  outcome.kind === "missing" && change?.kind === "put" && typeof change.expect !== "number";

export const keyReused = new Problem(
  "key-reused",
  "This Idempotency-Key was already used for a different request. Nothing was changed.",
);

export const createdThenDeleted = new Problem(
  "gone",
  "A resource that was written with this Idempotency-Key has since been deleted. Nothing was changed; use a new key to write it again.",
);
