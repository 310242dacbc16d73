// Builds a page whose keys and seqs have opposite directions, which an index scan cannot return in order.

import { isIn } from "../../model/query/sort-key.ts";
import type { IndexScan } from "../core/index-use.ts";
import type { Sql, Statement } from "./connection.ts";
import { entriesIn, entriesOf, keyParameter, orderOf, type PageQuery } from "./entries.ts";

const maxSeq = Number.MAX_SAFE_INTEGER;

/**
 * Selects the keys of the page with an index scan, and then the seqs of each key, which the index can
 * return in either direction.
 */
export function reverseScanPage(
  sql: Sql,
  part: number,
  scan: IndexScan,
  { start, limit, isNewestFirst }: PageQuery,
): Statement {
  const { index, spans } = scan;
  const isAfter = typeof start !== "number";
  const offset = isAfter ? 0 : start;
  const [lastKey, seq] = isAfter ? [scan.keyAt(start), start.seq] : ["", 0];
  const continuesKey = isAfter && (spans?.some((span) => isIn(lastKey, span)) ?? true);
  const last = keyParameter(sql, index, lastKey);
  const along = orderOf(sql, scan, !isNewestFirst);
  const afterKey = isNewestFirst ? sql`key > ${last}` : sql`key < ${last}`;
  const afterSeq = isNewestFirst
    ? sql`seq < CASE WHEN keys.key = ${last} THEN ${seq}::bigint ELSE ${maxSeq}::bigint END`
    : sql`seq > CASE WHEN keys.key = ${last} THEN ${seq}::bigint ELSE 0 END`;
  const end = sql`${along} LIMIT ${offset + limit + 1}::bigint`;
  const onward = isAfter ? sql`AND ${afterKey} ${end}` : end;
  return sql`
    WITH scanned AS (
      SELECT key, row_number() OVER (${along}) AS number
      FROM ${entriesIn(sql, part, scan, onward)} AS entry
    ),
    keys AS (
      SELECT DISTINCT key FROM scanned
      WHERE number BETWEEN ${offset + 1}::bigint AND ${offset + limit + 1}::bigint
      ${continuesKey ? sql`UNION SELECT ${last}` : sql``}
    )
    SELECT keys.key, entry.seq
    FROM keys CROSS JOIN LATERAL (
      SELECT seq FROM ${entriesOf(sql, part, index)} WHERE key = keys.key
        ${continuesKey ? sql`AND ${afterSeq}` : sql``}
      ORDER BY seq ${isNewestFirst ? sql`DESC` : sql``} LIMIT ${offset + limit + 1}::bigint
    ) AS entry
    ${orderOf(sql, scan, isNewestFirst)} LIMIT ${limit + 1}::bigint OFFSET (
      SELECT count(*) FROM scanned
      WHERE number <= ${offset}::bigint
        AND key = (SELECT key FROM scanned WHERE number = ${offset + 1}::bigint)
    )`;
}
