// Checks what a write needs before its content is read: a key, a precondition, a valid id.

import type { Rules } from "../../model/collection.ts";
import { definitionOf } from "../../model/definition.ts";
import type { Draft } from "../../model/draft.ts";
import { isResourceId } from "../../model/id.ts";
import { Problem } from "../../model/problem.ts";
import type { Resource } from "../../model/resource.ts";
import { preconditionFailed } from "../problems.ts";
import type { Condition } from "./operation.ts";

/** A collection may require an Idempotency-Key on POST. */
export function requireKey(rules: Rules | undefined, key: string | undefined): Problem | undefined {
  if (rules === undefined || key !== undefined) return undefined;
  return definitionOf(rules).idempotencyKey === "required" ? keyRequired : undefined;
}

/** A collection may require a precondition on every change. */
export function requirePrecondition(
  rules: Rules | undefined,
  condition: Condition | undefined,
): Problem | undefined {
  if (rules === undefined || condition?.isByTag) return undefined;
  return definitionOf(rules).preconditions === "required" ? preconditionRequired : undefined;
}

export function checkPrecondition(
  rules: Rules | undefined,
  condition: Condition | undefined,
  current: Resource | undefined,
): Problem | undefined {
  const isFailed = condition?.(current, rules) === false;
  return requirePrecondition(rules, condition) ?? (isFailed ? preconditionFailed : undefined);
}

/** Checks what does not depend on the current state. */
export function checkPutDraft(id: string, draft: Draft): Problem | undefined {
  if (!isResourceId(id)) return invalidId;
  return draft.id !== undefined && draft.id !== id ? idMismatch : undefined;
}

const preconditionRequired = new Problem(
  "precondition-required",
  "Send If-Match with the current ETag, or If-None-Match: * to create the resource.",
);

const keyRequired = new Problem(
  "key-required",
  "Send an Idempotency-Key, so that the request can be retried safely.",
);

const invalidId = new Problem("invalid-parameter", "The id in the URL is not valid.", {
  errors: [
    {
      parameter: "id",
      detail:
        "an id has 1 to 128 characters of A-Z a-z 0-9 . _ ~ -, and starts with a letter or digit",
    },
  ],
});

export const idMismatch = new Problem(
  "conflict",
  "The id in the body does not match the id in the URL.",
  {
    errors: [{ pointer: "/id", detail: "leave it out, or send the id of the URL" }],
  },
);
