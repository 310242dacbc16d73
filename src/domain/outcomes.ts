// Turns the outcomes of store changes into results and problems.

import { pointerTo } from "../lib/json/error-report.ts";
import type { Rules } from "../model/collection.ts";
import { Problem } from "../model/problem.ts";
import type { Resource } from "../model/resource.ts";
import { failureOf, Outage, type Outcome, type Put, type Remove } from "../store/store.ts";

export interface Written {
  readonly resource: Resource;
  /** The rules that validated it and decide how it is shown; undefined when the collection is new. */
  readonly rules: Rules | undefined;
  readonly isNew: boolean;
  /** Whether this is the stored result of an earlier request with the same Idempotency-Key. */
  readonly isReplay: boolean;
}

/** Returns what was written, or a conflict; undefined when the write must be retried. */
export function writeResultOf(
  outcome: Outcome,
  rules: Rules | undefined,
): Written | Problem | undefined {
  return conflictProblem(outcome) ?? writtenBy(outcome, rules);
}

/** Returns undefined when nothing was written. */
function writtenBy(outcome: Outcome, rules: Rules | undefined): Written | undefined {
  if (outcome.kind === "all") {
    const [first] = outcome.outcomes;
    const written = first && writtenBy(first, rules);
    return written && { ...written, isReplay: outcome.isReplay };
  }
  if (outcome.kind !== "created" && outcome.kind !== "replaced") return undefined;
  return { resource: outcome.resource, rules, isNew: outcome.kind === "created", isReplay: false };
}

export function conflictProblem(outcome: Outcome): Problem | undefined {
  const failed = failureOf(outcome);
  return failed.kind === "conflict" ? notUnique(failed.field) : undefined;
}

export function notUnique(field: string): Problem {
  const pointer = pointerTo(field.split("."));
  const errors = [{ pointer, detail: "another resource has this value, and it must be unique" }];
  return new Problem("conflict", `${field} must be unique. Nothing was stored.`, { errors });
}

/** Returns whether the collection does not exist: only then is a put without an expected revision "missing". */
export function isCollectionMissing(
  outcome: Outcome | undefined,
  changes: readonly (Put | Remove)[],
): boolean {
  const failed = outcome?.kind === "none" ? outcome : { index: 0, outcome };
  const change = changes[failed.index];
  return (
    failed.outcome?.kind === "missing" &&
    change?.kind === "put" &&
    typeof change.expect !== "number"
  );
}

/** A change that always fails. It looks up a stored idempotent result, or rolls back the other changes. */
export const impossibleChange: Remove = {
  kind: "remove",
  collection: "-",
  id: "-",
  at: 0,
  expect: 0,
};

/** An attempt fails only when another write succeeds, so this many are hardly ever needed. */
const maxAttempts = 1_000;

/** Repeats reading and writing while other writers change the same state in between. */
export async function retryOnConflict<T>(attempt: () => Promise<T | undefined>): Promise<T> {
  for (let count = 0; count < maxAttempts; count++) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw new Outage("busy", "other requests keep changing the same resource");
}
