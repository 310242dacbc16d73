// Reads resources, pages and feeds, each with one statement, so that a result comes from one snapshot.

import type { Collection } from "../../model/collection.ts";
import type { FeedPosition } from "../../model/feed-position.ts";
import type { Candidate } from "../../model/query/query.ts";
import type { Resource } from "../../model/resource.ts";
import { Damage } from "../core/checksum.ts";
import { epochName, readEpochName } from "../core/epochs.ts";
import type { Feed, Range, Removal, Slice } from "../store.ts";
import { column, rows, type Sql, type Statement, type Value } from "./connection.ts";
import { descend } from "./position-tree.ts";
import {
  type CollectionColumns,
  collectionColumns,
  collectionIn,
  type ResourceRow,
  resourceColumns,
  toResource,
} from "./row.ts";

export interface Address {
  readonly collection: string;
  readonly id: string;
}

type FoundRow = readonly [...ResourceRow, number: number];

/** Returns the resources at the addresses, in the same order. A damaged one does not affect the others. */
export async function findResources(
  sql: Sql,
  addresses: readonly Address[],
): Promise<readonly (Resource | Damage | undefined)[]> {
  const found = await rows<FoundRow>(sql`
    SELECT resource.*, number
    FROM unnest(${column(addresses, "collection")}::text[], ${column(addresses, "id")}::text[])
      WITH ORDINALITY AS wanted (collection, id, number)
    CROSS JOIN LATERAL (
      SELECT ${resourceColumns(sql)} FROM resources
      WHERE collection = (SELECT key FROM collections WHERE name = wanted.collection)
        AND id = wanted.id AND fields IS NOT NULL
      LIMIT 1
    ) AS resource`);
  const resources = new Array<Resource | Damage | undefined>(addresses.length).fill(undefined);
  for (const row of found) resources[row[9] - 1] = resourceOrDamage(row, addresses[row[9] - 1]);
  return resources;
}

function resourceOrDamage(row: FoundRow, address: Address | undefined): Resource | Damage {
  try {
    return toResource(row);
  } catch (error) {
    if (!(error instanceof Damage)) throw error;
    return new Damage(error.id, address?.collection);
  }
}

export async function readSlice(
  sql: Sql,
  collection: string,
  range: Range,
): Promise<Slice | undefined> {
  const found = await readRange(sql, collection, range);
  if (!found) return undefined;
  const { collection: parent, hits, isCut } = found;
  return {
    collection: parent,
    resources: hits.map(({ resource }) => resource),
    ...(isCut && { isCut }),
  };
}

/** Reads a range in order of creation, with the seqs of its resources. */
export async function readRange(
  sql: Sql,
  collection: string,
  { offset, limit, order, maxBytes }: Range,
): Promise<RangeResult | undefined> {
  const isForward = order === "created";
  const index = isForward ? sql`${offset}::bigint` : sql`total - 1 - ${offset}::bigint`;
  const onward = isForward
    ? sql`seq > descend.start ORDER BY seq`
    : sql`seq <= descend.start + 1 ORDER BY seq DESC`;
  const [parent, ...found] = await rows<CollectionColumns>(sql`
    WITH RECURSIVE parent AS (
      SELECT *, ${index} AS index FROM collections WHERE name = ${collection}
    ),
    ${descend(sql)}
    SELECT ${collectionColumns(sql)}, 0 AS place
    FROM parent
    UNION ALL
    SELECT resource.*
    FROM descend CROSS JOIN LATERAL (
      SELECT ${resourceColumns(sql)}, 0::bigint, seq FROM ${rowsWithin(
        sql,
        sql`SELECT * FROM resources
          WHERE collection = (SELECT key FROM parent) AND ${onward} LIMIT ${limit}::bigint`,
        isForward ? sql`seq` : sql`seq DESC`,
        maxBytes,
      )} AS page
    ) AS resource
    WHERE level = -1
    ORDER BY place`);
  if (!parent) return undefined;
  const hits = found.map((row) => ({ seq: row[10], resource: toResource(row) }));
  const read = collectionIn(parent);
  const isCut = maxBytes !== undefined && hits.length < Math.min(limit, read.total - offset);
  return { collection: read, hits: isForward ? hits : hits.reverse(), isCut };
}

