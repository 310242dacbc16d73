// Applies a patch to a resource and validates the result.

import { isObject, type ObjectTree, readTree, textOf, writeTree } from "../../lib/json/tree.ts";
import { type Draft, draftOf } from "../../model/draft.ts";
import { memberOf, type StoredFile } from "../../model/file.ts";
import { applyPatch } from "../../model/patch.ts";
import { type FieldError, Problem } from "../../model/problem.ts";
import { ignoredMembers, type Resource } from "../../model/resource.ts";
import type { CollectionAccess } from "../collection-access.ts";
import { insufficientScope } from "../problems.ts";
import { acceptWrite } from "./allow.ts";
import { namesOwner, ownerAfter, withOwner } from "./owner-patch.ts";
import { seenDocument } from "./seen.ts";
import { type Accepted, idMismatch } from "./validate.ts";
import { hideStoredErrors, rejectReadingPatch, type SentPatch } from "./without-read.ts";

export interface PatchContext {
  readonly at: number;
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
  const patched = applyPatchTo(access, current, patch, context);
  if (patched instanceof Problem) return patched;
  const { draft, setOwner } = patched;
  // The patched resource contains the stored values, so equal values are not a guess of the client.
  const address = `${context.collectionUrl}/${current.id}`;
  const { files = [] } = patch;
  const place = { id: current.id, at: context.at, address, current, files };
  const accepted = acceptWrite(access, draft.fields, place);
  if (accepted instanceof Problem) return isUnread ? hideStoredErrors(accepted, patch) : accepted;
  return setOwner === undefined ? accepted : { ...accepted, setOwner };
}

interface PatchedDraft {
  readonly draft: Draft;
  /** The new owner; null for none, undefined when the patch does not change it. */
  readonly setOwner: string | null | undefined;
}

/** Patches the visible fields only, so that no patch reads hidden ones. */
function applyPatchTo(
  access: CollectionAccess,
  current: Resource,
  { kind, text: patch, files = [] }: SentPatch,
  { maxBytes, collectionUrl }: PatchContext,
): PatchedDraft | Problem {
  const isOwnerNamed = namesOwner(kind, patch);
  if (isOwnerNamed && !access.isAdmin) return insufficientScope("admin");
  const view = seenDocument(access, current, collectionUrl);
  const document = isOwnerNamed ? withOwner(view, current) : view;
  const result = applyPatch(kind, document, patch, maxBytes);
  if (result instanceof Problem) return result;
  const { tree, isStrict } = result;
  const setOwner = isOwnerNamed ? ownerAfter(tree, current) : undefined;
  if (setOwner instanceof Problem) return setOwner;
  if (isObject(tree)) {
    if (tree.members.has("id") && textOf(tree, "id") !== current.id) return idMismatch;
    // The server sets these members, so they do not count as the client's.
    for (const name of ignoredMembers) tree.members.delete(name);
    setFileMembers(tree, patch, files);
  }
  const text = writeTree(tree);
  const draft = isStrict ? { fields: text, id: undefined } : draftOf(text);
  if (!("fields" in draft)) return invalidResult(draft);
  const isTooLarge = Buffer.byteLength(draft.fields) > maxBytes;
  const detail = `it would be larger than ${maxBytes} bytes`;
  return isTooLarge ? invalidResult([{ pointer: "", detail }]) : { draft, setOwner };
}

/** A file is replaced as a whole, and not merged with what was there. */
function setFileMembers(tree: ObjectTree, patch: string, files: readonly StoredFile[]): void {
  const sent = files.length === 0 ? undefined : readTree(patch);
  if (!isObject(sent)) return;
  for (const member of files.map(memberOf)) {
    const value = sent.members.get(member);
    if (value !== undefined) tree.members.set(member, value);
  }
}

const invalidResult = (errors: readonly FieldError[]): Problem =>
  new Problem(
    "invalid-body",
    "The patched resource would not be valid; `errors` lists each error.",
    { errors },
  );
