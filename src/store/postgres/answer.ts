// The one form of all answers to queries: a single statement, so that all it tells is of one moment.

import type { Collection } from "../../model/collection.ts";
import type { Candidate, Position, Query } from "../../model/list/query.ts";
import type { Found } from "../store.ts";
import { rows, type Sql, type Statement } from "./connection.ts";
import { collectionIn, resourceColumns, type ShelfRow, shelfColumns, toResource } from "./row.ts";

/** What is left open by the form; both may name `shelf`, the row of the collection. */
export interface Form {
  /** Tables that the others name. */
  readonly tables?: Statement;
  /** A table of `place` (from 1 on, in order), `seq`, and `key`, by which it is sorted. */
  readonly hits: Statement;
  /** A number for the whole; null where none is wanted. */
  readonly count: Statement;
}

export interface Hit extends Candidate {
  readonly key: string;
}

export interface Answer {
  readonly collection: Collection;
  readonly hits: readonly Hit[];
  readonly count: number | undefined;
}

type AnswerRow = readonly [...ShelfRow, number: number | null, key: string];

/**
 * Resources are looked up one by one behind the hits, which leaves the planner no choice; and put in
 * order here, because there the sort would carry all their fields.
 */
export async function answer(
  sql: Sql,
  collection: string,
  { tables, hits, count }: Form,
): Promise<Answer | undefined> {
  const found = await rows<AnswerRow>(sql`
    WITH shelf AS (SELECT * FROM collections WHERE name = ${collection}),
    ${tables ? sql`${tables},` : sql``}
    hits AS (${hits})
    SELECT ${shelfColumns(sql)}, 0 AS place, (${count})::bigint AS number, '' AS key
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
  return { collection: collectionIn(shelf), hits: rest.map(toHit), count: shelf[11] ?? undefined };
}

const toHit = (row: AnswerRow): Hit => {
  return { seq: row[11] ?? 0, key: row[12], resource: toResource(row) };
};

/** One more than is asked for tells whether there are more. */
export function toFound(
  { collection, hits, count: total }: Answer,
  { limit }: Query,
  positionOf: (hit: Hit) => Position | undefined,
): Found {
  const page = hits.slice(0, limit);
  const last = page.at(-1);
  return {
    kind: "found",
    collection,
    resources: page.map(({ resource }) => resource),
    total,
    last: last && hits.length > limit ? positionOf(last) : undefined,
  };
}
