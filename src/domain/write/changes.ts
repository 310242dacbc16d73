// Makes the changes of the store that write planned states.

import { callerTokenOf } from "../../model/principal.ts";
import type { Decided, Expectation, Put, Remove } from "../../store/store.ts";
import type { CollectionAccess } from "../collection-access.ts";
import type { Accepted } from "./validate.ts";

/** A collection that does not exist yet has no definition, which is version 0. */
const versionOf = ({ rules }: CollectionAccess): number => rules?.version ?? 0;

/** What the access was decided by must still be so at the commit. */
export function decidedBy({ principal, ruleReads }: CollectionAccess): Decided {
  const callerToken = callerTokenOf(principal);
  return ruleReads === undefined ? { callerToken } : { callerToken, unchanged: ruleReads };
}

export function putOf(
  access: CollectionAccess,
  id: string,
  accepted: Accepted,
  expect: Expectation,
  at: number,
): Put {
  const { name: collection, isOwned, ruleReads } = access;
  const rules = versionOf(access);
  const { fields, files, setOwner, named } = accepted;
  const callerToken = callerTokenOf(access.principal);
  const put = { kind: "put", collection, id, fields, at, expect, rules, callerToken } as const;
  // Most puts have no more than that, and a copy takes longer than all of it.
  const isShort = (files ?? named ?? ruleReads) === undefined && setOwner === undefined;
  if (isShort && !isOwned && access.rules !== undefined) return put;
  const creation = access.createsCollection ? ({ createsCollection: true } as const) : {};
  return { ...put, ...accepted, ...access.creator, ...decidedBy(access), ...creation };
}

/** Creates a resource with an id that was made for it. */
export const newPutOf = (
  access: CollectionAccess,
  id: string,
  accepted: Accepted,
  at: number,
): Put => Object.assign(putOf(access, id, accepted, "nothing", at), { isNewId: true } as const);

export function removalOf(
  access: CollectionAccess,
  id: string,
  expect: Remove["expect"],
  at: number,
): Remove {
  const change = { kind: "remove", collection: access.name, id, at } as const;
  return { ...change, expect, rules: versionOf(access), ...decidedBy(access) };
}
