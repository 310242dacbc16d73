// Counts removed positions in a tree, so that a page at any offset is found with a few reads.

import { column, type Sql, type Statement } from "./connection.ts";

/**
 * Positions (seq - 1) are assigned in order and never reused, so the n-th resource is at position n plus
 * the number of removed positions before it. A row of the tree divides a range of positions into 64
 * blocks, and stores how many positions before each block are alive (not removed). The row one level down
 * divides a block further, to single positions at level 0. Ranges without removed positions have no row,
 * so creating a resource never writes to the tree.
 */
const fanOut = 64;
/** A row of the last level covers 2^48 positions, more than are ever assigned. */
const levels = [0, 1, 2, 3, 4, 5, 6, 7];
/** The `place` of a row combines its level and its first position in one number. */
const levelStride = 2 ** 48;

/** The number of positions in a block. */
const widthOf = (level: number): number => fanOut ** level;

/** The position of a removed resource. */
export interface RemovedPosition {
  readonly collection: number;
  readonly position: number;
}

/** A row of the tree, and how many newly removed positions are before each of its blocks. */
interface TreeRow {
  readonly collection: number;
  readonly place: number;
  readonly width: number;
  readonly removed: number[];
}

/** Returns the rows of all levels that contain the removed positions. */
export function countRemoved(removedPositions: readonly RemovedPosition[]): readonly TreeRow[] {
  const rows = new Map<string, TreeRow>();
  for (const { collection, position } of removedPositions)
    for (const level of levels) {
      const width = widthOf(level);
      const start = position - (position % (width * fanOut));
      const place = level * levelStride + start;
      const name = `${collection} ${place}`;
      const row = rows.get(name) ?? { collection, place, width, removed: Array(fanOut).fill(0) };
      const block = Math.floor((position - start) / width);
      for (let after = block + 1; after < fanOut; after++)
        row.removed[after] = (row.removed[after] ?? 0) + 1;
      rows.set(name, row);
    }
  return [...rows.values()];
}

export function addRemovedPositions(
  sql: Sql,
  removedPositions: readonly RemovedPosition[],
): Statement {
  const treeRows = countRemoved(removedPositions);
  return sql`
    INSERT INTO holes (collection, place, alive)
    SELECT change.collection, change.place, ARRAY(
      SELECT coalesce(block.alive, (number - 1) * change.width) - block.holes
      FROM unnest(
        (SELECT alive FROM holes WHERE collection = change.collection AND place = change.place),
        change.holes::bigint[]
      ) WITH ORDINALITY AS block (alive, holes, number)
      ORDER BY number
    )
    FROM unnest(
      ${column(treeRows, "collection")}::bigint[], ${column(treeRows, "place")}::bigint[],
      ${column(treeRows, "width")}::bigint[], ${treeRows.map((row) => `{${row.removed.join()}}`)}::text[]
    ) AS change (collection, place, width, holes)
    ON CONFLICT (collection, place) DO UPDATE SET alive = excluded.alive`;
}

/**
 * A recursive CTE that descends from `parent` (key, seq, total, index) to the position of the resource at
 * that index, which is the `start` of the row with level -1, if it exists.
 */
export const descend = (sql: Sql): Statement => sql`
  descend (level, width, start, rest) AS (
    (
      SELECT level, width, 0::bigint, index
      FROM parent
      JOIN unnest(${levels}::bigint[], ${levels.map(widthOf)}::bigint[]) AS top (level, width)
        ON width * ${fanOut}::bigint >= seq
      WHERE index BETWEEN 0 AND total - 1
      ORDER BY level LIMIT 1
    )
    UNION ALL
    SELECT level - 1, width / ${fanOut}::bigint, start + block * width,
      rest - coalesce(alive[block + 1], block * width)
    FROM descend
    CROSS JOIN LATERAL (
      SELECT (
        SELECT alive FROM holes
        WHERE collection = (SELECT key FROM parent)
          AND place = descend.level * ${levelStride}::bigint + descend.start
      ) AS alive
    ) AS known
    CROSS JOIN LATERAL (
      SELECT coalesce(width_bucket(rest, alive) - 1, rest / width) AS block
    ) AS chosen
    WHERE level >= 0
  )`;
