// Runs full-text searches: finds the resources that contain all words, and ranks them.

import type { Query, Word } from "../../model/query/query.ts";
import { cutWord } from "../../model/query/rank.ts";
import { prefixSpan } from "../core/search.ts";
import type { QueryResult } from "../store.ts";
import type { CollectionRow } from "./collections.ts";
import { rows, type Sql, type Statement } from "./connection.ts";
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

/** Up to this many resources are looked up among those of the other words. */
const maxLookups = 1_000;

/** Returns the words with the rarest first when few resources contain it, and otherwise undefined. */
async function rarestFirst(
  sql: Sql,
  part: number,
  words: readonly Word[],
): Promise<readonly Word[] | undefined> {
  if (words.length < 2 || words.some(({ isPrefix }) => isPrefix)) return undefined;
  const counts = words.map(
    (word, index) => sql`
      SELECT ${index}::bigint AS index, count(*) AS count
      FROM (${wordMatches(sql, part, word)} LIMIT ${maxLookups}::bigint) AS counted`,
  );
  const counted = await rows<readonly [index: number, count: number]>(sql`
    ${counts.reduce((one, other) => sql`${one} UNION ALL ${other}`)}
    ORDER BY count, index`);
  if ((counted[0]?.[1] ?? maxLookups) === maxLookups) return undefined;
  return counted.flatMap(([index]) => words[index] ?? []);
}

/** Selects the same as `matchesOf`: each resource of the first word is looked up among those of the others. */
function lookedUpMatches(sql: Sql, part: number, [first, ...more]: readonly Word[]): Statement {
  if (!first) return matchesOf(sql, part, []);
  return more.reduce(
    (found, { text }) => sql`
      SELECT found.seq, found.rank + other.weight AS rank
      FROM (${found}) AS found CROSS JOIN LATERAL (
        SELECT weight FROM words
        WHERE part = ${part}::bigint AND word = ${cutWord(text)} AND seq = found.seq
        LIMIT 1
      ) AS other`,
    matchesOf(sql, part, [first]),
  );
}

/** Answers a query that has only words; the database ranks all matches. */
export async function search(
  sql: Sql,
  row: CollectionRow,
  query: Query,
): Promise<Versioned<QueryResult> | undefined> {
  const { words, start, limit, isCounted, isNewestFirst } = query;
  const sorted = await rarestFirst(sql, row.part, words);
  const matches = sorted ? lookedUpMatches(sql, row.part, sorted) : matchesOf(sql, row.part, words);
  const order = isNewestFirst ? sql`ORDER BY rank DESC, seq DESC` : sql`ORDER BY rank DESC, seq`;
  const found = await runStatement(sql, row.part, {
    tables: sql`ranked AS (${matches})`,
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
