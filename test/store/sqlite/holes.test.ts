// The tree of holes against a plain list, at sizes no table of a test could have.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  addRemovedPositions,
  type Counts,
  locate,
  type PositionTree,
} from "../../../src/store/sqlite/position-tree.ts";
import fc from "../../fast-check.ts";

class HolesInMemory implements PositionTree {
  readonly rows = new Map<string, Counts>();
  reads = 0;

  readonly counts = (level: number, block: number) => {
    this.reads++;
    return this.rows.get(`${level}/${block}`)?.slice();
  };

  save(level: number, block: number, counts: Counts): void {
    this.rows.set(`${level}/${block}`, counts);
  }

  delete(level: number, block: number): void {
    this.rows.delete(`${level}/${block}`);
  }
}

const range = (start: number, end: number): number[] =>
  Array.from({ length: end - start }, (_, index) => start + index);

/** The index of a position: how many come before it, less the holes. */
const indexOf = (position: number, holes: readonly number[]): number =>
  position - holes.filter((hole) => hole < position).length;

describe("holes", () => {
  it("without holes a position is its index, and nothing is kept", () => {
    const holes = new HolesInMemory();
    for (const index of [0, 255, 256, 65_536, 2 ** 32, 2 ** 40])
      assert.equal(locate(holes.counts, index, index + 1), index);
  });

  it("finds every resource, wherever holes are", () => {
    const sizes = [300, 70_000, 20_000_000, 2 ** 32 + 1_000, 2 ** 34];
    const scene = fc.constantFrom(...sizes).chain((size) =>
      fc.record({
        size: fc.constant(size),
        holes: fc.uniqueArray(fc.nat(size - 1), { minLength: 1, maxLength: 60 }),
        others: fc.uniqueArray(fc.nat(size - 1), { minLength: 1, maxLength: 20 }),
        cut: fc.nat(60),
      }),
    );
    fc.assert(
      fc.property(scene, ({ size, holes, others, cut }) => {
        const tree = new HolesInMemory();
        addRemovedPositions(tree, holes.slice(0, cut));
        addRemovedPositions(tree, holes.slice(cut));
        const neighbours = holes.flatMap((hole) => [hole - 1, hole + 1]);
        for (const position of [...others, ...neighbours]) {
          if (position < 0 || position >= size || holes.includes(position)) continue;
          assert.equal(locate(tree.counts, indexOf(position, holes), size), position);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("finds every resource beside wide stretches without any", () => {
    const tree = new HolesInMemory();
    const size = 200_000;
    const isAlive = (position: number) =>
      position < 100 || (position > 66_000 && position % 1_000 === 0) || position >= 199_900;
    const alive = range(0, size).filter(isAlive);
    addRemovedPositions(
      tree,
      range(0, size).filter((position) => !isAlive(position)),
    );
    for (const [index, position] of alive.entries())
      assert.equal(locate(tree.counts, index, size), position);
  });

  it("keeps little of a queue whose head is always removed", () => {
    const tree = new HolesInMemory();
    for (let start = 0; start < 400_000; start += 1_000)
      addRemovedPositions(tree, range(start, start + 1_000));
    assert.ok(tree.rows.size <= 5, `${tree.rows.size} rows`);
    assert.equal(locate(tree.counts, 7, 400_100), 400_007);
  });

  it("reads a row a level", () => {
    const tree = new HolesInMemory();
    const size = 16_000_000;
    addRemovedPositions(
      tree,
      range(0, 5_000).map((index) => index * 3_001),
    );
    tree.reads = 0;
    locate(tree.counts, 8_000_000, size);
    assert.ok(tree.reads <= 3, `${tree.reads} reads`);
  });
});
