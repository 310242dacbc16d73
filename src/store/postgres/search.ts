// Runs full-text searches: finds the resources that contain all words, and ranks them.

import { eachInTurns } from "../../lib/turns.ts";
import { countWithin, type Query, type Word } from "../../model/query/query.ts";
import { termOf, termSpan } from "../../model/query/rank.ts";
import { sizeOf } from "../../model/resource.ts";
import { candidateWork } from "../core/in-turns.ts";
import { lowerLimit } from "../core/lower-limit.ts";
import { bestOf, onlyTerm, ranksOf } from "../core/search.ts";
import type { QueryResult } from "../store.ts";
import { type CollectionRow, toCollection } from "./collections.ts";
import { rows, type Sql, type Statement } from "./connection.ts";
import type { Versioned } from "./directory.ts";
import { runCounted } from "./known-counts.ts";
import { runStatement, toQueryResult } from "./statement.ts";

export type VersionedResult = Versioned<QueryResult> | undefined;

/** Answers a query that has only words, in the order of the ranks. */
export async function search(
  sql: Sql,
  row: CollectionRow,
  query: Query,
  maxCounted: number,
): Promise<VersionedResult> {
  const { words } = query;
  const term = onlyTerm(words);
  if (term !== undefined) return searchTerm(sql, row, term, query, maxCounted);
  const rarest = await rarestOf(sql, row.part, words);
  const checked = rarest && (await checkEach(sql, row, rarest, query));
  return checked === undefined ? rankAll(sql, row, query) : checked.reply;
}

/** The rows of a term are in the order of the results. */
async function searchTerm(
  sql: Sql,
  row: CollectionRow,
  term: string,
  query: Query,
  maxCounted: number,
): Promise<VersionedResult> {
  const { part } = row;
  const { limit, isCounted } = query;
  // The total can be unknown, and then only the next result shows that there is another page.
  const withNext = isCounted ? { ...query, limit: limit + 1 } : query;
  const matches = sql`FROM words WHERE part = ${part}::bigint AND word = ${term}`;
  const parts = {
    hits: sql`
      SELECT row_number() OVER (ORDER BY rank, seq) AS place, seq, '' AS key
      FROM (SELECT rank, seq ${matches} ORDER BY rank, seq ${pageOf(sql, withNext)}) AS page`,
    count: query.isCounted
      ? sql`SELECT count(*) FROM (SELECT 1 ${matches} LIMIT ${maxCounted + 1}::bigint) AS counted`
      : sql`NULL`,
    maxBytes: query.maxBytes,
  };
  const found = await (query.isCounted
    ? runCounted(sql, row, ["word", term, maxCounted], parts)
    : runStatement(sql, part, parts));
  const answer = found && toQueryResult(row, found, query, () => undefined);
  const total = answer?.value.total ?? 0;
  if (!answer || total <= maxCounted) return answer;
  const totalAtLeast = lowerLimit(query, total, found.hits.length);
  return { ...answer, value: { ...answer.value, total: undefined, totalAtLeast } };
}

const pageOf = (sql: Sql, query: Query): Statement =>
  sql`LIMIT ${query.limit}::bigint OFFSET ${offsetOf(query)}::bigint`;

const offsetOf = ({ start }: Query): number => (typeof start === "number" ? start : 0);

/** The database ranks all matches. */
async function rankAll(sql: Sql, row: CollectionRow, query: Query): Promise<VersionedResult> {
  const order = sql`ORDER BY rank DESC, seq`;
  const found = await runStatement(sql, row.part, {
    tables: sql`ranked AS (${matchesOf(sql, row.part, query.words)})`,
    hits: sql`
      SELECT row_number() OVER (${order}) AS place, seq, '' AS key
      FROM (SELECT seq, rank FROM ranked ${order} ${pageOf(sql, query)}) AS page`,
    count: query.isCounted ? sql`SELECT count(*) FROM ranked` : sql`NULL`,
    maxBytes: query.maxBytes,
  });
  return found && toQueryResult(row, found, query, () => undefined);
}

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
  const term = termOf(word);
  if (term !== undefined)
    return sql`
      SELECT seq, -rank AS weight FROM words WHERE part = ${part}::bigint AND word = ${term}`;
  const { from, to } = termSpan(word);
  return sql`
    SELECT seq, -sum(rank)::bigint AS weight FROM words
    WHERE part = ${part}::bigint AND word >= ${from} AND word < ${to} GROUP BY seq`;
}

/** Up to so many resources are read and checked instead of all rows of a more frequent word. */
const maxChecked = 1_000;
const maxCheckedBytes = 4 * 1024 * 1024;

/** Returns the word that the fewest resources contain; undefined when none is rare. */
async function rarestOf(sql: Sql, part: number, words: readonly Word[]): Promise<Word | undefined> {
  if (words.length < 2) return undefined;
  const counts = words.map((word, index) => {
    const { from, to } = termSpan(word);
    return sql`
      SELECT ${index}::bigint AS index, count(*) AS count
      FROM (
        SELECT 1 FROM words WHERE part = ${part}::bigint AND word >= ${from} AND word < ${to}
        LIMIT ${maxChecked + 1}::bigint
      ) AS counted`;
  });
  const [found] = await rows<readonly [index: number, count: number]>(sql`
    ${counts.reduce((one, other) => sql`${one} UNION ALL ${other}`)}
    ORDER BY count, index LIMIT 1`);
  return found && found[1] <= maxChecked ? words[found[0]] : undefined;
}

/** Checks each resource of a rare word. Returns undefined when they are too large together. */
async function checkEach(
  sql: Sql,
  row: CollectionRow,
  word: Word,
  query: Query,
): Promise<{ readonly reply: VersionedResult } | undefined> {
  const result = await runStatement(sql, row.part, {
    hits: sql`
      SELECT row_number() OVER () AS place, seq, '' AS key
      FROM (${wordMatches(sql, row.part, word)}) AS found`,
    count: sql`NULL`,
    maxBytes: maxCheckedBytes,
  });
  if (!result) return { reply: undefined };
  const { head, hits, isCut: isTooMuch } = result;
  if (isTooMuch) return undefined;
  const ranks = new Map<number, number>();
  await eachInTurns(hits, candidateWork, (hit) => {
    for (const [seq, rank] of ranksOf([hit], query.words, row.plan)) ranks.set(seq, rank);
  });
  const bySeq = new Map(hits.map(({ seq, resource }) => [seq, resource]));
  const offset = offsetOf(query);
  const page = bestOf(ranks, offset + query.limit)
    .slice(offset)
    .flatMap((seq) => bySeq.get(seq) ?? []);
  const count = countWithin(page, sizeOf, query.maxBytes);
  const value: QueryResult = {
    collection: toCollection(row, head),
    resources: page.slice(0, count),
    total: query.isCounted ? ranks.size : undefined,
    last: undefined,
    ...(count < page.length && { isCut: true }),
  };
  return { reply: { version: head.version, value } };
}
