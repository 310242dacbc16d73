// Converts rows to collections and resources.

import type { Collection } from "../../model/collection.ts";
import type { Resource } from "../../model/resource.ts";
import { assertIntact, type StoredResource } from "../core/checksum.ts";
import { toCollection } from "./collection.ts";
import type { Sql, Statement, Value } from "./connection.ts";

export type ResourceRow = readonly [...StoredResource, checksum: number | null];

export const resourceColumns = (sql: Sql): Statement =>
  sql`id, revision, created, updated, fields, owner, parts, shares_date, checksum`;

/** The columns of a collection, in the same number and order as those of a resource. */
export const collectionColumns = (sql: Sql): Statement =>
  sql`name, revision, created, updated, definition, NULL AS owner, NULL AS parts, shares_date,
    NULL::bigint AS checksum, total`;

/** Throws Damage when the checksum does not match. */
export function toResource(row: readonly [...ResourceRow, ...Value[]]): Resource {
  const [id, revision, createdAt, updatedAt, fields, owner, parts, sharesDate, checksum] = row;
  const stored = [
    id,
    revision,
    createdAt,
    updatedAt,
    fields,
    owner,
    parts,
    sharesDate,
  ] satisfies StoredResource;
  assertIntact(stored, checksum);
  return resourceIn(stored);
}

/** Does not check the checksum. */
export function resourceIn(stored: StoredResource): Resource {
  const [id, revision, createdAt, updatedAt, fields, owner, parts, sharesDate] = stored;
  const resource = { id, revision, createdAt, updatedAt, fields };
  if (owner === null && parts === null && sharesDate === 0) return resource;
  return {
    ...resource,
    ...(owner !== null && { owner }),
    ...(parts !== null && { parts }),
    ...(sharesDate === 1 && { sharesDate: true }),
  };
}

/** The first row of a result is the collection, so that it comes from the same snapshot as the resources. */
export type CollectionColumns = readonly [...ResourceRow, total: number, place: number];

export function collectionIn(row: readonly [...CollectionColumns, ...Value[]]): Collection {
  const [name, revision, createdAt, updatedAt, definition, , , sharesDate, , total] = row;
  return toCollection([name, revision, createdAt, updatedAt, definition, total, sharesDate]);
}
