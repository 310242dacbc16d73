// Reads and writes the rows of the position tree, which the core computes.

import {
  blockWidth,
  fanOut,
  lastLevel,
  removePositions,
  rowsOf,
  type TreeKey,
  type TreeWrite,
} from "../core/position-tree.ts";
import { column, rows, type Sql, type Statement } from "./connection.ts";
import { deleteByKeys } from "./delete-rows.ts";

const levels = Array.from({ length: lastLevel + 1 }, (_, level) => level);

/** Returns the rows to write when these positions are removed. */
export async function computeTree(
  sql: Sql,
  part: number,
  removedPositions: readonly number[],
): Promise<readonly TreeWrite[]> {
  const keys = rowsOf(removedPositions);
  const found = await rows<readonly [number, number, alive: string]>(sql`
    SELECT found.*
    FROM unnest(${column(keys, "level")}::bigint[], ${column(keys, "row")}::bigint[])
      AS wanted (level, "row")
    CROSS JOIN LATERAL (
      SELECT level, "row", alive FROM positions
      WHERE part = ${part}::bigint AND level = wanted.level AND "row" = wanted."row"
      LIMIT 1
    ) AS found`);
  const alive = new Map(
    found.map(([level, row, counts]) => [nameOf({ level, row }), numbersIn(counts)]),
  );
  return removePositions((key) => alive.get(nameOf(key)), removedPositions);
}

const nameOf = ({ level, row }: TreeKey): string => `${level}.${row}`;

const numbersIn = (array: string): readonly number[] => array.slice(1, -1).split(",").map(Number);

export function writeTree(
  sql: Sql,
  part: number,
  tree: readonly TreeWrite[],
): readonly Statement[] {
  const saved = tree.filter(({ alive }) => alive !== undefined);
  const deleted = tree.filter(({ alive }) => alive === undefined);
  return [
    ...(deleted.length > 0 ? [deleteRows(sql, part, deleted)] : []),
    ...(saved.length > 0 ? [saveRows(sql, part, saved)] : []),
  ];
}

const deleteRows = (sql: Sql, part: number, keys: readonly TreeKey[]): Statement =>
  deleteByKeys(sql, part, "positions", {
    level: sql`${column(keys, "level")}::bigint[]`,
    row: sql`${column(keys, "row")}::bigint[]`,
  });

const saveRows = (sql: Sql, part: number, tree: readonly TreeWrite[]): Statement => sql`
  INSERT INTO positions (part, level, "row", alive)
  SELECT ${part}::bigint, level, "row", alive::bigint[]
  FROM unnest(
    ${column(tree, "level")}::bigint[], ${column(tree, "row")}::bigint[],
    ${tree.map(({ alive = [] }) => `{${alive.join()}}`)}::text[]
  ) AS next (level, "row", alive)
  ON CONFLICT (part, level, "row") DO UPDATE SET alive = excluded.alive`;

/**
 * A recursive CTE that descends from `head` (seq, total, index) to the position of the resource at that
 * index, which is the `row` at level -1, if it exists.
 */
export const descend = (sql: Sql, part: number): Statement => sql`
  descend (level, width, "row", rest) AS (
    (
      SELECT level, width, 0::bigint, index
      FROM head
      JOIN unnest(${levels}::bigint[], ${levels.map(blockWidth)}::bigint[]) AS top (level, width)
        ON width * ${fanOut}::bigint >= seq
      WHERE index BETWEEN 0 AND total - 1
      ORDER BY level LIMIT 1
    )
    UNION ALL
    SELECT level - 1, width / ${fanOut}::bigint, "row" * ${fanOut}::bigint + block,
      rest - coalesce(alive[block + 1], block * width)
    FROM descend
    CROSS JOIN LATERAL (
      SELECT (
        SELECT alive FROM positions
        WHERE part = ${part}::bigint AND level = descend.level AND "row" = descend."row"
      ) AS alive
    ) AS known
    CROSS JOIN LATERAL (
      SELECT coalesce(width_bucket(rest, alive) - 1, rest / width) AS block
    ) AS chosen
    WHERE level >= 0
  )`;
