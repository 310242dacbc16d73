// Builds the SQL that selects and counts the index entries of a field within key ranges.

import type { Span } from "../../model/query/sort-key.ts";
import { type IndexScan, isPoint } from "../core/query-plan.ts";
import { column, type Sql, type Statement } from "./connection.ts";

/** Key ranges of one field; without spans, all entries of the field. */
export interface IndexRange {
  readonly field: string;
  readonly spans: readonly Span[] | undefined;
}

export function orderOf(sql: Sql, { isDescending }: IndexScan, isNewestFirst: boolean): Statement {
  const bySeq = isNewestFirst ? sql`seq DESC` : sql`seq`;
  if (isDescending === undefined) return sql`ORDER BY ${bySeq}`;
  return isDescending ? sql`ORDER BY key DESC, ${bySeq}` : sql`ORDER BY key, ${bySeq}`;
}

/**
 * Selects the entries of all spans, with one index scan per span. `rest` is appended to each scan (filter,
 * order, limit). A single span is not joined, so that the planner knows its order.
 */
export function entriesIn(
  sql: Sql,
  part: number,
  { field, spans }: IndexRange,
  rest: Statement,
): Statement {
  if (spans === undefined)
    return sql`(SELECT key, seq FROM entries WHERE part = ${part}::bigint AND field = ${field} ${rest})`;
  const [only, ...more] = spans;
  if (only && more.length === 0)
    return sql`(SELECT key, seq FROM entries WHERE part = ${part}::bigint AND field = ${field} AND ${within(sql, only)} ${rest})`;
  return sql`(
    SELECT entry.key, entry.seq
    FROM unnest(${column(spans, "from")}::text[], ${column(spans, "to")}::text[])
      AS span (first, after)
    CROSS JOIN LATERAL (
      SELECT key, seq FROM entries
      WHERE part = ${part}::bigint AND field = ${field} AND key >= span.first AND key < span.after ${rest}
    ) AS entry
  )`;
}

/** Counts the entries span by span; otherwise the planner would scan the whole field. */
export function countEntries(sql: Sql, part: number, { field, spans }: IndexRange): Statement {
  const [only, ...more] = spans ?? [];
  // Every resource has exactly one entry in a single-value index; a missing value has one too.
  if (spans === undefined) return sql`total`;
  if (only && more.length === 0)
    return sql`SELECT count(*) FROM entries WHERE part = ${part}::bigint AND field = ${field} AND ${within(sql, only)}`;
  return sql`
    SELECT coalesce(sum(number), 0)::bigint
    FROM unnest(${column(spans, "from")}::text[], ${column(spans, "to")}::text[])
      AS span (first, after)
    CROSS JOIN LATERAL (
      SELECT count(*) AS number FROM entries
      WHERE part = ${part}::bigint AND field = ${field} AND key >= span.first AND key < span.after
    ) AS counted`;
}

/** Compares with `=` for one key, so that the planner knows that the entries are ordered by seq. */
const within = (sql: Sql, span: Span): Statement =>
  isPoint(span) ? sql`key = ${span.from}` : sql`key >= ${span.from} AND key < ${span.to}`;
