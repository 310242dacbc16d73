// Answers queries that no single index can: one index narrows the collection down, and the rest is filtered here.

import { type IndexPlan, searchTextOf } from "../../model/query/index-plan.ts";
import { type Condition, type Query, select } from "../../model/query/query.ts";
import { hasWords } from "../../model/query/rank.ts";
import { keyOf } from "../../model/query/sort-key.ts";
import { maxCandidateBytes, type QueryResult, type TooBroad } from "../store.ts";
import { runStatement } from "./answer.ts";
import { column, rows, type Sql, type Statement } from "./connection.ts";
import { entriesIn, isPoint } from "./entries.ts";
import { isNarrowed } from "./index-scan.ts";
import { matchesOf, matching, rank, rankOrder } from "./search.ts";
import { searchOf } from "./vector.ts";

export interface Source {
  /** Selects the `seq` of resources that include all results, up to a limit. */
  readonly table: (sql: Sql, limit: number) => Statement;
  /** The condition that the source already checks. */
  readonly condition?: Condition;
}

/** Returns the possible sources. Ids are always the best one; the others have to be counted. */
export function sourcesFor(plan: IndexPlan, { conditions, words }: Query): readonly Source[] {
  const ids = conditions.map(idsIn).find((found) => found !== undefined);
  if (ids) return [withIds(ids)];
  const narrowing = conditions.filter((condition) => isNarrowed(plan, condition)).map(withKeys);
  const sources = words.length > 0 ? [...narrowing, withWords(searchOf(words))] : narrowing;
  return sources.length > 0 ? sources : [wholeCollection];
}

/** Returns the source with the fewest resources, counted up to a limit. */
export async function chooseSource(
  sql: Sql,
  collection: string,
  sources: readonly Source[],
  limit: number,
): Promise<Source> {
  const counts = sources.map(
    ({ table }, index) =>
      sql`SELECT ${index}::bigint AS index, count(*) FROM (${table(sql, limit)}) AS source`,
  );
  const counted = await rows<readonly [index: number, count: number]>(sql`
    WITH parent AS (SELECT * FROM collections WHERE name = ${collection})
    ${counts.reduce((one, other) => sql`${one} UNION ALL ${other}`)}
    ORDER BY count, index`);
  return sources[counted[0]?.[0] ?? 0] ?? wholeCollection;
}

/** The source of the candidates, and how many of them may be checked. */
export interface Search {
  readonly plan: IndexPlan;
  readonly source: Source;
  readonly limit: number;
}

export async function selectFrom(
  sql: Sql,
  collection: string,
  { plan, source, limit }: Search,
  query: Query,
): Promise<QueryResult | TooBroad | undefined> {
  const others = query.conditions.filter((condition) => condition !== source.condition);
  const result = await runStatement(sql, collection, {
    tables: sql`source AS (${source.table(sql, limit + 1)})`,
    hits: sql`
      SELECT row_number() OVER (${rankOrder(sql, query)}) AS place, seq, '' AS key
      FROM ${withinWords(sql, query)} AS candidate
      WHERE (SELECT count(*) FROM source) <= ${limit}::bigint
        ${others
          .filter((condition) => isNarrowed(plan, condition) && condition.spans.every(isPoint))
          .reduce((filters, condition) => sql`${filters} AND ${hasKey(sql, condition)}`, sql``)}`,
    count: sql`SELECT count(*) FROM source`,
    maxBytes: maxCandidateBytes,
  });
  if (!result) return undefined;
  const { collection: parent, hits, count = 0, isCut: isTooMuch } = result;
  if (count > limit || isTooMuch) return { kind: "broad", collection: parent };
  const { words } = query;
  const found =
    words.length > 0 && plan.hidden
      ? hits.filter(({ resource }) => hasWords(words, searchTextOf(plan, resource)))
      : hits;
  const { resources, total, last, isCut } = select(found, query);
  const isCounted = query.isCounted ? total : undefined;
  return {
    kind: "found",
    collection: parent,
    resources,
    total: isCounted,
    last,
    ...(isCut && { isCut }),
  };
}

/** Filters out resources in SQL when an index can check a single resource. */
const hasKey = (sql: Sql, { field, spans }: Condition): Statement => sql`(
  SELECT count(*) FROM entries
  WHERE collection = (SELECT key FROM parent) AND field = ${field}
    AND key = ANY (${column(spans, "from")}::text[]) AND seq = candidate.seq
) > 0`;

/** Selects the resources of the source that contain all search words, with their rank. */
const withinWords = (sql: Sql, { words }: Query): Statement =>
  words.length === 0
    ? sql`source`
    : sql`(
        SELECT source.seq, word.rank
        FROM source CROSS JOIN LATERAL (
          SELECT ${rank(sql, searchOf(words))} AS rank FROM words
          WHERE collection = (SELECT key FROM parent) AND seq = source.seq
            AND ${matching(sql, searchOf(words))}
          LIMIT 1
        ) AS word
      )`;

const withKeys = (condition: Condition): Source => ({
  condition,
  table: (sql, limit) => sql`
    SELECT DISTINCT seq
    FROM ${entriesIn(sql, condition, sql`LIMIT ${limit}::bigint`)} AS entry
    LIMIT ${limit}::bigint`,
});

const withWords = (search: string): Source => ({
  table: (sql, limit) => sql`SELECT seq FROM ${matchesOf(sql, search)} LIMIT ${limit}::bigint`,
});

const withIds = (ids: readonly string[]): Source => ({
  table: (sql, limit) => sql`
    SELECT seq FROM resources
    WHERE collection = (SELECT key FROM parent) AND id = ANY (${ids}::text[]) AND seq IS NOT NULL
    LIMIT ${limit}::bigint`,
});

const wholeCollection: Source = {
  table: (sql, limit) => sql`
    SELECT seq FROM resources WHERE collection = (SELECT key FROM parent) AND seq > 0
    ORDER BY seq LIMIT ${limit}::bigint`,
};

/** Returns the ids in a condition that compares only ids, otherwise undefined. */
function idsIn({
  field,
  kind,
  spans,
  isNegated = false,
}: Condition): readonly string[] | undefined {
  if (field !== "id" || kind !== "text" || isNegated || !spans.every(isPoint)) return undefined;
  const ids = spans.map(({ from }) => textOf(from));
  return ids.every((id) => id !== undefined) ? ids : undefined;
}

/** Returns the text that a sort key encodes, or undefined when the key does not contain the whole text. */
function textOf(key: string): string | undefined {
  const text = key.slice(1);
  return keyOf("text", text) === key ? text : undefined;
}
