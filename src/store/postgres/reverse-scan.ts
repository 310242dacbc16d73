// Queries against the grain of an index: its keys are asked for one way, and its seqs the other.

import type { Query } from "../../model/query/query.ts";
import { isIn } from "../../model/query/sort-key.ts";
import type { Sql, Statement } from "./connection.ts";
import { entriesIn, orderOf, type Walk } from "./entries.ts";

const maxSeq = Number.MAX_SAFE_INTEGER;

/**
 * The keys one way and the seqs the other, as no index has them. So the keys of the page are found along
 * the index, and of each of them its seqs, which stand in order either way.
 */
export function reverseScanPage(
  sql: Sql,
  walk: Walk,
  { start, limit, isNewestFirst }: Query,
): Statement {
  const { field, spans } = walk;
  const isAfter = typeof start !== "number";
  const offset = isAfter ? 0 : start;
  const [last, seq] = isAfter ? [start.keys[0] ?? "", start.seq] : ["", 0];
  const isGoingOn = isAfter && (spans?.some((span) => isIn(last, span)) ?? true);
  const along = orderOf(sql, walk, !isNewestFirst);
  const beyond = isNewestFirst ? sql`key > ${last}` : sql`key < ${last}`;
  const behind = isNewestFirst
    ? sql`seq < CASE WHEN keys.key = ${last} THEN ${seq}::bigint ELSE ${maxSeq}::bigint END`
    : sql`seq > CASE WHEN keys.key = ${last} THEN ${seq}::bigint ELSE 0 END`;
  const end = sql`${along} LIMIT ${offset + limit + 1}::bigint`;
  const onward = isAfter ? sql`AND ${beyond} ${end}` : end;
  return sql`
    WITH walked AS (
      SELECT key, row_number() OVER (${along}) AS number
      FROM ${entriesIn(sql, walk, onward)} AS entry
    ),
    keys AS (
      SELECT DISTINCT key FROM walked
      WHERE number BETWEEN ${offset + 1}::bigint AND ${offset + limit + 1}::bigint
      ${isGoingOn ? sql`UNION SELECT ${last}` : sql``}
    )
    SELECT keys.key, entry.seq
    FROM keys CROSS JOIN LATERAL (
      SELECT seq FROM entries
      WHERE collection = (SELECT key FROM shelf) AND field = ${field} AND key = keys.key
        ${isGoingOn ? sql`AND ${behind}` : sql``}
      ORDER BY seq ${isNewestFirst ? sql`DESC` : sql``} LIMIT ${offset + limit + 1}::bigint
    ) AS entry
    ${orderOf(sql, walk, isNewestFirst)} LIMIT ${limit + 1}::bigint OFFSET (
      SELECT count(*) FROM walked
      WHERE number <= ${offset}::bigint
        AND key = (SELECT key FROM walked WHERE number = ${offset + 1}::bigint)
    )`;
}
