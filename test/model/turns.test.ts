// Long work in turns of the event loop.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { eachInTurns, Turns, turnBytes } from "../../src/lib/turns.ts";
import { turnsOf } from "../turns-of.ts";

describe("a turn", () => {
  it("ends when it has done its work, and the next one begins anew", async () => {
    const turns = new Turns();
    assert.equal(turns.take(turnBytes - 1), undefined);
    const next = turns.take(1);
    assert.ok(next instanceof Promise);
    await next;
    assert.equal(turns.take(turnBytes - 1), undefined);
    assert.ok(turns.take(10 * turnBytes) instanceof Promise);
    assert.equal(turns.take(1), undefined);
  });

  it("has only a part of the items, in their order", async () => {
    const items = Array.from({ length: 1_000 }, (_, index) => index);
    const done: number[] = [];
    const perTurn = 8;
    const turns = await turnsOf(() =>
      eachInTurns(
        items,
        () => turnBytes / perTurn,
        (item) => done.push(item),
      ),
    );
    assert.deepEqual(done, items);
    assert.ok(turns >= items.length / perTurn - 1, `${turns} turns`);
    assert.ok(
      (await turnsOf(() =>
        eachInTurns(
          [1, 2],
          () => 1,
          () => undefined,
        ),
      )) <= 1,
    );
  });
});
