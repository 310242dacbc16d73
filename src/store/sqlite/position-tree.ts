// Where removed resources were, counted in a tree, so that a page at any depth is a few reads away.

import type { Connection } from "./connection.ts";

/**
 * Positions (a seq less one) are given out in order and never again, so the n-th resource sits at
 * position n plus the holes before it. A row of the tree holds 256 counts: at level 0 whether each
 * of 256 positions is a hole, at level 1 how many holes each of 256 such rows has, and so on. Rows
 * without holes are not there, so adding a resource never touches the tree.
 */
export type ReadCounts = (level: number, block: number) => Counts | undefined;

export interface Holes {
  readonly counts: ReadCounts;
  keep(level: number, block: number, counts: Counts): void;
  drop(level: number, block: number): void;
}

export type Counts = Uint8Array | Uint32Array;

const fanOut = 256;
/** A row here spans 2^32 positions. More of them stand side by side, so there is no largest tree. */
const rootLevel = 3;

const childSpan = (level: number): number => fanOut ** level;
const rowSpan = (level: number): number => fanOut ** (level + 1);

/** The position of the resource at this index, given that there is one. */
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

/** Marks the positions as holes. Each row is read and written once, however many fall in it. */
export function addHoles(holes: Holes, positions: readonly number[]): void {
  for (let level = 0; level <= rootLevel; level++)
    for (const [block, counts] of countedRows(holes, level, positions)) {
      // A row without resources is never walked into: dropping it keeps a queue's tree small.
      const isSpent = level < rootLevel && sum(counts) === rowSpan(level);
      if (isSpent) holes.drop(level, block);
      else holes.keep(level, block, counts);
    }
}

function countedRows(
  holes: Holes,
  level: number,
  positions: readonly number[],
): ReadonlyMap<number, Counts> {
  const rows = new Map<number, Counts>();
  for (const position of positions) {
    const block = Math.floor(position / rowSpan(level));
    const child = Math.floor(position / childSpan(level)) % fanOut;
    const counts = rows.get(block) ?? holes.counts(level, block) ?? noCounts(level);
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

/** The tree of one collection. Its bytes are little-endian, like every machine both runtimes run on. */
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

export function storedHoles(connection: Connection, collectionKey: number): Holes {
  const table = `holes_${collectionKey}`;
  const replace = connection.query(`INSERT OR REPLACE INTO ${table} VALUES (?, ?)`);
  const remove = connection.query(`DELETE FROM ${table} WHERE place = ?`);
  return {
    counts: storedCounts(connection, collectionKey),
    keep: (level, block, counts) =>
      void replace.run(place(level, block), new Uint8Array(counts.buffer)),
    drop: (level, block) => void remove.run(place(level, block)),
  };
}

const place = (level: number, block: number): number => level * 2 ** 48 + block;
