// Queries that one index answers: its entries stand in the order that is asked for.

import type { IndexPlan } from "../../model/query/index-plan.ts";
import type { Condition, Query } from "../../model/query/query.ts";
import type { QueryResult } from "../store.ts";
import { answer, toFound } from "./answer.ts";
import type { Sql, Statement } from "./connection.ts";
import { countEntries, entriesIn, isPoint, orderOf, type Walk } from "./entries.ts";
import { readRange } from "./resource.ts";
import { reverseScanPage } from "./reverse-scan.ts";

/** The way through one index that gives the answer, if there is one. */
export function scanFor(plan: IndexPlan, query: Query): Walk | undefined {
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
  // An array stands in its index more than once.
  if (!isKnown || kind === "any" || (condition && condition.field !== field)) return undefined;
  return { field, spans: condition?.spans, isDescending };
}

/** Whether an index leads to all resources for which the condition may hold. */
export const isNarrowed = (
  { indexes }: IndexPlan,
  { field, kind, isNegated }: Condition,
): boolean =>
  isNegated !== true && indexes.some((index) => index.field === field && index.kind === kind);

/** Whether it leads to no others, either. */
const isIndexed = (plan: IndexPlan, condition: Condition): boolean =>
  isNarrowed(plan, condition) && condition.pattern === undefined;

/** The answer along the way. */
export async function scanIndex(
  sql: Sql,
  collection: string,
  walk: Walk,
  query: Query,
): Promise<QueryResult | undefined> {
  const order = orderOf(sql, walk, query.isNewestFirst);
  const isTurned = walk.isDescending !== undefined && walk.isDescending !== query.isNewestFirst;
  const page = isTurned ? reverseScanPage(sql, walk, query) : straightPage(sql, walk, query);
  const found = await answer(sql, collection, {
    hits: sql`SELECT row_number() OVER (${order}) AS place, seq, key FROM (${page}) AS page`,
    count: query.isCounted ? countEntries(sql, walk) : sql`NULL`,
    maxBytes: query.maxBytes,
  });
  const hasKeys = walk.isDescending !== undefined;
  return found && toFound(found, query, ({ key, seq }) => ({ keys: hasKeys ? [key] : [], seq }));
}

/** As the entries stand, forward or backward. */
function straightPage(sql: Sql, walk: Walk, query: Query): Statement {
  const { start, limit, isNewestFirst } = query;
  const offset = typeof start === "number" ? start : 0;
  const order = orderOf(sql, walk, isNewestFirst);
  const end = sql`${order} LIMIT ${offset + limit + 1}::bigint`;
  const entries = entriesIn(sql, walk, sql`${onwardOf(sql, walk, query)} ${end}`);
  return sql`
    SELECT key, seq FROM ${entries} AS entry
    ${order} LIMIT ${limit + 1}::bigint OFFSET ${offset}::bigint`;
}

/** What is left behind a position. */
function onwardOf(sql: Sql, { isDescending }: Walk, { start, isNewestFirst }: Query): Statement {
  if (typeof start === "number") return sql``;
  const { keys, seq } = start;
  if (isDescending === undefined) return beyondSeq(sql, start, isNewestFirst);
  return isNewestFirst
    ? sql`AND (key, seq) < (${keys[0] ?? ""}, ${seq}::bigint)`
    : sql`AND (key, seq) > (${keys[0] ?? ""}, ${seq}::bigint)`;
}

const beyondSeq = (sql: Sql, start: Query["start"], isNewestFirst: boolean): Statement => {
  if (typeof start === "number") return sql``;
  const { seq } = start;
  return isNewestFirst ? sql`AND seq < ${seq}::bigint` : sql`AND seq > ${seq}::bigint`;
};

/** Without conditions the resources themselves stand in the order of creation. */
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
      : await answer(sql, collection, {
          hits: sql`
            SELECT row_number() OVER (${onward}) AS place, seq, '' AS key
            FROM (
              SELECT seq FROM resources
              WHERE collection = (SELECT key FROM shelf) ${beyondSeq(sql, start, isNewestFirst)}
              ${onward} LIMIT ${limit + 1}::bigint
            ) AS page`,
          count: sql`NULL`,
          maxBytes,
        });
  if (!found) return undefined;
  const count = isCounted ? found.collection.total : undefined;
  const hits = found.hits.map((hit) => ({ key: "", ...hit }));
  return toFound({ ...found, hits, count }, query, ({ seq }) => ({ keys: [], seq }));
}
