// A patch, judged on the state that it changes: what may be stored, or why not.

import type { Rules } from "../model/collection.ts";
import { Problem } from "../model/problem.ts";
import type { Resource } from "../model/resource.ts";
import type { Caller } from "./access.ts";
import { type Accepted, accept, applyPatchTo, type WriteTarget } from "./validate.ts";
import { mayRead, refuseAsking, type SentPatch, withoutStored } from "./without-read.ts";

/** Who writes where, and by which rules. */
export interface Writing {
  readonly caller: Caller;
  readonly collection: string;
  readonly rules: Rules | undefined;
  /** The beginning of every address. */
  readonly base: string;
}

export interface Patch extends SentPatch {
  /** Of the patched resource. */
  readonly maxBytes: number;
}

/** The patched resource as it may be stored. */
export function acceptPatch(writing: Writing, current: Resource, patch: Patch): Accepted | Problem {
  const { caller, collection, rules, base } = writing;
  const { kind, text, maxBytes } = patch;
  const site = siteOf(writing, current.id, current);
  const asking = site.isUnread && refuseAsking(caller, collection, rules, patch);
  if (asking) return asking;
  const draft = applyPatchTo(rules, current, kind, text, {
    maxBytes,
    home: `${base}/${collection}`,
  });
  if (draft instanceof Problem) return draft;
  // What is stored is in the patched resource, and no guess.
  const accepted = accept(caller, rules, draft.fields, { ...site, isUnread: false });
  return accepted instanceof Problem && site.isUnread ? withoutStored(accepted, patch) : accepted;
}

/** The address of a resource, with what is there. */
export function siteOf(
  { caller, collection, rules, base }: Writing,
  id: string,
  current: Resource | undefined,
): WriteTarget {
  const isUnread = current !== undefined && !mayRead(caller, collection, rules, current);
  return { address: `${base}/${collection}/${id}`, current, isUnread };
}
