// The one form of all answers to queries: a single statement, so that all it tells is of one moment.

import type { Collection } from "../../model/collection.ts";
import type { Candidate, Position, Query } from "../../model/query/query.ts";
import type { QueryResult } from "../store.ts";
import { rows, type Sql, type Statement } from "./connection.ts";
import {
  type CollectionColumns,
  collectionIn,
  resourceColumns,
  shelfColumns,
  toResource,
} from "./row.ts";

/** What is left open by the form; both may name `shelf`, the row of the collection. */
export interface Form {
  /** Tables that the others name. */
  readonly tables?: Statement;
  /** A table of `place` (from 1 on, in order), `seq`, and `key`, by which it is sorted. */
  readonly hits: Statement;
  /** A number for the whole; null where none is wanted. */
  readonly count: Statement;
  /** The fields of the resources have no more together; but the first is always there. */
  readonly maxBytes?: number | undefined;
}

export interface Hit extends Candidate {
  readonly key: string;
}

export interface Answer {
  readonly collection: Collection;
  readonly hits: readonly Hit[];
  readonly count: number | undefined;
  /** Whether there are more hits than `maxBytes` allows. */
  readonly isCut?: boolean;
}

type AnswerRow = readonly [...CollectionColumns, number: number | null, key: string];

/**
 * Resources are looked up one by one behind the hits, which leaves the planner no choice; and put in
 * order here, because there the sort would carry all their fields.
 */
export async function answer(
  sql: Sql,
  collection: string,
  { tables, hits, count, maxBytes }: Form,
): Promise<Answer | undefined> {
  const found = await rows<AnswerRow>(sql`
    WITH shelf AS (SELECT * FROM collections WHERE name = ${collection}),
    ${tables ? sql`${tables},` : sql``}
    ${maxBytes === undefined ? sql`hits AS (${hits})` : hitsWithin(sql, hits, maxBytes)}
    SELECT ${shelfColumns(sql)}, 0 AS place, (${count})::bigint AS number,
      ${maxBytes === undefined ? sql`''` : sql`(SELECT count(*) FROM whole)::text`} AS key
    FROM shelf
    UNION ALL
    SELECT resource.*, place, seq, key
    FROM hits CROSS JOIN LATERAL (
      SELECT ${resourceColumns(sql)}, 0::bigint FROM resources
      WHERE collection = (SELECT key FROM shelf) AND seq = hits.seq
      LIMIT 1
    ) AS resource`);
  const [shelf, ...rest] = found.toSorted((one, other) => one[10] - other[10]);
  if (!shelf) return undefined;
  return {
    collection: collectionIn(shelf),
    hits: rest.map(toHit),
    count: shelf[11] ?? undefined,
    isCut: maxBytes !== undefined && rest.length < Number(shelf[12]),
  };
}

/** The sizes are told by the rows themselves: what is left out is not read. */
const hitsWithin = (sql: Sql, hits: Statement, maxBytes: number): Statement => sql`
  whole AS (${hits}),
  sized AS (
    SELECT whole.*, sum(resource.size) OVER (ORDER BY place) AS size
    FROM whole CROSS JOIN LATERAL (
      SELECT octet_length(fields) AS size FROM resources
      WHERE collection = (SELECT key FROM shelf) AND seq = whole.seq
      LIMIT 1
    ) AS resource
  ),
  hits AS (SELECT place, seq, key FROM sized WHERE size <= ${maxBytes}::bigint OR place = 1)`;

const toHit = (row: AnswerRow): Hit => {
  return { seq: row[11] ?? 0, key: row[12], resource: toResource(row) };
};

/** One more than is asked for tells whether there are more. */
export function toFound(
  { collection, hits, count: total, isCut = false }: Answer,
  { limit }: Query,
  positionOf: (hit: Hit) => Position | undefined,
): QueryResult {
  const page = hits.slice(0, limit);
  const last = page.at(-1);
  return {
    kind: "found",
    collection,
    resources: page.map(({ resource }) => resource),
    total,
    last: last && (isCut || hits.length > limit) ? positionOf(last) : undefined,
    ...(isCut && hits.length < limit && { isCut }),
  };
}
