// What the outcomes of changes mean to the caller.

import { pointerTo } from "../lib/json/error-report.ts";
import type { Rules } from "../model/collection.ts";
import { Problem } from "../model/problem.ts";
import type { Resource } from "../model/resource.ts";
import { failureOf, Outage, type Outcome, type Put, type Remove } from "../store/store.ts";

export interface Written {
  readonly resource: Resource;
  /** By which it was judged, and is shown; none when the collection has just come into being. */
  readonly rules: Rules | undefined;
  readonly isNew: boolean;
  /** The answer to the same request, which came before. */
  readonly isReplay: boolean;
}

/** What was written, or why it never can be; undefined when it has to be judged again. */
export function writeResultOf(
  outcome: Outcome,
  rules: Rules | undefined,
): Written | Problem | undefined {
  return conflictIn(outcome) ?? writtenBy(outcome, rules);
}

/** Undefined when it was not written. */
function writtenBy(outcome: Outcome, rules: Rules | undefined): Written | undefined {
  if (outcome.kind === "all") {
    const [first] = outcome.outcomes;
    const written = first && writtenBy(first, rules);
    return written && { ...written, isReplay: outcome.isReplay };
  }
  if (outcome.kind !== "created" && outcome.kind !== "replaced") return undefined;
  return { resource: outcome.resource, rules, isNew: outcome.kind === "created", isReplay: false };
}

export function conflictIn(outcome: Outcome): Problem | undefined {
  const failed = failureOf(outcome);
  return failed.kind === "conflict" ? notUnique(failed.field) : undefined;
}

export function notUnique(field: string): Problem {
  const pointer = pointerTo(field.split("."));
  const errors = [{ pointer, detail: "another resource has this value, and it must be unique" }];
  return new Problem("conflict", `${field} must be unique. Nothing was stored.`, { errors });
}

/** Whether the changes failed for want of a collection: only then is a put missing what it did not expect. */
export function lacksCollection(
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

/** A change that cannot happen: asks for a kept answer, or undoes the changes beside it. */
export const impossible: Remove = { kind: "remove", collection: "-", id: "-", at: 0, expect: 0 };

/** Each new attempt means that another's write got through, so this many are hardly ever needed. */
const maxAttempts = 1_000;

/** Between reading and writing somebody else may write; then it is read and judged again. */
export async function retryOnConflict<T>(attempt: () => Promise<T | undefined>): Promise<T> {
  for (let count = 0; count < maxAttempts; count++) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw new Outage("busy", "others keep changing the same resource");
}
