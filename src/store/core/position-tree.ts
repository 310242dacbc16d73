// Counts removed positions in a tree, so that a page at any offset is found with a few reads.

/**
 * Positions (seq - 1) are assigned in order and never reused, so the n-th resource is at position n plus
 * the number of removed positions before it. A row of the tree divides a range of positions into 64
 * blocks, and stores how many positions before each block are alive (not removed). The row one level down
 * divides a block further, to single positions at level 0. A range without removed positions has no row,
 * so creating a resource never writes to the tree. Neither has a range in which every position is removed:
 * nothing looks into it, and so the tree of a queue stays small.
 */
export const fanOut = 64;

/** A row of the last level covers 2^48 positions, more than are ever assigned. */
export const lastLevel = 7;

/** The number of positions in one block of a row. */
export const blockWidth = (level: number): number => fanOut ** level;

/** The number of positions in one row. */
export const rowWidth = (level: number): number => fanOut ** (level + 1);

/** Identifies a row: its level, and its number among the rows of that level. */
export interface TreeKey {
  readonly level: number;
  readonly row: number;
}

/** Returns how many positions before each block are alive; undefined when there is no such row. */
export type ReadRow = (key: TreeKey) => readonly number[] | undefined;

/** A row to save, or to delete when `alive` is undefined. */
export interface TreeWrite extends TreeKey {
  readonly alive: readonly number[] | undefined;
}

/** Returns the level at which a search among this many positions begins. */
export function topLevel(positions: number): number {
  let level = 0;
  while (level < lastLevel && rowWidth(level) < positions) level++;
  return level;
}

/** Returns the position of the resource at this index, which must exist. */
export function locate(read: ReadRow, index: number, positions: number): number {
  let rest = index;
  let row = 0;
  for (let level = topLevel(positions); level >= 0; level--) {
    const alive = read({ level, row });
    if (!alive) return row * rowWidth(level) + rest;
    const block = blockOf(alive, rest);
    rest -= alive[block] ?? 0;
    row = row * fanOut + block;
  }
  return row;
}

/** Returns the last block that has at most this many alive positions before it. */
function blockOf(alive: readonly number[], rest: number): number {
  const after = alive.findIndex((count) => count > rest);
  return (after < 0 ? alive.length : after) - 1;
}

/** Returns the keys of the rows that change when these positions are removed. */
export const rowsOf = (positions: readonly number[]): readonly TreeKey[] =>
  levels.flatMap((level) =>
    [...positionsByRow(level, positions).keys()].map((row) => ({ level, row })),
  );

/** Returns the rows to save or delete when these positions are removed. */
export const removePositions = (
  read: ReadRow,
  positions: readonly number[],
): readonly TreeWrite[] =>
  levels.flatMap((level) =>
    [...positionsByRow(level, positions)].map(([row, inside]) => {
      const width = blockWidth(level);
      const removed = new Array<number>(fanOut).fill(0);
      for (const position of inside) {
        const block = Math.floor(position / width) % fanOut;
        removed[block] = (removed[block] ?? 0) + 1;
      }
      let before = 0;
      const alive = (read({ level, row }) ?? untouched(width)).map((count, block) => {
        before += removed[block - 1] ?? 0;
        return count - before;
      });
      const isEmpty = alive[fanOut] === 0;
      return { level, row, alive: isEmpty && level < lastLevel ? undefined : alive };
    }),
  );

const levels = Array.from({ length: lastLevel + 1 }, (_, level) => level);

function positionsByRow(
  level: number,
  positions: readonly number[],
): ReadonlyMap<number, readonly number[]> {
  const rows = new Map<number, number[]>();
  for (const position of positions) {
    const row = Math.floor(position / rowWidth(level));
    const inside = rows.get(row);
    if (inside) inside.push(position);
    else rows.set(row, [position]);
  }
  return rows;
}

/** A row without removed positions: the counts before each block, and the total at the end. */
const untouched = (width: number): readonly number[] =>
  Array.from({ length: fanOut + 1 }, (_, block) => block * width);
