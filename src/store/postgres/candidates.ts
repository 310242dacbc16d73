// Answers queries that no single index can: one index narrows the collection down, and the rest is filtered here.

import { type Condition, isCondition } from "../../model/query/predicate.ts";
import { type Query, select } from "../../model/query/query.ts";
import { isNarrowed, isPoint, type Source } from "../core/query-plan.ts";
import { withWords } from "../core/search.ts";
import { maxCandidateBytes, type QueryResult, type TooBroad } from "../store.ts";
import { type CollectionRow, toCollection } from "./collections.ts";
import { column, rows, type Sql, type Statement } from "./connection.ts";
import type { Versioned } from "./directory.ts";
import { entriesIn } from "./entries.ts";
import { matchesOf } from "./search.ts";
import { type Hit, runStatement } from "./statement.ts";

/** Returns the source with the fewest resources, counted up to a limit. */
export async function chooseSource(
  sql: Sql,
  part: number,
  sources: readonly Source[],
  query: Query,
  limit: number,
): Promise<Source> {
  const counts = sources.map(
    (source, index) => sql`
      SELECT ${index}::bigint AS index, (${countOf(sql, part, source, query, limit)})::bigint AS count`,
  );
  const counted = await rows<readonly [index: number, count: number]>(sql`
    ${counts.reduce((one, other) => sql`${one} UNION ALL ${other}`)}
    ORDER BY count, index LIMIT 1`);
  return sources[counted[0]?.[0] ?? 0] ?? { kind: "all" };
}

const countOf = (sql: Sql, part: number, source: Source, query: Query, limit: number): Statement =>
  source.kind === "all"
    ? sql`SELECT total FROM heads WHERE part = ${part}::bigint`
    : sql`SELECT count(*) FROM (${candidatesOf(sql, part, source, query, limit)}) AS source`;

/** Selects the `seq` of the resources of a source, up to a limit; and the `rank` of those that words find. */
function candidatesOf(
  sql: Sql,
  part: number,
  source: Source,
  { words }: Query,
  limit: number,
): Statement {
  const end = sql`LIMIT ${limit}::bigint`;
  switch (source.kind) {
    case "ids":
      return sql`
        SELECT seq, 0 AS rank FROM resources
        WHERE part = ${part}::bigint AND id = ANY (${source.ids}::text[]) ${end}`;
    case "entries":
      return sql`
        SELECT DISTINCT seq, 0 AS rank
        FROM ${entriesIn(sql, part, source.condition, end)} AS entry ${end}`;
    case "words":
      return sql`SELECT seq, rank FROM (${matchesOf(sql, part, words)}) AS found ${end}`;
    case "all":
      return sql`
        SELECT seq, 0 AS rank FROM resources WHERE part = ${part}::bigint AND seq > 0
        ORDER BY seq ${end}`;
  }
}

/** Checks each resource of the source, if there are at most `limit`. */
export async function selectFrom(
  sql: Sql,
  row: CollectionRow,
  source: Source,
  query: Query,
  limit: number,
): Promise<Versioned<QueryResult | TooBroad> | undefined> {
  const { part, plan } = row;
  const checked = source.kind === "entries" ? source.condition : undefined;
  const filters = query.conditions
    .filter(isCondition)
    .filter(
      (condition) =>
        condition !== checked && isNarrowed(plan, condition) && condition.spans.every(isPoint),
    );
  const result = await runStatement(sql, part, {
    tables: sql`source AS (${candidatesOf(sql, part, source, query, limit + 1)})`,
    hits: sql`
      SELECT row_number() OVER () AS place, seq, rank::text AS key
      FROM source AS candidate
      WHERE (SELECT count(*) FROM source) <= ${limit}::bigint
        ${filters.reduce((all, condition) => sql`${all} AND ${hasKey(sql, part, condition)}`, sql``)}`,
    count: sql`SELECT count(*) FROM source`,
    maxBytes: maxCandidateBytes,
  });
  if (!result) return undefined;
  const { head, hits, count = 0, isCut: isTooMuch } = result;
  const collection = toCollection(row, head);
  const { version } = head;
  if (count > limit || isTooMuch) return { version, value: { kind: "broad", collection } };
  const isRankStored = source.kind === "words" && plan.hidden === undefined;
  const found = withWords(hits, query, plan, isRankStored ? ranksIn(hits) : undefined);
  const { resources, total, last, isCut } = select(found, query);
  const value: QueryResult = {
    kind: "found",
    collection,
    resources,
    total: query.isCounted ? total : undefined,
    last,
    ...(isCut && { isCut }),
  };
  return { version, value };
}

const ranksIn = (hits: readonly Hit[]): ReadonlyMap<number, number> =>
  new Map(hits.map(({ seq, key }) => [seq, Number(key)]));

/** Filters out resources in SQL when an index can check a single resource. */
const hasKey = (sql: Sql, part: number, { field, spans }: Condition): Statement => sql`(
  SELECT count(*) FROM entries
  WHERE part = ${part}::bigint AND field = ${field}
    AND key = ANY (${column(spans, "from")}::text[]) AND seq = candidate.seq
) > 0`;