interface RangeResult {
  readonly collection: Collection;
  readonly hits: readonly Candidate[];
  readonly isCut: boolean;
}

/** Selects the first rows whose fields have at most `maxBytes` together, but at least one row. */
const rowsWithin = (
  sql: Sql,
  table: Statement,
  order: Statement,
  maxBytes: number | undefined,
): Statement =>
  maxBytes === undefined
    ? sql`(${table})`
    : sql`(
        SELECT * FROM (
          SELECT *, sum(coalesce(octet_length(fields), 0)) OVER (ORDER BY ${order}) AS size,
            row_number() OVER (ORDER BY ${order}) AS nth
          FROM (${table}) AS whole
        ) AS sized
        WHERE size <= ${maxBytes}::bigint OR nth = 1
      )`;

/** A removed resource has no fields. */
type FeedRow = CollectionColumns | readonly [string, number, number, number, null, ...Value[]];

/** Additional columns in the row of the collection, to check a feed position. */
type PositionColumns = readonly [
  key: number,
  epoch: number,
  /** The last revision of the position's epoch; null when that is the current epoch or unknown. */
  end: number | null,
  /** The time of the position's revision; null when the resource was written again. */
  time: number | null,
];

export async function readFeed(
  sql: Sql,
  collection: string,
  position: FeedPosition | 0,
  limit: number,
  maxBytes?: number,
): Promise<Feed | "gone" | undefined> {
  const revision = position === 0 ? 0 : position.revision;
  const [positionKey, positionEpoch] = readEpochName(position === 0 ? "0.0" : position.epoch);
  const [parent, ...found] = await rows<FeedRow>(sql`
    WITH parent AS (SELECT * FROM collections WHERE name = ${collection})
    SELECT ${collectionColumns(sql)}, 0 AS place, key, epoch,
      (SELECT last FROM epochs
        WHERE epochs.collection = parent.key AND epochs.epoch = ${positionEpoch}::bigint),
      (SELECT resources.updated FROM resources
        WHERE resources.collection = parent.key AND resources.revision = ${revision}::bigint)
    FROM parent
    UNION ALL
    (
      SELECT ${resourceColumns(sql)}, 0::bigint, revision,
        0::bigint, 0::bigint, 0::bigint, 0::bigint
      FROM ${rowsWithin(
        sql,
        sql`SELECT * FROM resources
          WHERE collection = (SELECT key FROM parent) AND revision > ${revision}::bigint
          ORDER BY revision LIMIT ${limit}::bigint`,
        sql`revision`,
        maxBytes,
      )} AS page
    )
    ORDER BY place`);
  if (!parent) return undefined;
  const [key, epoch, end, time] = parent.slice(11) as unknown as PositionColumns;
  if (position !== 0) {
    const last = epoch === positionEpoch ? parent[1] : end;
    const isKnown = key === positionKey && last !== null && revision <= last;
    const isSameTime = position.time === 0 || time === null || time === position.time;
    if (!isKnown || !isSameTime) return "gone";
  }
  const isCut =
    maxBytes !== undefined && found.length < limit && (found.at(-1)?.[1] ?? 0) < parent[1];
  return {
    collection: collectionIn(parent as CollectionColumns),
    epoch: epochName(key, epoch),
    entries: found.map(toEntry),
    ...(isCut && { isCut }),
  };
}

function toEntry(row: FeedRow): Resource | Removal {
  if (hasContent(row)) return toResource(row);
  const [id, revision, , removedAt] = row;
  return { kind: "removal", id, revision, removedAt };
}

const hasContent = (row: FeedRow): row is CollectionColumns => row[4] !== null;
