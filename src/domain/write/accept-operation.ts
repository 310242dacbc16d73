// Computes and validates what an operation on an existing or chosen address leaves there.

import { addFileMembers } from "../../model/file.ts";
import type { Problem } from "../../model/problem.ts";
import type { Resource } from "../../model/resource.ts";
import type { CollectionAccess } from "../collection-access.ts";
import { resourceNotFound } from "../problems.ts";
import { acceptFile, withTimes } from "./accept-file.ts";
import { acceptWrite } from "./allow.ts";
import type { BatchMemory } from "./batch-memory.ts";
import { acceptOperations } from "./operate.ts";
import { type AddressedOperation, filesOf } from "./operation.ts";
import { withSentOwner } from "./owner-patch.ts";
import { acceptPatch } from "./patch.ts";
import { type Accepted, checkPutDraft } from "./validate.ts";

export interface AcceptContext {
  readonly at: number;
  /** The limit of a patched resource. */
  readonly maxBytes: number;
  /** The prefix of every address. */
  readonly base: string;
  readonly memory: BatchMemory | undefined;
}

/** Returns what will be stored, or a problem. */
export function acceptOperation(
  access: CollectionAccess,
  operation: Exclude<AddressedOperation, { kind: "remove" }>,
  current: Resource | undefined,
  context: AcceptContext,
): Accepted | Problem {
  const { id } = operation;
  const { at, maxBytes, base } = context;
  const collectionUrl = `${base}/${access.name}`;
  if (operation.kind === "put") {
    const { draft } = operation;
    const files = withTimes(operation.files ?? [], current, at);
    // With grants, only what the caller sees counts.
    const isUnread = access.caller.writesWhole && current !== undefined && !access.mayRead(current);
    const place = { id, at, address: `${collectionUrl}/${id}`, current, files, isUnread };
    const fields = addFileMembers(draft.fields, files, place.address);
    const accepted = checkPutDraft(id, draft) ?? acceptWrite(access, fields, place);
    return access.principal.kind === "system" ? withSentOwner(accepted, draft) : accepted;
  }
  if (current === undefined) return resourceNotFound;
  if (operation.kind === "operate")
    return acceptOperations(access, current, operation.operations, context);
  const patchContext = { at, maxBytes, collectionUrl };
  if (operation.kind === "file") {
    const [file] = withTimes(filesOf(operation), current, at);
    const { slot } = operation;
    return acceptFile(access, current, { slot, file }, patchContext);
  }
  const { patchKind, patch } = operation;
  const files = withTimes(operation.files ?? [], current, at);
  const text = files.length === 0 ? patch : addFileMembers(patch, files, `${collectionUrl}/${id}`);
  return acceptPatch(access, current, { kind: patchKind, text, files }, patchContext);
}
