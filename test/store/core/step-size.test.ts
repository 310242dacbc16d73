// The size of the steps of an index build follows the time that they take.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { StepSize } from "../../../src/store/core/step-size.ts";

/** Returns the sizes of steps in which each row takes this long. */
function sizes(size: StepSize, msPerRow: number, steps = 30): readonly number[] {
  return Array.from({ length: steps }, () => {
    const rows = size.rowsFor("work");
    size.adjust(rows * msPerRow);
    return rows;
  });
}

describe("the size of a step", () => {
  it("grows while steps are short, up to a limit", () => {
    const grown = sizes(new StepSize(10), 0.000_1);
    assert.ok(grown.every((rows, index) => index === 0 || rows >= (grown[index - 1] ?? 0)));
    assert.equal(grown.at(-1), 2_000);
  });

  it("settles where a step takes the given time", () => {
    assert.equal(sizes(new StepSize(10), 0.1).at(-1), 100);
    assert.equal(sizes(new StepSize(10), 0.5).at(-1), 20);
    assert.equal(sizes(new StepSize(40), 0.5).at(-1), 80);
  });

  it("shrinks at once after a long step, but never to nothing", () => {
    const size = new StepSize(10);
    sizes(size, 0.01);
    const [before = 0, after = 0] = sizes(size, 1, 2);
    assert.ok(before >= 900 && after <= 10, `${before} ${after}`);
    assert.equal(sizes(size, 1_000).at(-1), 8);
  });

  it("begins small for other work", () => {
    const size = new StepSize(10);
    sizes(size, 0.01);
    assert.equal(size.rowsFor("other work"), new StepSize(10).rowsFor("work"));
  });
});
