// Long work in turns of the event loop.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  eachInTurns,
  inTurns,
  nextTurn,
  RestingTurns,
  Turns,
  turnBytes,
} from "../../src/lib/turns.ts";
import { largestTurn, turnsOf } from "../turns-of.ts";

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

  it("belongs to one task, however many there are", async () => {
    const items = Array.from({ length: 40 }, () => turnBytes / 8);
    const largest = await largestTurn((note) =>
      Promise.all(
        Array.from({ length: 10 }, () => nextTurn().then(() => eachInTurns(items, Number, note))),
      ),
    );
    assert.equal(largest, turnBytes);
  });

  it("of long work lasts a millisecond, and is followed by a rest after the first ones", async () => {
    const turns = new RestingTurns();
    assert.equal(turns.take(0.6), undefined);
    assert.ok(turns.take(0.6) instanceof Promise);
    assert.equal(turns.take(0.6), undefined);
    let isTimerDone = false;
    setTimeout(() => {
      isTimerDone = true;
    }, 0);
    await turns.take(20);
    assert.ok(isTimerDone);
  });

  it("has only a piece of a large chunk", async () => {
    async function* chunks() {
      yield Buffer.alloc(10 * turnBytes + 1);
      yield "no bytes" as const;
      for (let count = 0; count < 40; count++) yield Buffer.alloc(turnBytes / 4);
    }
    const kept: unknown[] = [];
    let bytes = 0;
    const largest = await largestTurn(async (note) => {
      for await (const piece of inTurns(chunks()))
        if (typeof piece === "string") kept.push(piece);
        else {
          note(piece.length);
          bytes += piece.length;
        }
    });
    assert.deepEqual(kept, ["no bytes"]);
    assert.equal(bytes, 20 * turnBytes + 1);
    assert.ok(largest <= turnBytes + 1, `${largest} bytes`);
  });
});
