// The position tree against a plain list of positions.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  blockWidth,
  fanOut,
  locate,
  type ReadRow,
  removePositions,
  rowsOf,
  type TreeKey,
  topLevel,
} from "../../../src/store/core/position-tree.ts";
import { PositionTreeBuilder } from "../../../src/store/core/position-tree-builder.ts";
import fc from "../../fast-check.ts";
import { newSeed, runs } from "../../seeds.ts";

class Tree {
  readonly rows = new Map<string, readonly number[]>();
  readonly read: ReadRow = (key) => this.rows.get(nameOf(key));

  remove(positions: readonly number[]): void {
    for (const { alive, ...key } of removePositions(this.read, positions))
      if (alive) this.rows.set(nameOf(key), alive);
      else this.rows.delete(nameOf(key));
  }
}

const nameOf = ({ level, row }: TreeKey): string => `${level}.${row}`;

describe("the position tree", () => {
  it("finds every resource after any removals", () => {
    const removals = fc.array(fc.uniqueArray(fc.nat(4_999), { maxLength: 400 }), { maxLength: 6 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5_000 }), removals, (count, batches) => {
        const tree = new Tree();
        let alive = Array.from({ length: count }, (_, position) => position);
        for (const batch of batches) {
          const there = new Set(alive);
          const removed = batch.filter((position) => there.has(position));
          tree.remove(removed);
          const gone = new Set(removed);
          alive = alive.filter((position) => !gone.has(position));
          for (const [index, position] of alive.entries())
            assert.equal(locate(tree.read, index, count), position);
        }
      }),
      { numRuns: runs(30, 1_000), seed: newSeed("position tree") },
    );
  });

  it("finds resources among more positions than 32 bits can count", () => {
    const tree = new Tree();
    const first = 2 ** 47;
    tree.remove([0, 1, first, first + 1, first + 70]);
    assert.equal(locate(tree.read, 0, first + 100), 2);
    assert.equal(locate(tree.read, first - 3, first + 100), first - 1);
    assert.equal(locate(tree.read, first - 2, first + 100), first + 2);
    assert.equal(locate(tree.read, first + 66, first + 100), first + 71);
  });

  it("has no rows before the first removal, and few for a queue that is emptied", () => {
    const tree = new Tree();
    assert.equal(tree.rows.size, 0);
    const count = fanOut ** 2 * 3;
    for (let start = 0; start < count; start += 100)
      tree.remove(Array.from({ length: Math.min(100, count - start) }, (_, i) => start + i));
    assert.ok(tree.rows.size <= 8, `${tree.rows.size} rows`);
    assert.equal(locate(tree.read, 0, count + 5), count);
  });

  it("reads one row for each level", () => {
    const tree = new Tree();
    const count = 1_000_000;
    tree.remove([5, 500_000, 999_999]);
    let reads = 0;
    locate(
      (key) => {
        reads++;
        return tree.read(key);
      },
      700_000,
      count,
    );
    assert.ok(reads <= topLevel(count) + 1);
    assert.equal(blockWidth(topLevel(count)) * fanOut >= count, true);
    assert.equal(rowsOf([5]).length, 8);
  });

  it("has the same rows when it is built from the positions in use", () => {
    const scene = fc.record({
      count: fc.integer({ min: 0, max: 9_000 }),
      ranges: fc.array(fc.tuple(fc.nat(9_000), fc.nat(5_000)), { maxLength: 8 }),
    });
    fc.assert(
      fc.property(scene, ({ count, ranges }) => {
        const positions = Array.from({ length: count }, (_, position) => position);
        const isRemoved = (position: number) =>
          ranges.some(([start, length]) => position >= start && position < start + length);
        const removed = new Tree();
        removed.remove(positions.filter(isRemoved));
        const built = new Tree();
        const builder = new PositionTreeBuilder(({ alive, ...key }) => {
          if (alive) built.rows.set(nameOf(key), alive);
        });
        for (const position of positions) if (!isRemoved(position)) builder.add(position);
        builder.finish(count);
        assert.deepEqual(sorted(built.rows), sorted(removed.rows));
      }),
      { numRuns: runs(50, 1_000), seed: newSeed("building a position tree") },
    );
  });
});

const sorted = (rows: ReadonlyMap<string, readonly number[]>): unknown =>
  [...rows].sort(([one], [other]) => (one < other ? -1 : 1));
