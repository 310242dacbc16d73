// The problems that references cause: a missing target, a restricted deletion, or one that changes too much or what it may not.

import { type FieldError, Problem } from "../../model/problem.ts";
import type { ResourceAddress } from "../../model/reference.ts";
import { batchMemoryLimits } from "./batch-memory.ts";

/** How many of the resources that prevent a deletion are named. */
export const maxNamed = 10;

export const dangling = (errors: readonly FieldError[]): Problem =>
  new Problem("invalid-body", "The resource is not valid; `errors` lists each error.", { errors });

/** The resource was deleted after it was looked up. */
export const danglingNow = ({ collection, id }: ResourceAddress): Problem =>
  new Problem(
    "conflict",
    `The resource ${id} in ${collection}, to which this one refers, was deleted meanwhile. Nothing was stored.`,
  );

export function restricted(addresses: readonly string[]): Problem {
  const named = addresses.slice(0, maxNamed).join(", ");
  const which = named === "" ? "" : `: ${named}${addresses.length > maxNamed ? ", …" : ""}`;
  return new Problem(
    "conflict",
    `Other resources refer to this one${which}. Delete them or change their references first. Nothing was deleted.`,
  );
}

export const tooMany = (count: number, most: number): Problem =>
  new Problem(
    "conflict",
    `The deletion would delete or change ${count} other resources that refer to this one, and a request may do that with at most ${most}. Delete them first, in several requests.`,
  );

export const tooLarge = new Problem(
  "conflict",
  `The deletion would change other resources of over ${batchMemoryLimits.maxChangedBytes / 1024 / 1024} MiB together. Change their references first, in several requests.`,
);

export const requiredReference = (collection: string): Problem =>
  new Problem(
    "conflict",
    `A resource in ${collection} refers to this one, and its schema does not allow it without the reference. Nothing was deleted.`,
  );
