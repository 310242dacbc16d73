// Answers queries with a scan of one index, or of the resources, whose rows are in the requested order.

import type { Query } from "../../model/query/query.ts";
import type { IndexScan } from "../core/query-plan.ts";
import type { QueryResult } from "../store.ts";
import type { CollectionRow } from "./collections.ts";
import type { Sql, Statement } from "./connection.ts";
import type { Versioned } from "./directory.ts";
import { countEntries, entriesIn, orderOf } from "./entries.ts";
import { readRange } from "./resource.ts";
import { reverseScanPage } from "./reverse-scan.ts";
import { runStatement, toQueryResult } from "./statement.ts";

export async function scanIndex(
  sql: Sql,
  row: CollectionRow,
  scan: IndexScan,
  query: Query,
): Promise<Versioned<QueryResult> | undefined> {
  const { part } = row;
  const { isDescending } = scan;
  const order = orderOf(sql, scan, query.isNewestFirst);
  const isReversed = isDescending !== undefined && isDescending !== query.isNewestFirst;
  const page = isReversed
    ? reverseScanPage(sql, part, scan, query)
    : forwardPage(sql, part, scan, query);
  const found = await runStatement(sql, part, {
    hits: sql`SELECT row_number() OVER (${order}) AS place, seq, key FROM (${page}) AS page`,
    count: query.isCounted ? countEntries(sql, part, scan) : sql`NULL`,
    maxBytes: query.maxBytes,
  });
  const hasKeys = isDescending !== undefined;
  return (
    found &&
    toQueryResult(row, found, query, ({ key, seq }) => ({ keys: hasKeys ? [key] : [], seq }))
  );
}

/** Selects a page in the order of the index, forward or backward. */
function forwardPage(sql: Sql, part: number, scan: IndexScan, query: Query): Statement {
  const { start, limit, isNewestFirst } = query;
  const offset = typeof start === "number" ? start : 0;
  const order = orderOf(sql, scan, isNewestFirst);
  const end = sql`${order} LIMIT ${offset + limit + 1}::bigint`;
  const entries = entriesIn(sql, part, scan, sql`${afterPosition(sql, scan, query)} ${end}`);
  return sql`
    SELECT key, seq FROM ${entries} AS entry
    ${order} LIMIT ${limit + 1}::bigint OFFSET ${offset}::bigint`;
}

/** The condition for entries after the start position. */
function afterPosition(
  sql: Sql,
  { isDescending }: IndexScan,
  { start, isNewestFirst }: Query,
): Statement {
  if (typeof start === "number") return sql``;
  const { keys, seq } = start;
  if (isDescending === undefined) return afterSeq(sql, start, isNewestFirst);
  return isNewestFirst
    ? sql`AND (key, seq) < (${keys[0] ?? ""}, ${seq}::bigint)`
    : sql`AND (key, seq) > (${keys[0] ?? ""}, ${seq}::bigint)`;
}

const afterSeq = (sql: Sql, start: Query["start"], isNewestFirst: boolean): Statement => {
  if (typeof start === "number") return sql``;
  const { seq } = start;
  return isNewestFirst ? sql`AND seq < ${seq}::bigint` : sql`AND seq > ${seq}::bigint`;
};

/** Answers a query without conditions: the resources are in order of creation. */
export async function scanResources(
  sql: Sql,
  row: CollectionRow,
  query: Query,
): Promise<Versioned<QueryResult> | undefined> {
  const { start, limit, isNewestFirst, isCounted, maxBytes } = query;
  const { part } = row;
  const order = isNewestFirst ? "-created" : "created";
  const onward = sql`ORDER BY seq ${isNewestFirst ? sql`DESC` : sql``}`;
  const found =
    typeof start === "number"
      ? await readRange(sql, part, { offset: start, limit: limit + 1, order, maxBytes })
      : await runStatement(sql, part, {
          hits: sql`
            SELECT row_number() OVER (${onward}) AS place, seq, '' AS key
            FROM (
              SELECT seq FROM resources
              WHERE part = ${part}::bigint ${afterSeq(sql, start, isNewestFirst)}
              ${onward} LIMIT ${limit + 1}::bigint
            ) AS page`,
          count: sql`NULL`,
          maxBytes,
        });
  if (!found) return undefined;
  const count = isCounted ? found.head.total : undefined;
  const hits = found.hits.map((hit) => ({ key: "", ...hit }));
  return toQueryResult(row, { ...found, hits, count }, query, ({ seq }) => ({ keys: [], seq }));
}
