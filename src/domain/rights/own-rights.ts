// Tells callers what they may do themselves with a collection, or with one of its resources.

import type { Principal } from "../../model/principal.ts";
import type { Problem } from "../../model/problem.ts";
import type { Resource } from "../../model/resource.ts";
import type { OwnRights } from "../../model/schemas/access-query.ts";
import { allows, type Verb, verbs } from "../../model/token.ts";
import type { Store } from "../../store/store.ts";
import type { Access } from "../access.ts";
import type { CollectionAccess } from "../collection-access.ts";
import { collectionNotFound } from "../problems.ts";
import { notFound } from "../resources.ts";
import { type AppliedGrant, isNamed } from "../view.ts";

/** A caller without any right gets the same answer whether or not something exists. */
export async function ownRights(
  store: Store,
  access: Access,
  principal: Principal,
  name: string,
  id?: string,
): Promise<OwnRights | Problem> {
  const opened = await access.collection(principal, name);
  const isUsable = (verb: Verb) =>
    opened.rules === undefined ? allows(principal, name, verb) : opened.require(verb) === undefined;
  if (!verbs.some(isUsable)) return { read: false, create: false, update: false, delete: false };
  if (opened.rules === undefined) return collectionNotFound(name);
  const resource = id === undefined ? undefined : await store.find(name, id);
  if (id !== undefined && resource === undefined) return notFound(opened, id, "read");
  const allowed = await opened.decide(() => allowedGrants(opened, resource));
  const isSeen =
    opened.require("read") === undefined ? allowed.read : (allowed.update ?? allowed.delete);
  if (resource !== undefined && isSeen === undefined) return notFound(opened, resource.id, "read");
  const fixed = opened.caller.fixedFields;
  return {
    read: allowed.read !== undefined,
    create: writeRight(allowed.create, []),
    update: writeRight(allowed.update, fixed),
    delete: allowed.delete !== undefined,
  };
}

type AllowedGrants = Partial<Record<Verb, readonly AppliedGrant[]>>;

/** Returns the grants of each verb that hold for the resource. */
function allowedGrants(access: CollectionAccess, resource: Resource | undefined): AllowedGrants {
  const allowed: AllowedGrants = {};
  for (const verb of verbs) {
    if (access.require(verb) !== undefined) continue;
    const view = access.view(verb);
    const holding = resource === undefined ? view.grants : view.holding(resource, access.facts);
    if (holding.length > 0) allowed[verb] = holding;
  }
  return allowed;
}

/** Leaves out what is set for the caller and what cannot change, also as a part of something else. */
function writeRight(
  grants: readonly AppliedGrant[] | undefined,
  fixed: readonly string[],
): OwnRights["create"] {
  if (grants === undefined) return false;
  const fields = new Set<string>();
  for (const grant of grants) {
    if (grant.fields === undefined) return true;
    const others = [...fixed, ...Object.keys(grant.set ?? {})];
    for (const field of grant.fields) if (!isNamed(field, others)) fields.add(field);
  }
  return { fields: [...fields] };
}
