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
