// Computes and validates what an operation on an existing or chosen address leaves there.

import type { Problem } from "../../model/problem.ts";
import type { Resource } from "../../model/resource.ts";
import type { CollectionAccess } from "../collection-access.ts";
import { resourceNotFound } from "../problems.ts";
import { acceptWrite } from "./allow.ts";
import type { BatchMemory } from "./batch-memory.ts";
import { acceptOperations } from "./operate.ts";
import type { AddressedOperation } from "./operation.ts";
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
    // With rules, only what the caller sees counts.
    const isUnread = !access.bound && current !== undefined && !access.mayRead(current);
    const place = { id, at, address: `${collectionUrl}/${id}`, current, isUnread };
    const accepted = checkPutDraft(id, draft) ?? acceptWrite(access, draft.fields, place);
    return access.principal.kind === "system" ? withSentOwner(accepted, draft) : accepted;
  }
  if (current === undefined) return resourceNotFound;
  if (operation.kind === "operate")
    return acceptOperations(access, current, operation.operations, context);
  const { patchKind, patch } = operation;
  const sent = { kind: patchKind, text: patch };
  return acceptPatch(access, current, sent, { at, maxBytes, collectionUrl });
}
