// The points of a growth line.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { growthOf, samplePositions } from "../../console/pages/growth-points.ts";

describe("the growth of a collection", () => {
  it("is added up from the days on which resources were created", () => {
    const days = [
      {
        ...{ count: 3, "min(createdAt)": "2026-01-01T10:00:00Z" },
        "max(createdAt)": "2026-01-01T11:00:00Z",
      },
      {
        ...{ count: 1, "min(createdAt)": "2026-01-05T00:00:00Z" },
        "max(createdAt)": "2026-01-05T00:00:00Z",
      },
    ];
    assert.deepEqual(growthOf(days), [
      { time: Date.UTC(2026, 0, 1, 10), count: 1 },
      { time: Date.UTC(2026, 0, 1, 11), count: 3 },
      { time: Date.UTC(2026, 0, 5), count: 4 },
      { time: Date.UTC(2026, 0, 5), count: 4 },
    ]);
    assert.deepEqual(growthOf([]), []);
  });

  it("is taken from a few resources of a large one", () => {
    assert.deepEqual(samplePositions(1_000_000), [1, 250_001, 500_001, 750_000, 1_000_000]);
    assert.deepEqual(samplePositions(1), [1]);
  });
});
