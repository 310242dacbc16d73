// Makes the changes of the store that write planned states.

import type { Expectation, Put, Remove } from "../../store/store.ts";
import type { CollectionAccess } from "../collection-access.ts";
import type { Accepted } from "./validate.ts";

/** A collection that does not exist yet has no definition, which is version 0. */
export const versionOf = ({ rules }: CollectionAccess): number => rules?.version ?? 0;

/** What the access was decided by must still be so at the commit. */
export function decidedBy({ ruleReads }: CollectionAccess): Pick<Put, "unchanged"> {
  return ruleReads === undefined ? nothing : { unchanged: ruleReads };
}

const nothing = {};

export function putOf(
  access: CollectionAccess,
  id: string,
  accepted: Accepted,
  expect: Expectation,
  at: number,
): Put {
  const put = { kind: "put", collection: access.name, id, ...accepted, at, expect } as const;
  return { ...put, ...access.creator, rules: versionOf(access), ...decidedBy(access) };
}

export function removalOf(
  access: CollectionAccess,
  id: string,
  expect: Remove["expect"],
  at: number,
): Remove {
  const change = { kind: "remove", collection: access.name, id, at } as const;
  return { ...change, expect, rules: versionOf(access), ...decidedBy(access) };
}
