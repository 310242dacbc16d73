// The problems that several parts of the domain share.

import { isCollectionName } from "../model/id.ts";
import { Problem } from "../model/problem.ts";

export const collectionNotFound = (name: string): Problem =>
  new Problem(
    "not-found",
    isCollectionName(name)
      ? `There is no collection "${name}". Create it with PUT /-/collections/${name}, or POST to it with an admin token.`
      : "A collection name has 1 to 63 characters of a-z, 0-9, _ and -, and starts with a letter or digit.",
  );

export const resourceNotFound = new Problem("not-found", "There is no resource at this address.");

/** Sent before memory runs out; a client can retry. */
export const overloaded = new Problem(
  "unavailable",
  "The requests and responses in flight use all the memory that the server allows for them. Nothing was stored; try again later.",
);

/** Nobody reads it, but it is logged. */
export const clientLeft = new Problem("unavailable", "The client has left before its query ended.");

/** The text does not reveal the current position of the collection. */
export const positionGone = new Problem(
  "gone",
  "This position belongs to another history of the collection, or to another caller: the collection was deleted and created again, or restored from a backup. Start again from since=0 and make a new copy.",
);

export const positionExpired = new Problem(
  "gone",
  "This position is too old: the server no longer stores what was removed after it. Start again from since=0 and make a new copy.",
);

const again = "Start again from since=0 and make a new copy.";

/** These name no rule. */
export const rulesChanged = new Problem(
  "gone",
  `The rules of this collection have changed since this position. ${again}`,
);

export const shownChanged = new Problem(
  "gone",
  `The filters are not those of this position, or a new definition of this collection hides other fields or compares their values otherwise. ${again}`,
);

export const viewChanged = new Problem(
  "gone",
  `What you may read has changed since this position, because your sets, roles or scopes have; or the position belongs to another caller, or to other filters. ${again}`,
);

export const relatedChanged = new Problem(
  "gone",
  `What the rules of this collection refer to has changed since this position. ${again}`,
);

export const preconditionFailed = new Problem(
  "precondition-failed",
  "The current state of the resource does not match the precondition. Nothing was changed.",
);

export const preconditionRequired = new Problem(
  "precondition-required",
  "Send If-Match with the current ETag, or If-None-Match: * to create the resource.",
);

export const keyRequired = new Problem(
  "key-required",
  "Send an Idempotency-Key, so that the request can be retried safely.",
);

export const insufficientScope = (scope: string): Problem =>
  new Problem("insufficient-scope", `The token needs the scope ${scope}.`, { scope });

export const unauthenticated = new Problem(
  "unauthenticated",
  "Send a token: `Authorization: Bearer rst_…`.",
);

export const notAllowed = new Problem(
  "forbidden",
  "This caller may not do this in this collection.",
);

export const tokenEnded = new Problem(
  "unauthenticated",
  "The token was revoked or has expired meanwhile. What was not reported as written is not stored.",
);
