// Resources in SQL: each of these is one question, and what it tells is of one moment.

import type { Resource } from "../../model/resource.ts";
import type { Feed, Range, Removal, Slice } from "../store.ts";
import { toCollection } from "./collection.ts";
import { column, rows, type Sql, type Value } from "./connection.ts";
import { walk } from "./holes.ts";

export interface Address {
  readonly collection: string;
  readonly id: string;
}

type ResourceRow = readonly [
  id: string,
  revision: number,
  createdAt: number,
  updatedAt: number,
  fields: string,
  ...Value[],
];

function toResource([id, revision, createdAt, updatedAt, fields]: ResourceRow): Resource {
  return { id, revision, createdAt, updatedAt, fields };
}

/** The resources at the addresses, in the same order. */
export async function findResources(
  sql: Sql,
  addresses: readonly Address[],
): Promise<readonly (Resource | undefined)[]> {
  const found = await rows<readonly [string, number, number, number, string, number: number]>(sql`
    SELECT resource.*, number
    FROM unnest(${column(addresses, "collection")}::text[], ${column(addresses, "id")}::text[])
      WITH ORDINALITY AS wanted (collection, id, number)
    CROSS JOIN LATERAL (
      SELECT id, revision, created, updated, fields FROM resources
      WHERE collection = (SELECT key FROM collections WHERE name = wanted.collection)
        AND id = wanted.id AND fields IS NOT NULL
      LIMIT 1
    ) AS resource`);
  const resources = new Array<Resource | undefined>(addresses.length).fill(undefined);
  for (const row of found) resources[row[5] - 1] = toResource(row);
  return resources;
}

/** The first row is the collection, the rest is in it: two questions would be answered at two moments. */
type ShelfRow = readonly [
  name: string,
  revision: number,
  createdAt: number,
  updatedAt: number,
  content: string,
  total: number,
  place: number,
];

export async function readSlice(
  sql: Sql,
  collection: string,
  { offset, limit, order }: Range,
): Promise<Slice | undefined> {
  const isForward = order === "created";
  const index = isForward ? sql`${offset}::bigint` : sql`total - 1 - ${offset}::bigint`;
  const onward = isForward
    ? sql`seq > walk.start ORDER BY seq`
    : sql`seq <= walk.start + 1 ORDER BY seq DESC`;
  const [shelf, ...found] = await rows<ShelfRow>(sql`
    WITH RECURSIVE shelf AS (
      SELECT *, ${index} AS index FROM collections WHERE name = ${collection}
    ),
    ${walk(sql)}
    SELECT name, revision, created, updated, definition, total, 0 AS place FROM shelf
    UNION ALL
    SELECT resource.*
    FROM walk CROSS JOIN LATERAL (
      SELECT id, revision, created, updated, fields, 0::bigint, seq FROM resources
      WHERE collection = (SELECT key FROM shelf) AND ${onward} LIMIT ${limit}::bigint
    ) AS resource
    WHERE level = -1
    ORDER BY place`);
  if (!shelf) return undefined;
  const resources = found.map(toResource);
  return {
    collection: toCollection(shelf),
    resources: isForward ? resources : resources.reverse(),
  };
}

/** A resource that is gone has no content. */
type EntryRow = readonly [string, number, number, number, string | null, number, number];

export async function readFeed(
  sql: Sql,
  collection: string,
  revision: number,
  limit: number,
): Promise<Feed | undefined> {
  const [shelf, ...found] = await rows<EntryRow>(sql`
    WITH shelf AS (SELECT * FROM collections WHERE name = ${collection})
    SELECT name, revision, created, updated, definition, total, 0 AS place FROM shelf
    UNION ALL
    (
      SELECT id, revision, created, updated, fields, 0::bigint, revision FROM resources
      WHERE collection = (SELECT key FROM shelf) AND revision > ${revision}::bigint
      ORDER BY revision LIMIT ${limit}::bigint
    )
    ORDER BY place`);
  if (!shelf) return undefined;
  return { collection: toCollection(shelf as ShelfRow), entries: found.map(toEntry) };
}

function toEntry([id, revision, createdAt, updatedAt, fields]: EntryRow): Resource | Removal {
  if (fields === null) return { kind: "removal", id, revision, removedAt: updatedAt };
  return { id, revision, createdAt, updatedAt, fields };
}
