// Runs full-text searches: finds the resources that contain all words, and ranks them.

import type { Query, Word } from "../../model/query/query.ts";
import { cutWord } from "../../model/query/rank.ts";
import { prefixSpan } from "../core/search.ts";
import type { QueryResult } from "../store.ts";
import type { CollectionRow } from "./collections.ts";
import type { Sql, Statement } from "./connection.ts";
import type { Versioned } from "./directory.ts";
import { runStatement, toQueryResult } from "./statement.ts";

/** Selects the `seq` and `rank` of the resources that contain all words: the rank is the sum of the weights. */
export function matchesOf(sql: Sql, part: number, words: readonly Word[]): Statement {
  const [first = sql`SELECT 0 AS seq, 0 AS weight WHERE false`, ...more] = words.map((word) =>
    wordMatches(sql, part, word),
  );
  if (more.length === 0) return sql`SELECT seq, weight AS rank FROM (${first}) AS word`;
  const all = more.reduce((one, other) => sql`${one} UNION ALL ${other}`, first);
  return sql`
    SELECT seq, sum(weight)::bigint AS rank FROM (${all}) AS word
    GROUP BY seq HAVING count(*) = ${words.length}::bigint`;
}

/** Selects each resource that contains the word once. */
function wordMatches(sql: Sql, part: number, word: Word): Statement {
  if (!word.isPrefix)
    return sql`
      SELECT seq, weight FROM words WHERE part = ${part}::bigint AND word = ${cutWord(word.text)}`;
  const { from, to } = prefixSpan(word);
  return sql`
    SELECT seq, sum(weight)::bigint AS weight FROM words
    WHERE part = ${part}::bigint AND word >= ${from} AND word < ${to} GROUP BY seq`;
}

/** Answers a query that has only words; the database ranks all matches. */
export async function search(
  sql: Sql,
  row: CollectionRow,
  query: Query,
): Promise<Versioned<QueryResult> | undefined> {
  const { words, start, limit, isCounted, isNewestFirst } = query;
  const order = isNewestFirst ? sql`ORDER BY rank DESC, seq DESC` : sql`ORDER BY rank DESC, seq`;
  const found = await runStatement(sql, row.part, {
    tables: sql`ranked AS (${matchesOf(sql, row.part, words)})`,
    hits: sql`
      SELECT row_number() OVER (${order}) AS place, seq, '' AS key
      FROM (
        SELECT seq, rank FROM ranked
        ${order} LIMIT ${limit}::bigint OFFSET ${typeof start === "number" ? start : 0}::bigint
      ) AS page`,
    count: isCounted ? sql`SELECT count(*) FROM ranked` : sql`NULL`,
    maxBytes: query.maxBytes,
  });
  return found && toQueryResult(row, found, query, () => undefined);
}
