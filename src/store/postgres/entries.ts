// Entries of an index in SQL: those of one field whose keys lie in some spans.

import type { Span } from "../../model/key.ts";
import { column, type Sql, type Statement } from "./connection.ts";

/** All entries of a field, where no spans are given. */
export interface Stretch {
  readonly field: string;
  readonly spans: readonly Span[] | undefined;
}

/**
 * The rows of all spans, each found on its own way through the index; `rest` says what else is asked of
 * each span's rows, in which order, and how many. A single span stands alone, so that its order is known.
 */
export function entriesIn(sql: Sql, { field, spans }: Stretch, rest: Statement): Statement {
  const own = sql`collection = (SELECT key FROM shelf) AND field = ${field}`;
  const [only, ...more] = spans ?? [];
  if (spans === undefined) return sql`(SELECT key, seq FROM entries WHERE ${own} ${rest})`;
  if (only && more.length === 0)
    return sql`(
      SELECT key, seq FROM entries
      WHERE ${own} AND key >= ${only.from} AND key < ${only.to} ${rest}
    )`;
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
