// Applies a patch to a resource and validates the result.

import type { Rules } from "../model/collection.ts";
import { Problem } from "../model/problem.ts";
import type { Resource } from "../model/resource.ts";
import type { Caller } from "./access.ts";
import { type Accepted, accept, applyPatchTo, type WriteTarget } from "./validate.ts";
import { hideStoredErrors, mayRead, rejectReadingPatch, type SentPatch } from "./without-read.ts";

/** Who writes, to which collection and with which rules. */
export interface WriteContext {
  readonly caller: Caller;
  readonly collection: string;
  readonly rules: Rules | undefined;
  /** The prefix of every address. */
  readonly base: string;
}

export interface Patch extends SentPatch {
  /** The limit of the patched resource. */
  readonly maxBytes: number;
}

/** Returns the patched resource as it will be stored. */
export function acceptPatch(
  context: WriteContext,
  current: Resource,
  patch: Patch,
): Accepted | Problem {
  const { caller, collection, rules, base } = context;
  const { kind, text, maxBytes } = patch;
  const target = writeTargetOf(context, current.id, current);
  const rejected = target.isUnread && rejectReadingPatch(caller, collection, rules, patch);
  if (rejected) return rejected;
  const draft = applyPatchTo(rules, current, kind, text, {
    maxBytes,
    home: `${base}/${collection}`,
  });
  if (draft instanceof Problem) return draft;
  // The patched resource contains the stored values, so equal values are not a guess of the client.
  const accepted = accept(caller, rules, draft.fields, { ...target, isUnread: false });
  return accepted instanceof Problem && target.isUnread
    ? hideStoredErrors(accepted, patch)
    : accepted;
}

/** Returns the address of a resource with its current state. */
export function writeTargetOf(
  { caller, collection, rules, base }: WriteContext,
  id: string,
  current: Resource | undefined,
): WriteTarget {
  const isUnread = current !== undefined && !mayRead(caller, collection, rules, current);
  return { address: `${base}/${collection}/${id}`, current, isUnread };
}
