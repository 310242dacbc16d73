// Resources in SQL: each of these is one question, and what it tells is of one moment.

import type { Collection } from "../../model/collection.ts";
import type { Candidate } from "../../model/list/query.ts";
import type { Resource } from "../../model/resource.ts";
import type { Feed, Range, Removal, Slice } from "../store.ts";
import { column, rows, type Sql, type Value } from "./connection.ts";
import { walk } from "./holes.ts";
import { collectionIn, type ResourceRow, type ShelfRow, toResource } from "./row.ts";

export interface Address {
  readonly collection: string;
  readonly id: string;
}

/** The resources at the addresses, in the same order. */
export async function findResources(
  sql: Sql,
  addresses: readonly Address[],
): Promise<readonly (Resource | undefined)[]> {
  const found = await rows<readonly [...ResourceRow, number: number]>(sql`
    SELECT resource.*, number
    FROM unnest(${column(addresses, "collection")}::text[], ${column(addresses, "id")}::text[])
      WITH ORDINALITY AS wanted (collection, id, number)
    CROSS JOIN LATERAL (
      SELECT id, revision, created, updated, fields, owner, parts FROM resources
      WHERE collection = (SELECT key FROM collections WHERE name = wanted.collection)
        AND id = wanted.id AND fields IS NOT NULL
      LIMIT 1
    ) AS resource`);
  const resources = new Array<Resource | undefined>(addresses.length).fill(undefined);
  for (const row of found) resources[row[7] - 1] = toResource(row);
  return resources;
}

export async function readSlice(
  sql: Sql,
  collection: string,
  range: Range,
): Promise<Slice | undefined> {
  const found = await readRange(sql, collection, range);
  if (!found) return undefined;
  return { collection: found.collection, resources: found.hits.map(({ resource }) => resource) };
}

/** A slice, with the seqs of its resources. */
export async function readRange(
  sql: Sql,
  collection: string,
  { offset, limit, order }: Range,
): Promise<{ readonly collection: Collection; readonly hits: readonly Candidate[] } | undefined> {
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
    SELECT name, revision, created, updated, definition, NULL AS owner, NULL AS parts, total,
      0 AS place
    FROM shelf
    UNION ALL
    SELECT resource.*
    FROM walk CROSS JOIN LATERAL (
      SELECT id, revision, created, updated, fields, owner, parts, 0::bigint, seq FROM resources
      WHERE collection = (SELECT key FROM shelf) AND ${onward} LIMIT ${limit}::bigint
    ) AS resource
    WHERE level = -1
    ORDER BY place`);
  if (!shelf) return undefined;
  const hits = found.map((row) => ({ seq: row[8], resource: toResource(row) }));
  return { collection: collectionIn(shelf), hits: isForward ? hits : hits.reverse() };
}

/** A resource that is gone has no content. */
type FeedRow = ShelfRow | readonly [string, number, number, number, null, ...Value[]];

export async function readFeed(
  sql: Sql,
  collection: string,
  revision: number,
  limit: number,
): Promise<Feed | undefined> {
  const [shelf, ...found] = await rows<FeedRow>(sql`
    WITH shelf AS (SELECT * FROM collections WHERE name = ${collection})
    SELECT name, revision, created, updated, definition, NULL AS owner, NULL AS parts, total,
      0 AS place
    FROM shelf
    UNION ALL
    (
      SELECT id, revision, created, updated, fields, owner, parts, 0::bigint, revision
      FROM resources
      WHERE collection = (SELECT key FROM shelf) AND revision > ${revision}::bigint
      ORDER BY revision LIMIT ${limit}::bigint
    )
    ORDER BY place`);
  if (!shelf) return undefined;
  return { collection: collectionIn(shelf as ShelfRow), entries: found.map(toEntry) };
}

function toEntry(row: FeedRow): Resource | Removal {
  if (isShown(row)) return toResource(row);
  const [id, revision, , removedAt] = row;
  return { kind: "removal", id, revision, removedAt };
}

const isShown = (row: FeedRow): row is ShelfRow => row[4] !== null;
