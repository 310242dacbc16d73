// Where removed resources were, counted in a tree, so that a page at any depth is a few reads away.

import { column, type Sql, type Statement } from "./connection.ts";

/**
 * Positions (a seq less one) are given out in order and never again, so the n-th resource sits at
 * position n plus the holes before it. A row of the tree divides a range of positions into 64 blocks,
 * and tells how many positions of the range before each block are alive: no holes. A block is divided in
 * turn by a row one level down, to single positions at level 0. Ranges without holes have no row, so
 * adding a resource never touches the tree.
 */
const fanOut = 64;
/** The rows of the last level span 2^48 positions: more than can be given out. */
const levels = [0, 1, 2, 3, 4, 5, 6, 7];
/** A row's place is its level and where it starts, as one number. */
const levelStride = 2 ** 48;

/** How many positions a block has. */
const widthOf = (level: number): number => fanOut ** level;

/** The position of a resource that is gone. */
export interface Hole {
  readonly collection: number;
  readonly position: number;
}

/** A row of the tree, and how many new holes there are before each of its blocks. */
interface Dug {
  readonly collection: number;
  readonly place: number;
  readonly width: number;
  readonly holes: number[];
}

/** The rows of every level in which the holes fall. */
export function countHoles(holes: readonly Hole[]): readonly Dug[] {
  const rows = new Map<string, Dug>();
  for (const { collection, position } of holes)
    for (const level of levels) {
      const width = widthOf(level);
      const start = position - (position % (width * fanOut));
      const place = level * levelStride + start;
      const name = `${collection} ${place}`;
      const row = rows.get(name) ?? { collection, place, width, holes: Array(fanOut).fill(0) };
      const block = Math.floor((position - start) / width);
      for (let after = block + 1; after < fanOut; after++)
        row.holes[after] = (row.holes[after] ?? 0) + 1;
      rows.set(name, row);
    }
  return [...rows.values()];
}

export function addHoles(sql: Sql, holes: readonly Hole[]): Statement {
  const dug = countHoles(holes);
  return sql`
    INSERT INTO holes (collection, place, alive)
    SELECT dug.collection, dug.place, ARRAY(
      SELECT coalesce(block.alive, (number - 1) * dug.width) - block.holes
      FROM unnest(
        (SELECT alive FROM holes WHERE collection = dug.collection AND place = dug.place),
        dug.holes::bigint[]
      ) WITH ORDINALITY AS block (alive, holes, number)
      ORDER BY number
    )
    FROM unnest(
      ${column(dug, "collection")}::bigint[], ${column(dug, "place")}::bigint[],
      ${column(dug, "width")}::bigint[], ${dug.map((row) => `{${row.holes.join()}}`)}::text[]
    ) AS dug (collection, place, width, holes)
    ON CONFLICT (collection, place) DO UPDATE SET alive = excluded.alive`;
}

/**
 * A table that leads from `shelf` (key, seq, total, index) down to the position of the resource at that
 * index: the `start` of the row with the level -1, if there is one.
 */
export const walk = (sql: Sql): Statement => sql`
  walk (level, width, start, rest) AS (
    (
      SELECT level, width, 0::bigint, index
      FROM shelf
      JOIN unnest(${levels}::bigint[], ${levels.map(widthOf)}::bigint[]) AS top (level, width)
        ON width * ${fanOut}::bigint >= seq
      WHERE index BETWEEN 0 AND total - 1
      ORDER BY level LIMIT 1
    )
    UNION ALL
    SELECT level - 1, width / ${fanOut}::bigint, start + block * width,
      rest - coalesce(alive[block + 1], block * width)
    FROM walk
    CROSS JOIN LATERAL (
      SELECT (
        SELECT alive FROM holes
        WHERE collection = (SELECT key FROM shelf)
          AND place = walk.level * ${levelStride}::bigint + walk.start
      ) AS alive
    ) AS known
    CROSS JOIN LATERAL (
      SELECT coalesce(width_bucket(rest, alive) - 1, rest / width) AS block
    ) AS chosen
    WHERE level >= 0
  )`;
