// What a collection and its resources look like as rows of one answer.

import type { Collection } from "../../model/collection.ts";
import type { Resource } from "../../model/resource.ts";
import { toCollection } from "./collection.ts";
import type { Value } from "./connection.ts";

export type ResourceRow = readonly [
  id: string,
  revision: number,
  createdAt: number,
  updatedAt: number,
  fields: string,
  owner: string | null,
  parts: string | null,
];

export function toResource(row: readonly [...ResourceRow, ...Value[]]): Resource {
  const [id, revision, createdAt, updatedAt, fields, owner, parts] = row;
  const resource = { id, revision, createdAt, updatedAt, fields };
  if (parts !== null)
    return owner === null ? { ...resource, parts } : { ...resource, owner, parts };
  return owner === null ? resource : { ...resource, owner };
}

/** The first row is the collection, the rest is in it: two questions would be answered at two moments. */
export type ShelfRow = readonly [...ResourceRow, total: number, place: number];

export function collectionIn(row: readonly [...ShelfRow, ...Value[]]): Collection {
  const [name, revision, createdAt, updatedAt, definition, , , total] = row;
  return toCollection([name, revision, createdAt, updatedAt, definition, total]);
}
