// Where removed resources were, counted in a tree, so that a page at any depth is a few reads away.

import { column, type Sql, type Statement } from "./connection.ts";

/**
 * Positions (a seq less one) are given out in order and never again, so the n-th resource sits at
 * position n plus the holes before it. A row of the tree divides a range of positions, from `start` on,
 * into 64 blocks of `width`; `alive` tells how many positions before each block, and before the end, are
 * no holes. A block is divided in turn by a row of the next smaller width, down to single positions.
 * Ranges without holes have no row, so adding a resource never touches the tree.
 */
const fanOut = 64;
/** The widest row spans 2^48 positions: more than can be given out. */
const widths = Array.from({ length: 8 }, (_, power) => fanOut ** power);

/** The position of a resource that is gone. */
export interface Hole {
  readonly collection: number;
  readonly position: number;
}

/** A row of the tree, and how many new holes there are before each of its blocks and its end. */
interface Dug {
  readonly collection: number;
  readonly width: number;
  readonly start: number;
  readonly holes: number[];
}

/** The rows of every width in which the holes fall. */
export function countHoles(holes: readonly Hole[]): readonly Dug[] {
  const rows = new Map<string, Dug>();
  for (const { collection, position } of holes)
    for (const width of widths) {
      const start = position - (position % (width * fanOut));
      const name = `${collection} ${width} ${start}`;
      const row = rows.get(name) ?? { collection, width, start, holes: Array(fanOut + 1).fill(0) };
      const block = Math.floor((position - start) / width);
      for (let after = block + 1; after <= fanOut; after++)
        row.holes[after] = (row.holes[after] ?? 0) + 1;
      rows.set(name, row);
    }
  return [...rows.values()];
}

export const dig = (sql: Sql, dug: readonly Dug[]): Statement => sql`
  INSERT INTO holes (collection, width, start, alive)
  SELECT dug.collection, dug.width, dug.start, ARRAY(
    SELECT coalesce(block.alive, (number - 1) * dug.width) - block.holes
    FROM unnest(known.alive, dug.holes::bigint[]) WITH ORDINALITY AS block (alive, holes, number)
    ORDER BY number
  )
  FROM unnest(
    ${column(dug, "collection")}::bigint[], ${column(dug, "width")}::bigint[],
    ${column(dug, "start")}::bigint[], ${dug.map(({ holes }) => `{${holes.join()}}`)}::text[]
  ) AS dug (collection, width, start, holes)
  LEFT JOIN holes AS known
    ON known.collection = dug.collection AND known.width = dug.width AND known.start = dug.start
  ON CONFLICT (collection, width, start) DO UPDATE SET alive = excluded.alive`;

/** A row of nothing but holes is never walked into: dropping it keeps a queue's tree small. */
export const fill = (sql: Sql, dug: readonly Dug[]): Statement => sql`
  DELETE FROM holes
  USING unnest(
    ${column(dug, "collection")}::bigint[], ${column(dug, "width")}::bigint[],
    ${column(dug, "start")}::bigint[]
  ) AS dug (collection, width, start)
  WHERE holes.collection = dug.collection AND holes.width = dug.width AND holes.start = dug.start
    AND alive[${fanOut + 1}::integer] = 0`;

/**
 * A table that leads from `shelf` (key, seq, total, index) to the position of the resource at that
 * index: it is the `start` of the row with the width 0, if there is one.
 */
export const walk = (sql: Sql): Statement => sql`
  walk (width, start, rest) AS (
    SELECT min(top.width), 0::bigint, shelf.index
    FROM shelf JOIN unnest(${widths}::bigint[]) AS top (width)
      ON top.width * ${fanOut}::bigint >= shelf.seq
    WHERE shelf.index BETWEEN 0 AND shelf.total - 1
    GROUP BY shelf.index
    UNION ALL
    SELECT walk.width / ${fanOut}::bigint, walk.start + block * walk.width,
      walk.rest - coalesce(alive[block + 1], block * walk.width)
    FROM walk
    LEFT JOIN holes ON holes.collection = (SELECT key FROM shelf)
      AND holes.width = walk.width AND holes.start = walk.start
    CROSS JOIN LATERAL (
      SELECT coalesce(width_bucket(walk.rest, alive) - 1, walk.rest / walk.width) AS block
    ) AS chosen
    WHERE walk.width > 0
  )`;
