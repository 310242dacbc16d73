// Runs full-text searches: finds the resources that contain all words, and ranks them.

import { isRanked, type Query } from "../../model/query/query.ts";
import type { QueryResult } from "../store.ts";
import { runStatement, toQueryResult } from "./answer.ts";
import type { Sql, Statement } from "./connection.ts";
import { searchOf } from "./vector.ts";

export const matching = (sql: Sql, search: string): Statement => sql`vector @@ ${search}::tsquery`;

/** Short texts that contain the words often rank first. */
export const rank = (sql: Sql, search: string): Statement =>
  sql`ts_rank(vector, ${search}::tsquery, 1)`;

/** Selects the resources of the collection that contain the words; a special word limits it to the collection. */
export const matchesOf = (sql: Sql, search: string): Statement => sql`
  (
    SELECT seq, vector FROM words
    WHERE vector @@ (SELECT ('''#' || key || ''' & ' || ${search})::tsquery FROM parent)
  ) AS found`;

export const rankOrder = (sql: Sql, query: Query): Statement => {
  if (!isRanked(query)) return sql``;
  return query.isNewestFirst ? sql`ORDER BY rank DESC, seq DESC` : sql`ORDER BY rank DESC, seq`;
};

/** Answers a query that has only words; the database ranks all matches. */
export async function search(
  sql: Sql,
  collection: string,
  query: Query,
): Promise<QueryResult | undefined> {
  const { words, start, limit, isCounted } = query;
  const text = searchOf(words);
  const order = rankOrder(sql, query);
  const found = await runStatement(sql, collection, {
    tables: sql`ranked AS (SELECT seq, ${rank(sql, text)} AS rank FROM ${matchesOf(sql, text)})`,
    hits: sql`
      SELECT row_number() OVER (${order}) AS place, seq, '' AS key
      FROM (
        SELECT seq, rank FROM ranked
        ${order} LIMIT ${limit}::bigint OFFSET ${typeof start === "number" ? start : 0}::bigint
      ) AS page`,
    count: isCounted ? sql`SELECT count(*) FROM ranked` : sql`NULL`,
    maxBytes: query.maxBytes,
  });
  return found && toQueryResult(found, query, () => undefined);
}
