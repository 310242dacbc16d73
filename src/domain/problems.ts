// The problems that every way of reading and changing resources shares.

import type { Rules } from "../model/collection.ts";
import { definitionOf } from "../model/definition.ts";
import type { Draft } from "../model/draft.ts";
import { isCollectionName, isResourceId } from "../model/id.ts";
import { Problem } from "../model/problem.ts";
import type { Resource } from "../model/resource.ts";

/** A precondition of the client, evaluated against the current state as the client sees it. */
export interface Condition {
  (current: Resource | undefined, rules: Rules | undefined): boolean;
  /** Whether it compares entity tags. A date is too coarse: two changes can share a second. */
  readonly isByTag: boolean;
}

/** A collection may require a precondition on every change. */
export function requirePrecondition(
  rules: Rules | undefined,
  condition: Condition | undefined,
): Problem | undefined {
  if (rules === undefined || condition?.isByTag) return undefined;
  return definitionOf(rules).preconditions === "required" ? preconditionRequired : undefined;
}

/** A collection may require an Idempotency-Key on POST. */
export function requireKey(rules: Rules | undefined, key: string | undefined): Problem | undefined {
  if (rules === undefined || key !== undefined) return undefined;
  return definitionOf(rules).idempotencyKey === "required" ? keyRequired : undefined;
}

/** Checks what does not depend on the current state. */
export function checkPutDraft(id: string, draft: Draft): Problem | undefined {
  if (!isResourceId(id)) return invalidId;
  return draft.id !== undefined && draft.id !== id ? idMismatch : undefined;
}

export const collectionNotFound = (name: string): Problem =>
  new Problem(
    "not-found",
    isCollectionName(name)
      ? `There is no collection "${name}". Create it with PUT /-/collections/${name}, or POST to it with an admin token.`
      : "A collection name has 1 to 63 characters of a-z, 0-9, _ and -, and starts with a letter or digit.",
  );

export const resourceNotFound = new Problem("not-found", "There is no resource at this address.");

/** A deleted resource no longer has an owner, so the feed cannot be filtered by owner. */
export const feedForbidden = new Problem(
  "invalid-parameter",
  "Callers see only their own resources in this collection, so only admin tokens may read its changes.",
  { errors: [{ parameter: "since", detail: "read the list instead, or use an admin token" }] },
);

/** Sent before memory runs out; a client can retry. */
export const overloaded = new Problem(
  "unavailable",
  "The requests and responses in flight use all the memory that the server allows for them. Nothing was stored; try again later.",
);

/** The text does not reveal the current position of the collection. */
export const positionGone = new Problem(
  "gone",
  "This position is no longer valid. Start again from since=0 and make a new copy.",
);

export const preconditionFailed = new Problem(
  "precondition-failed",
  "The current state of the resource does not match the precondition. Nothing was changed.",
);

const preconditionRequired = new Problem(
  "precondition-required",
  "Send If-Match with the current ETag, or If-None-Match: * to create the resource.",
);

const keyRequired = new Problem(
  "key-required",
  "Send an Idempotency-Key, so that the request can be retried safely.",
);

export const keyReused = new Problem(
  "key-reused",
  "This Idempotency-Key was already used for a different request. Nothing was changed.",
);

export const createdThenDeleted = new Problem(
  "gone",
  "A resource created with this Idempotency-Key has since been deleted. Nothing was created; use a new key to create it again.",
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
