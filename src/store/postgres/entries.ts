// Entries of an index in SQL: those of one field whose keys lie in some spans.

import { equalTo, type Span } from "../../model/query/sort-key.ts";
import { column, type Sql, type Statement } from "./connection.ts";

/** All entries of a field, where no spans are given. */
export interface IndexRange {
  readonly field: string;
  readonly spans: readonly Span[] | undefined;
}

/** A way through an index. */
export interface Walk extends IndexRange {
  /** None where all have the same key, and only the order of creation is left. */
  readonly isDescending: boolean | undefined;
}

export function orderOf(sql: Sql, { isDescending }: Walk, isNewestFirst: boolean): Statement {
  const bySeq = isNewestFirst ? sql`seq DESC` : sql`seq`;
  if (isDescending === undefined) return sql`ORDER BY ${bySeq}`;
  return isDescending ? sql`ORDER BY key DESC, ${bySeq}` : sql`ORDER BY key, ${bySeq}`;
}

/** Whether there is but one key in it. */
export const isPoint = (span: Span): boolean => equalTo(span.from).to === span.to;

/**
 * The rows of all spans, each found on its own way through the index; `rest` says what else is asked of
 * each span's rows, in which order, and how many. A single span stands alone, so that its order is known.
 */
export function entriesIn(sql: Sql, { field, spans }: IndexRange, rest: Statement): Statement {
  const own = sql`collection = (SELECT key FROM shelf) AND field = ${field}`;
  if (spans === undefined) return sql`(SELECT key, seq FROM entries WHERE ${own} ${rest})`;
  const [only, ...more] = spans;
  if (only && more.length === 0)
    return sql`(SELECT key, seq FROM entries WHERE ${own} AND ${within(sql, only)} ${rest})`;
  return sql`(
    SELECT entry.key, entry.seq
    FROM unnest(${column(spans, "from")}::text[], ${column(spans, "to")}::text[])
      AS span (first, after)
    CROSS JOIN LATERAL (
      SELECT key, seq FROM entries
      WHERE ${own} AND key >= span.first AND key < span.after ${rest}
    ) AS entry
  )`;
}

/** How many there are: each span is counted by itself, or the planner would look at all of the field. */
export function countEntries(sql: Sql, { field, spans }: IndexRange): Statement {
  const own = sql`collection = (SELECT key FROM shelf) AND field = ${field}`;
  const [only, ...more] = spans ?? [];
  // A single value is had by each once, or not at all and counts as such.
  if (spans === undefined) return sql`total`;
  if (only && more.length === 0)
    return sql`SELECT count(*) FROM entries WHERE ${own} AND ${within(sql, only)}`;
  return sql`
    SELECT coalesce(sum(number), 0)::bigint
    FROM unnest(${column(spans, "from")}::text[], ${column(spans, "to")}::text[])
      AS span (first, after)
    CROSS JOIN LATERAL (
      SELECT count(*) AS number FROM entries
      WHERE ${own} AND key >= span.first AND key < span.after
    ) AS counted`;
}

/** Those of one key stand in the order of their seqs, and the planner must know it. */
const within = (sql: Sql, span: Span): Statement =>
  isPoint(span) ? sql`key = ${span.from}` : sql`key >= ${span.from} AND key < ${span.to}`;
