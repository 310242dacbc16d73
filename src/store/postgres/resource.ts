// Resources in SQL: each of these is one question, and what it tells is of one moment.

import type { Collection } from "../../model/collection.ts";
import type { FeedPosition } from "../../model/feed-position.ts";
import type { Candidate } from "../../model/query/query.ts";
import type { Resource } from "../../model/resource.ts";
import { Damage } from "../checksum.ts";
import { epochName, readEpochName } from "../epochs.ts";
import type { Feed, Range, Removal, Slice } from "../store.ts";
import { column, rows, type Sql, type Statement, type Value } from "./connection.ts";
import { walk } from "./position-tree.ts";
import {
  type CollectionColumns,
  collectionIn,
  type ResourceRow,
  resourceColumns,
  shelfColumns,
  toResource,
} from "./row.ts";

export interface Address {
  readonly collection: string;
  readonly id: string;
}

type FoundRow = readonly [...ResourceRow, number: number];

/** The resources at the addresses, in the same order. One that is damaged does not hide the others. */
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
  const { collection: shelf, hits, isCut } = found;
  return {
    collection: shelf,
    resources: hits.map(({ resource }) => resource),
    ...(isCut && { isCut }),
  };
}

/** A slice, with the seqs of its resources. */
export async function readRange(
  sql: Sql,
  collection: string,
  { offset, limit, order, maxBytes }: Range,
): Promise<RangeRead | undefined> {
  const isForward = order === "created";
  const index = isForward ? sql`${offset}::bigint` : sql`total - 1 - ${offset}::bigint`;
  const onward = isForward
    ? sql`seq > walk.start ORDER BY seq`
    : sql`seq <= walk.start + 1 ORDER BY seq DESC`;
  const [shelf, ...found] = await rows<CollectionColumns>(sql`
    WITH RECURSIVE shelf AS (
      SELECT *, ${index} AS index FROM collections WHERE name = ${collection}
    ),
    ${walk(sql)}
    SELECT ${shelfColumns(sql)}, 0 AS place
    FROM shelf
    UNION ALL
    SELECT resource.*
    FROM walk CROSS JOIN LATERAL (
      SELECT ${resourceColumns(sql)}, 0::bigint, seq FROM ${rowsWithin(
        sql,
        sql`SELECT * FROM resources
          WHERE collection = (SELECT key FROM shelf) AND ${onward} LIMIT ${limit}::bigint`,
        isForward ? sql`seq` : sql`seq DESC`,
        maxBytes,
      )} AS page
    ) AS resource
    WHERE level = -1
    ORDER BY place`);
  if (!shelf) return undefined;
  const hits = found.map((row) => ({ seq: row[10], resource: toResource(row) }));
  const read = collectionIn(shelf);
  const isCut = maxBytes !== undefined && hits.length < Math.min(limit, read.total - offset);
  return { collection: read, hits: isForward ? hits : hits.reverse(), isCut };
}

interface RangeRead {
  readonly collection: Collection;
  readonly hits: readonly Candidate[];
  readonly isCut: boolean;
}

/** The first of the rows, at least one, whose fields have no more bytes together. */
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

/** A resource that is gone has no content. */
type FeedRow = CollectionColumns | readonly [string, number, number, number, null, ...Value[]];

/** What follows in the row of the collection: what it knows of a position. */
type Known = readonly [
  key: number,
  epoch: number,
  /** The last revision of the position's epoch, where that is an earlier one. */
  end: number | null,
  /** The time of the position's revision, where nothing was written over it. */
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
  const [askedKey, askedEpoch] = readEpochName(position === 0 ? "0.0" : position.epoch);
  const [shelf, ...found] = await rows<FeedRow>(sql`
    WITH shelf AS (SELECT * FROM collections WHERE name = ${collection})
    SELECT ${shelfColumns(sql)}, 0 AS place, key, epoch,
      (SELECT last FROM epochs
        WHERE epochs.collection = shelf.key AND epochs.epoch = ${askedEpoch}::bigint),
      (SELECT resources.updated FROM resources
        WHERE resources.collection = shelf.key AND resources.revision = ${revision}::bigint)
    FROM shelf
    UNION ALL
    (
      SELECT ${resourceColumns(sql)}, 0::bigint, revision,
        0::bigint, 0::bigint, 0::bigint, 0::bigint
      FROM ${rowsWithin(
        sql,
        sql`SELECT * FROM resources
          WHERE collection = (SELECT key FROM shelf) AND revision > ${revision}::bigint
          ORDER BY revision LIMIT ${limit}::bigint`,
        sql`revision`,
        maxBytes,
      )} AS page
    )
    ORDER BY place`);
  if (!shelf) return undefined;
  const [key, epoch, end, time] = shelf.slice(11) as unknown as Known;
  if (position !== 0) {
    const last = epoch === askedEpoch ? shelf[1] : end;
    const isOurs = key === askedKey && last !== null && revision <= last;
    const isSameTime = position.time === 0 || time === null || time === position.time;
    if (!isOurs || !isSameTime) return "gone";
  }
  const isCut =
    maxBytes !== undefined && found.length < limit && (found.at(-1)?.[1] ?? 0) < shelf[1];
  return {
    collection: collectionIn(shelf as CollectionColumns),
    epoch: epochName(key, epoch),
    entries: found.map(toEntry),
    ...(isCut && { isCut }),
  };
}

function toEntry(row: FeedRow): Resource | Removal {
  if (isShown(row)) return toResource(row);
  const [id, revision, , removedAt] = row;
  return { kind: "removal", id, revision, removedAt };
}

const isShown = (row: FeedRow): row is CollectionColumns => row[4] !== null;
