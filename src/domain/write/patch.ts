// Applies a patch to a resource and validates the result.

import { isObject, textOf, writeTree } from "../../lib/json/tree.ts";
import { type Draft, draftOf } from "../../model/draft.ts";
import { applyPatch } from "../../model/patch.ts";
import { type FieldError, Problem } from "../../model/problem.ts";
import { renderFields } from "../../model/render.ts";
import { ignoredMembers, type Resource } from "../../model/resource.ts";
import type { CollectionAccess } from "../collection-access.ts";
import { idMismatch } from "./requirements.ts";
import { type Accepted, accept } from "./validate.ts";
import { hideStoredErrors, rejectReadingPatch, type SentPatch } from "./without-read.ts";

export interface PatchContext {
  /** The limit of the patched resource. */
  readonly maxBytes: number;
  /** The URL of the collection. */
  readonly collectionUrl: string;
}

/** Returns the patched resource as it will be stored. */
export function acceptPatch(
  access: CollectionAccess,
  current: Resource,
  patch: SentPatch,
  context: PatchContext,
): Accepted | Problem {
  const isUnread = !access.mayRead(current);
  const rejected = isUnread && rejectReadingPatch(access, patch);
  if (rejected) return rejected;
  const draft = applyPatchTo(access, current, patch, context);
  if (draft instanceof Problem) return draft;
  // The patched resource contains the stored values, so equal values are not a guess of the client.
  const address = `${context.collectionUrl}/${current.id}`;
  const accepted = accept(access, draft.fields, { address, current });
  return accepted instanceof Problem && isUnread ? hideStoredErrors(accepted, patch) : accepted;
}

/** Patches the visible fields only, so that no patch reads hidden ones. */
function applyPatchTo(
  { rules }: CollectionAccess,
  current: Resource,
  { kind, text: patch }: SentPatch,
  { maxBytes, collectionUrl }: PatchContext,
): Draft | Problem {
  const result = applyPatch(kind, renderFields(rules, current, collectionUrl), patch, maxBytes);
  if (result instanceof Problem) return result;
  const { tree, isStrict } = result;
  if (isObject(tree)) {
    if (tree.members.has("id") && textOf(tree, "id") !== current.id) return idMismatch;
    // The server sets these members, so they do not count as the client's.
    for (const name of ignoredMembers) tree.members.delete(name);
  }
  const text = writeTree(tree);
  const draft = isStrict ? { fields: text, id: undefined } : draftOf(text);
  if (!("fields" in draft)) return invalidResult(draft);
  const isTooLarge = Buffer.byteLength(draft.fields) > maxBytes;
  const detail = `it would be larger than ${maxBytes} bytes`;
  return isTooLarge ? invalidResult([{ pointer: "", detail }]) : draft;
}

const invalidResult = (errors: readonly FieldError[]): Problem =>
  new Problem(
    "invalid-body",
    "The patched resource would not be valid; `errors` lists each error.",
    { errors },
  );
