// Lets an admin change the owner of a resource with the member `_owner` of a patch, and the operator with that of a draft.

import { isObject, type Tree, textOf } from "../../lib/json/tree.ts";
import { memberOf } from "../../lib/own-property.ts";
import type { Draft } from "../../model/draft.ts";
import type { PatchKind } from "../../model/patch.ts";
import { Problem } from "../../model/problem.ts";
import { withMember } from "../../model/render.ts";
import { ownerMember, type Resource } from "../../model/resource.ts";
import { subjectMessage, subjectPattern } from "../../model/token.ts";
import type { Accepted } from "./validate.ts";

/** Whether a patch sets, removes or tests the owner. */
export function namesOwner(kind: PatchKind, patch: string): boolean {
  // Most patches do not contain the name, also not escaped.
  if (!patch.includes("owner") && !patch.includes("\\u")) return false;
  const parsed: unknown = JSON.parse(patch);
  if (kind === "merge")
    return typeof parsed === "object" && parsed !== null && Object.hasOwn(parsed, ownerMember);
  return Array.isArray(parsed) && parsed.some(isAboutOwner);
}

const isAboutOwner = (operation: unknown): boolean =>
  [memberOf(operation, "path"), memberOf(operation, "from")].includes(`/${ownerMember}`);

/** Adds the owner to the document that an admin patches. */
export const withOwner = (view: string, { owner }: Resource): string =>
  withMember(view, ownerMember, owner ?? null);

/** Returns the owner that a patched document has: null for none, undefined when it is the current one. */
export function ownerAfter(
  patched: Tree,
  { owner: current }: Resource,
): string | null | undefined | Problem {
  const member = isObject(patched) ? patched.members.get(ownerMember) : undefined;
  if (member === undefined || member === "null") return current === undefined ? undefined : null;
  const owner = isObject(patched) ? textOf(patched, ownerMember) : undefined;
  if (owner === undefined || !subjectPattern.test(owner)) return invalidOwner;
  return owner === current ? undefined : owner;
}

/** Sets the owner that a draft of the operator names. */
export function withSentOwner(accepted: Accepted | Problem, { owner }: Draft): Accepted | Problem {
  if (accepted instanceof Problem || owner === undefined) return accepted;
  const isOwner = owner === null || (typeof owner === "string" && subjectPattern.test(owner));
  return isOwner ? { ...accepted, setOwner: owner } : invalidOwner;
}

const invalidOwner = new Problem(
  "invalid-body",
  "The resource would not be valid; `errors` lists each error.",
  { errors: [{ pointer: `/${ownerMember}`, detail: `${subjectMessage}, or be null for none` }] },
);
