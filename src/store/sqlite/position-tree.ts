// Counts removed positions in a tree, so that a page at any offset is found with a few reads.

import type { Connection } from "./connection.ts";

/**
 * Positions (seq - 1) are assigned in order and never reused, so the n-th resource is at position n
 * plus the number of removed positions before it. A row of the tree has 256 counts: at level 0 whether
 * each of 256 positions is removed, at level 1 how many removed positions each of 256 such rows has, and
 * so on. Rows without removed positions do not exist, so creating a resource never writes to the tree.
 */
export type ReadCounts = (level: number, block: number) => Counts | undefined;

export interface PositionTree {
  readonly counts: ReadCounts;
  save(level: number, block: number, counts: Counts): void;
  delete(level: number, block: number): void;
}

export type Counts = Uint8Array | Uint32Array;

const fanOut = 256;
/** A row of this level covers 2^32 positions. There can be several, so the tree has no size limit. */
const rootLevel = 3;

const childSpan = (level: number): number => fanOut ** level;
const rowSpan = (level: number): number => fanOut ** (level + 1);

/** Returns the position of the resource at this index, which must exist. */
export function locate(read: ReadCounts, index: number, positions: number): number {
  let rest = index;
  let block = 0;
  let level = 0;
  while (level < rootLevel && rowSpan(level) < positions) level++;
  for (let alive = 0; rowSpan(level) * (block + 1) < positions; block++, rest -= alive) {
    alive = rowSpan(level) - sum(read(level, block));
    if (rest < alive) break;
  }
  for (; level >= 0; level--) {
    const counts = read(level, block);
    if (!counts) return block * rowSpan(level) + rest;
    let child = 0;
    for (const count of counts) {
      const alive = childSpan(level) - count;
      if (rest < alive) break;
      rest -= alive;
      child++;
    }
    block = block * fanOut + child;
  }
  return block;
}

/** Marks positions as removed. Each row of the tree is read and written once. */
export function addRemovedPositions(tree: PositionTree, positions: readonly number[]): void {
  for (let level = 0; level <= rootLevel; level++)
    for (const [block, counts] of countedRows(tree, level, positions)) {
      // A row without resources is never read: deleting it keeps the tree of a queue small.
      const isFull = level < rootLevel && sum(counts) === rowSpan(level);
      if (isFull) tree.delete(level, block);
      else tree.save(level, block, counts);
    }
}

function countedRows(
  tree: PositionTree,
  level: number,
  positions: readonly number[],
): ReadonlyMap<number, Counts> {
  const rows = new Map<number, Counts>();
  for (const position of positions) {
    const block = Math.floor(position / rowSpan(level));
    const child = Math.floor(position / childSpan(level)) % fanOut;
    const counts = rows.get(block) ?? tree.counts(level, block) ?? noCounts(level);
    counts[child] = (counts[child] ?? 0) + 1;
    rows.set(block, counts);
  }
  return rows;
}

const noCounts = (level: number): Counts =>
  level === 0 ? new Uint8Array(fanOut) : new Uint32Array(fanOut);

function sum(counts: Counts | undefined): number {
  let total = 0;
  if (counts) for (const count of counts) total += count;
  return total;
}

/** Reads the tree of one collection. Counts are little-endian, like all platforms of both runtimes. */
export function storedCounts(connection: Connection, collectionKey: number): ReadCounts {
  const select = connection.query<readonly [Uint8Array]>(
    `SELECT children FROM holes_${collectionKey} WHERE place = ?`,
  );
  return (level, block) => {
    const row = select.one(place(level, block));
    if (!row) return undefined;
    const bytes = new Uint8Array(row[0]);
    return level === 0 ? bytes : new Uint32Array(bytes.buffer);
  };
}

export function storedTree(connection: Connection, collectionKey: number): PositionTree {
  const table = `holes_${collectionKey}`;
  const replace = connection.query(`INSERT OR REPLACE INTO ${table} VALUES (?, ?)`);
  const remove = connection.query(`DELETE FROM ${table} WHERE place = ?`);
  return {
    counts: storedCounts(connection, collectionKey),
    save: (level, block, counts) =>
      void replace.run(place(level, block), new Uint8Array(counts.buffer)),
    delete: (level, block) => void remove.run(place(level, block)),
  };
}

const place = (level: number, block: number): number => level * 2 ** 48 + block;
