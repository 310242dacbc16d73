// Collections: founded once, each with exact counters.

import assert from "node:assert/strict";
import type { Question } from "./candidate.ts";
import { found, kinds, put, remove, revisionOf } from "./words.ts";

export function collections(question: Question): void {
  question(
    "an unknown collection is nowhere, and nothing can be put into it",
    async ({ store }) => {
      const outcomes = await store.commit([
        put("a"),
        put("a", { expect: "nothing" }),
        put("a", { expect: 1 }),
        remove("a"),
      ]);
      assert.deepEqual(kinds(outcomes), ["missing", "missing", "missing", "missing"]);
      assert.equal(await store.collection("things"), undefined);
      assert.equal(await store.find("things", "a"), undefined);
      assert.equal(
        await store.slice("things", { offset: 0, limit: 1, order: "created" }),
        undefined,
      );
      assert.deepEqual(await store.collections(), []);
    },
  );

  question("a collection is founded once; again does nothing", async ({ store }) => {
    assert.deepEqual(kinds(await store.commit([found("things", 7)])), ["done"]);
    const before = await store.collection("things");
    assert.ok(before);
    assert.deepEqual(
      { ...before, revision: 0 },
      { name: "things", revision: 0, total: 0, createdAt: 7, updatedAt: 7 },
    );
    assert.deepEqual(kinds(await store.commit([found("things", 9)])), ["done"]);
    assert.deepEqual(await store.collection("things"), before);
  });

  question("all collections are listed by name, each with its own counters", async ({ store }) => {
    await store.commit([found("b"), found("a"), put("x", { collection: "b", at: 30 })]);
    const all = await store.collections();
    assert.deepEqual(
      all.map(({ name, total, updatedAt }) => [name, total, updatedAt]),
      [
        ["a", 0, 1],
        ["b", 1, 30],
      ],
    );
    assert.deepEqual(all[1], await store.collection("b"));
  });

  question("each write moves the revision, the total and the time", async ({ store }) => {
    await store.commit([found()]);
    let before = await store.collection("things");
    for (const [change, total, updatedAt] of [
      [put("a", { at: 10 }), 1, 10],
      [put("a", { at: 11 }), 1, 11],
      [remove("a"), 0, 20],
    ] as const) {
      const [outcome] = await store.commit([change]);
      const after = await store.collection("things");
      assert.ok(before && after && after.revision > before.revision);
      assert.equal(after.revision, revisionOf(outcome));
      assert.deepEqual([after.total, after.updatedAt], [total, updatedAt]);
      before = after;
    }
  });

  question("a clock set back does not make a collection older", async ({ store }) => {
    await store.commit([found(), put("a", { at: 100 }), put("b", { at: 50 })]);
    assert.equal((await store.collection("things"))?.updatedAt, 100);
    assert.equal((await store.find("things", "b"))?.updatedAt, 50);
  });
}
