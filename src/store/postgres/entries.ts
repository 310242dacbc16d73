// Builds the SQL that selects and counts the index entries within key ranges.

import type { Query } from "../../model/query/query.ts";
import { equalTo, type Span } from "../../model/query/sort-key.ts";
import { freeColumnOf, rangeIn } from "../core/free-indexes.ts";
import type { IndexRange, IndexScan } from "../core/index-use.ts";
import { column, type Sql, type Statement } from "./connection.ts";

/** The members of a query that its page depends on. */
export type PageQuery = Pick<Query, "start" | "limit" | "isNewestFirst">;

export function orderOf(sql: Sql, { isDescending }: IndexScan, isNewestFirst: boolean): Statement {
  const bySeq = isNewestFirst ? sql`seq DESC` : sql`seq`;
  if (isDescending === undefined) return sql`ORDER BY ${bySeq}`;
  return isDescending ? sql`ORDER BY key DESC, ${bySeq}` : sql`ORDER BY key, ${bySeq}`;
}

/** Selects the `key` and `seq` of all entries of an index. A free index is on the resources themselves. */
export function entriesOf(sql: Sql, part: number, index: string): Statement {
  const free = freeColumnOf(index);
  return free === undefined
    ? sql`(SELECT key, seq FROM entries WHERE part = ${part}::bigint AND field = ${index}) AS entries`
    : sql`(SELECT ${sql(free)} AS key, seq FROM resources WHERE part = ${part}::bigint) AS entries`;
}

/** Returns a key as a parameter of the type of its column. */
export function keyParameter(sql: Sql, index: string, key: string): Statement {
  const free = freeColumnOf(index);
  const value = free === undefined ? key : rangeIn(free, { from: key, to: key }).from;
  return typeof value === "number" ? sql`${value}::bigint` : sql`${value}::text`;
}

/**
 * Selects the entries of all spans, with one index scan per span. `rest` is appended to each scan (filter,
 * order, limit). It has an order, so that the planner takes the index that has it, for each span alone. A
 * single span is not joined, so that the planner knows its order.
 */
export function entriesIn(
  sql: Sql,
  part: number,
  { index, spans }: IndexRange,
  rest: Statement,
): Statement {
  const entries = entriesOf(sql, part, index);
  if (spans === undefined) return sql`(SELECT key, seq FROM ${entries} WHERE true ${rest})`;
  const [only, ...more] = spans;
  if (only && more.length === 0)
    return sql`(SELECT key, seq FROM ${entries} WHERE ${within(sql, index, only)} ${rest})`;
  return sql`(
    SELECT entry.key, entry.seq
    FROM ${spanTable(sql, index, spans)}
    CROSS JOIN LATERAL (
      SELECT key, seq FROM ${entries} WHERE key >= span.first AND key < span.after ${rest}
    ) AS entry
  )`;
}

/** Counts the entries up to a limit. */
export function countEntries(sql: Sql, part: number, range: IndexRange, limit: number): Statement {
  // Every resource has exactly one entry in a single-value index; a missing value has one too.
  if (range.spans === undefined) return sql`total`;
  const end = sql`LIMIT ${limit}::bigint`;
  return sql`
    SELECT count(*) FROM (
      SELECT 1 FROM ${entriesIn(sql, part, range, sql`ORDER BY key ${end}`)} AS entry ${end}
    ) AS counted`;
}

function spanTable(sql: Sql, index: string, spans: readonly Span[]): Statement {
  const free = freeColumnOf(index);
  const ranges = free === undefined ? spans : spans.map((span) => rangeIn(free, span));
  const [from, to] = [column(ranges, "from"), column(ranges, "to")];
  return free === undefined || free === "id"
    ? sql`unnest(${from as string[]}::text[], ${to as string[]}::text[]) AS span (first, after)`
    : sql`unnest(${from as number[]}::bigint[], ${to as number[]}::bigint[]) AS span (first, after)`;
}

/** Compares with `=` for one key, so that the planner knows that the entries are ordered by seq. */
const within = (sql: Sql, index: string, { from, to }: Span): Statement =>
  to === equalTo(from).to
    ? sql`key = ${keyParameter(sql, index, from)}`
    : sql`key >= ${keyParameter(sql, index, from)} AND key < ${keyParameter(sql, index, to)}`;
