// Answers queries with a scan of one index, whose entries are in the requested order.

import type { IndexPlan } from "../../model/query/index-plan.ts";
import type { Condition, Query } from "../../model/query/query.ts";
import type { QueryResult } from "../store.ts";
import { runStatement, toQueryResult } from "./answer.ts";
import type { Sql, Statement } from "./connection.ts";
import { countEntries, entriesIn, type IndexScan, isPoint, orderOf } from "./entries.ts";
import { readRange } from "./resource.ts";
import { reverseScanPage } from "./reverse-scan.ts";

/** Returns the index scan that answers the query, or undefined when no single index can. */
export function scanFor(plan: IndexPlan, query: Query): IndexScan | undefined {
  const { conditions, sortings, words } = query;
  if (words.length > 0 || conditions.length > 1 || sortings.length > 1) return undefined;
  const [condition] = conditions;
  const [sorting] = sortings;
  if (condition && !isIndexed(plan, condition)) return undefined;
  if (!sorting) {
    const isEqual = condition?.spans.length === 1 && condition.spans.every(isPoint);
    return isEqual ? { ...condition, isDescending: undefined } : undefined;
  }
  const { field, kind, isDescending } = sorting;
  const isKnown = plan.indexes.some((index) => index.field === field && index.kind === kind);
  // An array has several entries in its index.
  if (!isKnown || kind === "any" || (condition && condition.field !== field)) return undefined;
  return { field, spans: condition?.spans, isDescending };
}

/** Whether an index finds all resources that can match the condition. */
export const isNarrowed = (
  { indexes }: IndexPlan,
  { field, kind, isNegated }: Condition,
): boolean =>
  isNegated !== true && indexes.some((index) => index.field === field && index.kind === kind);

/** Whether the index finds exactly the resources that match the condition. */
const isIndexed = (plan: IndexPlan, condition: Condition): boolean =>
  isNarrowed(plan, condition) && condition.pattern === undefined;

export async function scanIndex(
  sql: Sql,
  collection: string,
  scan: IndexScan,
  query: Query,
): Promise<QueryResult | undefined> {
  const order = orderOf(sql, scan, query.isNewestFirst);
  const isReversed = scan.isDescending !== undefined && scan.isDescending !== query.isNewestFirst;
  const page = isReversed ? reverseScanPage(sql, scan, query) : forwardPage(sql, scan, query);
  const found = await runStatement(sql, collection, {
    hits: sql`SELECT row_number() OVER (${order}) AS place, seq, key FROM (${page}) AS page`,
    count: query.isCounted ? countEntries(sql, scan) : sql`NULL`,
    maxBytes: query.maxBytes,
  });
  const hasKeys = scan.isDescending !== undefined;
  return (
    found && toQueryResult(found, query, ({ key, seq }) => ({ keys: hasKeys ? [key] : [], seq }))
  );
}

/** Selects a page in the order of the index, forward or backward. */
function forwardPage(sql: Sql, scan: IndexScan, query: Query): Statement {
  const { start, limit, isNewestFirst } = query;
  const offset = typeof start === "number" ? start : 0;
  const order = orderOf(sql, scan, isNewestFirst);
  const end = sql`${order} LIMIT ${offset + limit + 1}::bigint`;
  const entries = entriesIn(sql, scan, sql`${afterPosition(sql, scan, query)} ${end}`);
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
  collection: string,
  query: Query,
): Promise<QueryResult | undefined> {
  const { start, limit, isNewestFirst, isCounted, maxBytes } = query;
  const order = isNewestFirst ? "-created" : "created";
  const onward = sql`ORDER BY seq ${isNewestFirst ? sql`DESC` : sql``}`;
  const found =
    typeof start === "number"
      ? await readRange(sql, collection, { offset: start, limit: limit + 1, order, maxBytes })
      : await runStatement(sql, collection, {
          hits: sql`
            SELECT row_number() OVER (${onward}) AS place, seq, '' AS key
            FROM (
              SELECT seq FROM resources
              WHERE collection = (SELECT key FROM parent) ${afterSeq(sql, start, isNewestFirst)}
              ${onward} LIMIT ${limit + 1}::bigint
            ) AS page`,
          count: sql`NULL`,
          maxBytes,
        });
  if (!found) return undefined;
  const count = isCounted ? found.collection.total : undefined;
  const hits = found.hits.map((hit) => ({ key: "", ...hit }));
  return toQueryResult({ ...found, hits, count }, query, ({ seq }) => ({ keys: [], seq }));
}
