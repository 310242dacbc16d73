// The size of the steps of an index build follows the time that they take.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { StepSize } from "../../../src/store/core/step-size.ts";

const sizeFor = (targetMs: number): StepSize => new StepSize({ targetMs, longestMs: 50 });

/** Returns the sizes of steps in which each row takes this long, and each step waits so long. */
function sizes(size: StepSize, msPerRow: number, steps = 30, waits = [0]): readonly number[] {
  return Array.from({ length: steps }, (_, step) => {
    const rows = size.rowsFor("work");
    size.adjust(rows * msPerRow + (waits[step % waits.length] ?? 0), rows);
    return rows;
  });
}

describe("the size of a step", () => {
  it("grows while steps are short, up to a limit", () => {
    const grown = sizes(sizeFor(10), 0.000_1);
    assert.ok(grown.every((rows, index) => index === 0 || rows >= (grown[index - 1] ?? 0)));
    assert.equal(grown.at(-1), 2_000);
  });

  it("settles where a step takes the given time", () => {
    assert.equal(sizes(sizeFor(10), 0.1).at(-1), 100);
    assert.equal(sizes(sizeFor(10), 0.5).at(-1), 20);
    assert.equal(sizes(sizeFor(40), 0.5).at(-1), 80);
  });

  it("is that of the steps that do not wait for a core or the disk", () => {
    const most = sizes(sizeFor(10), 0.1, 60, [30, 20, 0, 25, 35]);
    assert.deepEqual(new Set(most.slice(-20)), new Set([100]));
  });

  it("shrinks at once after a step that waited very long, and grows again", () => {
    const size = sizeFor(10);
    sizes(size, 0.1);
    const [before = 0, after = 0, ...later] = sizes(size, 0.1, 20, [190, ...new Array(30).fill(0)]);
    assert.equal(before, 100);
    assert.equal(after, 25);
    assert.equal(later.at(-1), 100);
  });

  it("shrinks when rows take longer, but never to nothing", () => {
    const size = sizeFor(10);
    sizes(size, 0.01);
    const [before = 0, after = 0] = sizes(size, 1, 2);
    assert.ok(before >= 900 && after <= 50, `${before} ${after}`);
    assert.equal(sizes(size, 1).at(-1), 10);
    assert.equal(sizes(size, 1_000).at(-1), 8);
  });

  it("looks at the rows that a step had, when it was cut before its end", () => {
    const size = sizeFor(10);
    for (let step = 0; step < 30; step++) {
      const rows = Math.min(20, size.rowsFor("work"));
      size.adjust(rows * 0.1, rows);
    }
    assert.equal(size.rowsFor("work"), 100);
  });

  it("begins small for other work", () => {
    const size = sizeFor(10);
    sizes(size, 0.01);
    assert.equal(size.rowsFor("other work"), sizeFor(10).rowsFor("work"));
    const [first = 0] = sizes(size, 0.5, 1);
    assert.ok(first <= 24, `${first}`);
  });
});
