// What a caller sees of one resource: the fields of all read grants that hold for it.

import { projectionOf } from "../model/query/projection.ts";
import type { Renderer } from "../model/render.ts";
import type { Resource } from "../model/resource.ts";
import type { CollectionAccess } from "./collection-access.ts";

/** Returns undefined when the caller sees all fields. */
export function shownFields(
  { bound, facts }: CollectionAccess,
  resource: Resource,
): readonly string[] | undefined {
  if (bound === undefined) return undefined;
  const holding = bound.view("read")?.holding(resource, facts) ?? [];
  const isWhole = holding.some(({ fields }) => fields === undefined);
  return isWhole ? undefined : holding.flatMap(({ fields = [] }) => fields);
}

/** Renders what the caller sees of a resource. */
export function renderShown(
  access: CollectionAccess,
  resource: Resource,
  render: Renderer,
  collectionUrl: string,
): string {
  const fields = shownFields(access, resource);
  const whole = render(resource, collectionUrl);
  return fields === undefined ? whole : projectionOf(["createdAt", ...fields])(whole);
}
