// Runs a query as a single SQL statement, so that the head and the resources come from one snapshot.

import type { Candidate, Position, Query } from "../../model/query/query.ts";
import type { QueryResult } from "../store.ts";
import { type CollectionRow, type HeadState, toCollection } from "./collections.ts";
import type { Sql, Statement } from "./connection.ts";
import type { Versioned } from "./directory.ts";
import { readWithFields } from "./large-fields.ts";
import { type FirstRow, headColumns, headOf, resourceOf } from "./row.ts";

/** The parts of the statement that differ between queries. They can use `head`, the row of the part. */
export interface StatementParts {
  /** Common table expressions that `hits` and `count` use. */
  readonly tables?: Statement;
  /** Selects `place` (the rank, from 1), `seq`, and the sort key `key`. */
  readonly hits: Statement;
  /** Selects the total number of results, or NULL. */
  readonly count: Statement;
  /** Limits the total size of the fields; the first resource is always included. */
  readonly maxBytes?: number | undefined;
}

export interface Hit extends Candidate {
  readonly key: string;
}

export interface StatementResult {
  readonly head: HeadState;
  readonly hits: readonly Hit[];
  readonly count: number | undefined;
  /** Whether there are more hits than `maxBytes` allows. */
  readonly isCut?: boolean;
}

type AnswerRow = readonly [...FirstRow, number: number | null, key: string];

/**
 * Returns undefined when the part was deleted. The statement finds each resource by its key with a
 * lateral join, so that the planner has no other choice. The rows are sorted here, because a sort in SQL
 * would copy all their fields.
 */
export async function runStatement(
  sql: Sql,
  part: number,
  { tables, hits, count, maxBytes }: StatementParts,
): Promise<StatementResult | undefined> {
  const isSized = maxBytes !== undefined;
  const select = (columns: Statement) => sql`
    WITH head AS (SELECT * FROM heads WHERE part = ${part}::bigint),
    ${tables ? sql`${tables},` : sql``}
    ${isSized ? hitsWithin(sql, part, hits, maxBytes) : sql`hits AS (${hits})`}
    SELECT ${headColumns(sql)}, 0 AS place, (${count})::bigint AS number,
      ${isSized ? sql`(SELECT count(*) FROM whole)::text` : sql`''`} AS key
    FROM head
    UNION ALL
    SELECT resource.*, place, seq, key
    FROM hits CROSS JOIN LATERAL (
      SELECT ${columns}, 0::bigint FROM resources
      WHERE part = ${part}::bigint AND seq BETWEEN hits.seq AND hits.seq
      ORDER BY seq LIMIT 1
    ) AS resource`;
  const found = await readWithFields<AnswerRow>(sql, part, { maxBytes, select });
  const [first, ...rest] = found.toSorted((one, other) => one[10] - other[10]);
  if (first?.[10] !== 0) return undefined;
  return {
    head: headOf(first),
    hits: rest.map(toHit),
    count: first[11] ?? undefined,
    isCut: isSized && rest.length < Number(first[12]),
  };
}

/** Uses the lengths of the fields, so that the fields of rows beyond the limit are not read. */
const hitsWithin = (sql: Sql, part: number, hits: Statement, maxBytes: number): Statement => sql`
  whole AS (${hits}),
  sized AS (
    SELECT whole.*, sum(resource.size) OVER (ORDER BY place) AS size
    FROM whole CROSS JOIN LATERAL (
      SELECT octet_length(fields) AS size FROM resources
      WHERE part = ${part}::bigint AND seq BETWEEN whole.seq AND whole.seq
      ORDER BY seq LIMIT 1
    ) AS resource
  ),
  hits AS (
    SELECT place, seq, key, size FROM sized
    WHERE size <= ${maxBytes}::bigint OR place = 1
  )`;

const toHit = (row: AnswerRow): Hit => {
  return { seq: row[11] ?? 0, key: row[12], resource: resourceOf(row) };
};

/** The hits contain one more than the limit, which shows whether more results follow. */
export function toQueryResult(
  row: CollectionRow,
  { head, hits, count: total, isCut = false }: StatementResult,
  { limit }: Query,
  positionOf: (hit: Hit) => Position | undefined,
): Versioned<QueryResult> {
  const page = hits.slice(0, limit);
  const last = page.at(-1);
  const value: QueryResult = {
    collection: toCollection(row, head),
    resources: page.map(({ resource }) => resource),
    total,
    last: last && (isCut || hits.length > limit) ? positionOf(last) : undefined,
    ...(isCut && hits.length < limit && { isCut }),
  };
  return { version: head.version, value };
}
