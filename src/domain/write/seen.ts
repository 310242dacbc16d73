// What a caller sees of a resource that it writes, by the rules of the collection.

import { draftOf } from "../../model/draft.ts";
import { projectionOf } from "../../model/query/projection.ts";
import { rendererOf } from "../../model/render.ts";
import type { Resource } from "../../model/resource.ts";
import type { CollectionAccess } from "../collection-access.ts";

/** The fields that the caller sees; undefined for all. Under shorthands, a writer who may not read patches all, too. */
export function seenFields(
  access: CollectionAccess,
  resource: Resource,
): readonly string[] | undefined {
  if (access.caller.writesWhole) return undefined;
  const mask = access.maskNow(resource);
  return mask === undefined ? [] : mask.fields;
}

/** The representation with what the caller sees. */
export function seenDocument(
  access: CollectionAccess,
  resource: Resource,
  collectionUrl: string,
): string {
  const fields = seenFields(access, resource);
  const whole = rendererOf(access.rules)(resource, collectionUrl);
  return fields === undefined ? whole : projectionOf(["createdAt", ...fields])(whole);
}

/** The fields and files that the caller sees, as it would send them. `address` is that of the resource. */
export function seenDraft(access: CollectionAccess, resource: Resource, address: string): string {
  const collectionUrl = address.slice(0, address.lastIndexOf("/"));
  const draft = draftOf(seenDocument(access, resource, collectionUrl));
  if (!("fields" in draft)) throw new Error("a representation must be valid JSON");
  return draft.fields;
}
