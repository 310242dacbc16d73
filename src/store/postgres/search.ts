// Searches: what has all the words, and which of them come first.

import { isRanked, type Query } from "../../model/query/query.ts";
import type { QueryResult } from "../store.ts";
import { answer, toFound } from "./answer.ts";
import type { Sql, Statement } from "./connection.ts";
import { searchOf } from "./vector.ts";

export const matching = (sql: Sql, search: string): Statement => sql`vector @@ ${search}::tsquery`;

/** What says the words often and little else comes first. */
export const rank = (sql: Sql, search: string): Statement =>
  sql`ts_rank(vector, ${search}::tsquery, 1)`;

/** All of the collection that have the words. Its own word leads there, and no other key may. */
export const foundBy = (sql: Sql, search: string): Statement => sql`
  (
    SELECT seq, vector FROM words
    WHERE vector @@ (SELECT ('''#' || key || ''' & ' || ${search})::tsquery FROM shelf)
  ) AS found`;

export const bestFirst = (sql: Sql, query: Query): Statement => {
  if (!isRanked(query)) return sql``;
  return query.isNewestFirst ? sql`ORDER BY rank DESC, seq DESC` : sql`ORDER BY rank DESC, seq`;
};

/** Words and nothing else: ranked there, however many have them. */
export async function search(
  sql: Sql,
  collection: string,
  query: Query,
): Promise<QueryResult | undefined> {
  const { words, start, limit, isCounted } = query;
  const text = searchOf(words);
  const order = bestFirst(sql, query);
  const found = await answer(sql, collection, {
    tables: sql`ranked AS (SELECT seq, ${rank(sql, text)} AS rank FROM ${foundBy(sql, text)})`,
    hits: sql`
      SELECT row_number() OVER (${order}) AS place, seq, '' AS key
      FROM (
        SELECT seq, rank FROM ranked
        ${order} LIMIT ${limit}::bigint OFFSET ${typeof start === "number" ? start : 0}::bigint
      ) AS page`,
    count: isCounted ? sql`SELECT count(*) FROM ranked` : sql`NULL`,
    maxBytes: query.maxBytes,
  });
  return found && toFound(found, query, () => undefined);
}
