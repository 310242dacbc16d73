// Builds the position tree of a whole part from its positions in use, read in order.

import { blockWidth, fanOut, lastLevel, rowWidth, type TreeWrite } from "./position-tree.ts";

/** A row that is being counted: how many positions of each block are alive. */
interface OpenRow {
  readonly row: number;
  readonly counts: number[];
}

export class PositionTreeBuilder {
  readonly #save: (write: TreeWrite) => void;
  readonly #open: OpenRow[] = [];

  constructor(save: (write: TreeWrite) => void) {
    this.#save = save;
  }

  /** Adds a position that is alive. Positions must be added in ascending order. */
  add(position: number): void {
    for (let level = 0; level <= lastLevel; level++) {
      const counts = this.#countsAt(level, Math.floor(position / rowWidth(level)));
      const block = Math.floor(position / blockWidth(level)) % fanOut;
      counts[block] = (counts[block] ?? 0) + 1;
    }
  }

  /** Completes the tree. Positions from `next` on are not assigned yet, and count as alive. */
  finish(next: number): void {
    for (let level = 0; level <= lastLevel; level++) {
      const row = Math.floor(next / rowWidth(level));
      const width = blockWidth(level);
      const counts = this.#countsAt(level, row);
      for (let block = 0; block < fanOut; block++) {
        const end = row * rowWidth(level) + (block + 1) * width;
        counts[block] = (counts[block] ?? 0) + Math.min(width, Math.max(0, end - next));
      }
      this.#close(level);
    }
  }

  #countsAt(level: number, row: number): number[] {
    const open = this.#open[level];
    if (open?.row === row) return open.counts;
    this.#close(level);
    const counts = new Array<number>(fanOut).fill(0);
    this.#open[level] = { row, counts };
    return counts;
  }

  /** Saves the row, unless all of its positions are alive. Rows without any are never opened. */
  #close(level: number): void {
    const open = this.#open[level];
    if (!open) return;
    const alive = [0];
    for (const count of open.counts) alive.push((alive.at(-1) ?? 0) + count);
    if (alive[fanOut] !== rowWidth(level)) this.#save({ level, row: open.row, alive });
  }
}
