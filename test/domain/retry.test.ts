// Writes that are repeated while others change the same state: until a limit, and at least once.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { retryOnConflict } from "../../src/domain/retry.ts";
import { Clock } from "../clock.ts";

describe("a write that others come before", () => {
  const clock = new Clock();
  before(() => clock.stop());
  after(() => clock.go());

  /** Attempts that take so long each, of which the last one of so many succeeds. */
  async function tryFor(ms: number, needed: number): Promise<number> {
    let count = 0;
    await retryOnConflict(async (isFirst) => {
      assert.equal(isFirst, count === 0);
      clock.holdUp(ms);
      return ++count === needed ? "done" : undefined;
    });
    return count;
  }

  it("is repeated for 30 seconds", async () => {
    assert.equal(await tryFor(1_000, 31), 31);
    await assert.rejects(tryFor(1_000, 32), { reason: "busy" });
  });

  it("is repeated however often in that time", async () => {
    assert.equal(await tryFor(1, 5_000), 5_000);
  });

  it("is repeated once when an attempt takes longer", async () => {
    assert.equal(await tryFor(60_000, 2), 2);
    await assert.rejects(tryFor(60_000, 3), { reason: "busy" });
  });
});
