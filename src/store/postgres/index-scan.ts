// Answers queries with a scan of one index, or of the resources, whose rows are in the requested order.

import type { Query } from "../../model/query/query.ts";
import type { IndexScan } from "../core/index-use.ts";
import { lowerLimit } from "../core/lower-limit.ts";
import { positionOf } from "../core/top-matches.ts";
import type { QueryResult } from "../store.ts";
import type { CollectionRow } from "./collections.ts";
import type { Sql, Statement } from "./connection.ts";
import type { Versioned } from "./directory.ts";
import { countEntries, entriesIn, keyParameter, orderOf, type PageQuery } from "./entries.ts";
import { runCounted } from "./known-counts.ts";
import { readRange } from "./resource.ts";
import { reverseScanPage } from "./reverse-scan.ts";
import { runStatement, toQueryResult } from "./statement.ts";

export async function scanIndex(
  sql: Sql,
  row: CollectionRow,
  scan: IndexScan,
  query: Query,
  maxCounted: number,
): Promise<Versioned<QueryResult> | undefined> {
  const { part } = row;
  const order = orderOf(sql, scan, query.isNewestFirst);
  const page = pageOf(sql, part, scan, query);
  const parts = {
    hits: sql`SELECT row_number() OVER (${order}) AS place, seq, '' AS key FROM (${page}) AS page`,
    count: query.isCounted ? countEntries(sql, part, scan, maxCounted + 1) : sql`NULL`,
    maxBytes: query.maxBytes,
  };
  const { index, spans } = scan;
  const found = await (query.isCounted && spans !== undefined
    ? runCounted(sql, row, ["index", index, spans, maxCounted], parts)
    : runStatement(sql, part, parts));
  if (!found) return undefined;
  const result = toQueryResult(row, found, query, (hit) => positionOf(hit, query));
  const { total = 0 } = result.value;
  if (scan.spans === undefined || total <= maxCounted) return result;
  const totalAtLeast = lowerLimit(query, total, found.hits.length);
  return { ...result, value: { ...result.value, total: undefined, totalAtLeast } };
}

/** Selects the `key` and `seq` of a page and of one entry more. */
export function pageOf(sql: Sql, part: number, scan: IndexScan, query: PageQuery): Statement {
  const { isDescending } = scan;
  const isReversed = isDescending !== undefined && isDescending !== query.isNewestFirst;
  return isReversed ? reverseScanPage(sql, part, scan, query) : forwardPage(sql, part, scan, query);
}

/** Selects a page in the order of the index, forward or backward. */
function forwardPage(sql: Sql, part: number, scan: IndexScan, query: PageQuery): Statement {
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
function afterPosition(sql: Sql, scan: IndexScan, { start, isNewestFirst }: PageQuery): Statement {
  if (typeof start === "number") return sql``;
  if (scan.isDescending === undefined) return afterSeq(sql, start, isNewestFirst);
  const key = keyParameter(sql, scan.index, scan.keyAt(start));
  return isNewestFirst
    ? sql`AND (key, seq) < (${key}, ${start.seq}::bigint)`
    : sql`AND (key, seq) > (${key}, ${start.seq}::bigint)`;
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
