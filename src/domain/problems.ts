// Why a change to a resource is refused, whoever asks for it and by whichever way.

import type { Rules } from "../model/collection.ts";
import { definitionOf } from "../model/definition.ts";
import type { Draft } from "../model/draft.ts";
import { isCollectionName, isResourceId } from "../model/id.ts";
import { Problem } from "../model/problem.ts";
import type { Resource } from "../model/resource.ts";

/** What a client says of the state it wants to change; judged against the state as it is, and is shown. */
export interface Condition {
  (current: Resource | undefined, rules: Rules | undefined): boolean;
  /** Whether it names tags. A date does not suffice: within its second there may be another change. */
  readonly isByTag: boolean;
}

/** A collection may demand that a change names the state it means. */
export function requirePrecondition(
  rules: Rules | undefined,
  condition: Condition | undefined,
): Problem | undefined {
  if (rules === undefined || condition?.isByTag) return undefined;
  return definitionOf(rules).preconditions === "required" ? preconditionRequired : undefined;
}

/** A collection may demand that a POST can be retried. */
export function requireKey(rules: Rules | undefined, key: string | undefined): Problem | undefined {
  if (rules === undefined || key !== undefined) return undefined;
  return definitionOf(rules).idempotencyKey === "required" ? keyRequired : undefined;
}

/** What is wrong with putting this there, whatever is there now. */
export function refusePutDraft(id: string, draft: Draft): Problem | undefined {
  if (!isResourceId(id)) return invalidId;
  return draft.id !== undefined && draft.id !== id ? idMismatch : undefined;
}

export const collectionNotFound = (name: string): Problem =>
  new Problem(
    "not-found",
    isCollectionName(name)
      ? `There is no collection "${name}". A POST by an admin token brings one into being.`
      : "A collection's name is 1 to 63 of a-z, 0-9, _ and -, and starts with a letter or digit.",
  );

export const resourceNotFound = new Problem("not-found", "There is no resource at this address.");

/** Of what is removed nobody knows any more whose it was. */
export const othersHidden = new Problem(
  "invalid-parameter",
  "In this collection everyone sees only their own, so its changes are for admin tokens.",
  { errors: [{ parameter: "since", detail: "read the list instead, or use an admin token" }] },
);

/** Answered before memory runs out; a client retries. */
export const overloaded = new Problem(
  "unavailable",
  "Requests and answers in flight hold as many bytes as the server allows. Nothing was stored; try again.",
);

/** It says nothing of where the collection is now. */
export const positionGone = new Problem(
  "gone",
  "This position is not one of the collection as it is now. Make a new copy, from since=0.",
);

export const preconditionFailed = new Problem(
  "precondition-failed",
  "The resource is not in the state that the precondition names. Nothing was changed.",
);

const preconditionRequired = new Problem(
  "precondition-required",
  "Send If-Match with the ETag that you have read, or If-None-Match: * to create.",
);

const keyRequired = new Problem(
  "key-required",
  "Send an Idempotency-Key, so that the request can be retried without harm.",
);

export const keyReused = new Problem(
  "key-reused",
  "This Idempotency-Key came before with another request. Nothing was done.",
);

export const createdAndGone = new Problem(
  "gone",
  "The request with this Idempotency-Key was done, and what it created was deleted since. Nothing was done again; take a new key to create it anew.",
);

const invalidId = new Problem("invalid-parameter", "Nothing can be put at this address.", {
  errors: [
    {
      parameter: "id",
      detail: "an id is 1 to 128 of A-Z a-z 0-9 . _ ~ -, and starts with a letter or digit",
    },
  ],
});

export const idMismatch = new Problem("conflict", "The id in the body is not the one in the URL.", {
  errors: [{ pointer: "/id", detail: "leave it out, or make it the last part of the URL" }],
});
