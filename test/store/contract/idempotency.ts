// Idempotency keys: a request with a key is applied once, and its outcomes are repeated.

import assert from "node:assert/strict";
import type { Outcome, Store } from "../../../src/store/store.ts";
import {
  all,
  create,
  doneIn,
  idsFrom,
  kinds,
  lookAt,
  once,
  put,
  remove,
  totalOf,
} from "./change-helpers.ts";
import type { ContractTest } from "./engine-under-test.ts";

const isReused = (outcome: Outcome | undefined): void =>
  assert.deepEqual(outcome, { kind: "reused" });

export function idempotencyKeys(contractTest: ContractTest): void {
  contractTest(
    "a repetition gets the first outcomes, whatever it contains now",
    async ({ store }) => {
      await store.commit([create(), put("old")]);
      const unit = [put("a", { fields: '{"n":1.10,"s":"☃ \\u0000 \\""}' }), remove("old")];
      const [first] = await store.commit([all(unit, once("k"))]);
      assert.deepEqual(kinds(doneIn(first)), ["created", "removed"]);
      const before = await lookAt(store);
      const [same, other] = await store.commit([
        all(unit, once("k", { at: 101, expiresAt: 9_999 })),
        all([put("b", { at: 77 })], once("k", { at: 102 })),
      ]);
      assert.deepEqual(doneIn(same, true), doneIn(first));
      assert.deepEqual(doneIn(other, true), doneIn(first));
      assert.deepEqual(await lookAt(store), before);
    },
  );

  contractTest("the resources are returned as they were then", async ({ store }) => {
    const long = `{"long":"${"x".repeat(200_000)}"}`;
    const [, first] = await store.commit([
      create(),
      all([put("a", { fields: long }), put("b")], once("k")),
    ]);
    await store.commit([put("a", { fields: '{"new":1}', at: 50 })]);
    const [again] = await store.commit([all([put("c")], once("k"))]);
    assert.deepEqual(doneIn(again, true), doneIn(first));
    assert.equal((await store.find("things", "a"))?.fields, '{"new":1}');
    assert.equal(await totalOf(store), 2);
  });

  contractTest(
    "when one of the resources was deleted, the outcome is gone, and the key stays used",
    async ({ store }) => {
      const unit = [put("a"), put("b")];
      await store.commit([create(), all(unit, once("k")), all([put("c")], once("other"))]);
      const [, sameBatch] = await store.commit([remove("b"), all([put("d")], once("k"))]);
      assert.deepEqual(sameBatch, { kind: "gone" });
      const [later] = await store.commit([all(unit, once("k"))]);
      assert.deepEqual(later, { kind: "gone" });
      const [reused] = await store.commit([all(unit, once("k", { fingerprint: "another" }))]);
      isReused(reused);
      // One that comes to the same id later is another resource.
      await store.commit([put("b", { at: 5_000 })]);
      const [still] = await store.commit([all([put("d")], once("k"))]);
      assert.deepEqual(still, { kind: "gone" });
      const [other] = await store.commit([all([put("d")], once("other"))]);
      assert.deepEqual(kinds(doneIn(other, true)), ["created"]);
      assert.equal(await totalOf(store), 3);
    },
  );

  contractTest("a recreated collection has no keys of the former one", async (engine) => {
    const { store } = engine;
    await store.commit([create(), all([put("a")], once("k"))]);
    await store.commit([{ kind: "drop", collection: "things", isEmptyOnly: false }]);
    await store.commit([create()]);
    const [outcome] = await store.commit([all([put("b")], once("k"))]);
    assert.deepEqual(kinds(doneIn(outcome)), ["created"]);
    assert.equal(await totalOf(store), 1);
  });

  contractTest("a key belongs to a collection: on another one it is new", async ({ store }) => {
    await store.commit([create(), create("others")]);
    const [first] = await store.commit([all([put("a")], once("k"))]);
    const other = { ...put("a"), collection: "others" };
    const [second, again] = await store.commit([
      all([other], once("k", { fingerprint: "another" })),
      all([put("b")], once("k")),
    ]);
    assert.deepEqual(kinds(doneIn(second)), ["created"]);
    assert.deepEqual(doneIn(again, true), doneIn(first));
  });

  contractTest("a key does not depend on changes that follow from the state", async ({ store }) => {
    for (let number = 0; number < 10; number++) {
      const [one, other] = [`one-${number}`, `other-${number}`];
      const [own, following] = [one, other].map((collection) => ({ ...remove("a"), collection }));
      assert.ok(own && following);
      await store.commit([
        ...[create(one), create(other)],
        ...[one, other].map((collection) => ({ ...put("a"), collection })),
      ]);
      const [first] = await store.commit([all([own, following], once("k", { ownChanges: 1 }))]);
      assert.deepEqual(kinds(doneIn(first)), ["removed", "removed"]);
      const [again] = await store.commit([all([own], once("k"))]);
      assert.deepEqual(kinds(doneIn(again, true)), ["removed", "removed"], one);
    }
  });

  contractTest("another request with the same key is rejected", async ({ store }) => {
    await store.commit([create(), all([put("a")], once("k"))]);
    const before = await lookAt(store);
    const [outcome] = await store.commit([all([put("b")], once("k", { fingerprint: "another" }))]);
    isReused(outcome);
    assert.deepEqual(await lookAt(store), before);
    const [again] = await store.commit([all([put("b")], once("k"))]);
    doneIn(again, true);
  });

  contractTest("keys are distinct, and separate for each owner", async ({ store }) => {
    await store.commit([create()]);
    const names = [
      ["a", "b"],
      ["a", "B"],
      ["a", "b "],
      ["ab", ""],
      ["", "ab"],
      ["a b", "c"],
      ["a", "b c"],
      ["b", "a"],
      ["a", 'it\'s "é" ☃ %_'],
      ["a", "k".repeat(255)],
      ["a", "k".repeat(254)],
    ] as const;
    const unit = (row: number, [owner, key]: readonly [string, string], suffix = "") =>
      all([put(`id-${row}${suffix}`)], once(key, { owner }));
    const first = await store.commit(names.map((name, row) => unit(row, name)));
    for (const [row, outcome] of first.entries()) assert.ok(doneIn(outcome), `${names[row]}`);
    const again = await store.commit(names.map((name, row) => unit(row, name, "-again")));
    for (const [row, outcome] of again.entries())
      assert.deepEqual(doneIn(outcome, true), doneIn(first[row]));
    assert.equal(await totalOf(store), names.length);
  });

  contractTest("an atomic group that fails stores no key", async ({ store }) => {
    await store.commit([create(), put("a")]);
    const failing = all([put("b"), put("a", { expect: "nothing" })], once("k"));
    const outcomes = await store.commit([failing, failing]);
    assert.deepEqual(kinds(outcomes), ["none", "none"]);
    const [done] = await store.commit([all([put("c")], once("k", { fingerprint: "mended" }))]);
    assert.deepEqual(kinds(doneIn(done)), ["created"]);
    assert.equal(await totalOf(store), 2);
  });

  contractTest("of two in one batch, the second is a repetition", async ({ store }) => {
    const [, first, second, third, fourth] = await store.commit([
      create(),
      all([put("a")], once("k")),
      all([put("b")], once("k")),
      all([put("c")], once("k", { fingerprint: "another" })),
      all([put("d")], once("another")),
    ]);
    assert.deepEqual(doneIn(second, true), doneIn(first));
    isReused(third);
    doneIn(fourth);
    assert.equal(await totalOf(store), 2);
  });

  contractTest(
    "an expired key can be used again",
    async ({ store }) => {
      await store.commit([create(), all([put("a")], once("k", { at: 100, expiresAt: 200 }))]);
      const later = (id: string, at: number, fingerprint: string) =>
        all([put(id)], once("k", { at, expiresAt: at + 100, fingerprint }));
      const [early] = await store.commit([later("b", 199, "a request")]);
      doneIn(early, true);
      const [late, again, other] = await store.commit([
        later("c", 200, "another"),
        later("d", 299, "another"),
        later("e", 299, "a request"),
      ]);
      assert.deepEqual(kinds(doneIn(late)), ["created"]);
      assert.deepEqual(doneIn(again, true), doneIn(late));
      isReused(other);
      assert.equal(await totalOf(store), 2);
    },
    { isNew: true },
  );

  contractTest(
    "an expired key does not affect others",
    async ({ store }) => {
      await store.commit([create()]);
      const keys = idsFrom(120, "key");
      const keep = (at: number, lasts: (index: number) => number) =>
        keys.map((key, index) =>
          all([put("same")], once(key, { at, expiresAt: at + lasts(index) })),
        );
      await store.commit(keep(100, (index) => (index % 3 === 0 ? 1_000 : 10)));
      // Later units clear away what is over, a few at a time, and nothing else.
      for (const id of idsFrom(30)) await store.commit([all([put(id)], once(id, { at: 200 }))]);
      const outcomes = await store.commit(keep(201, () => 10));
      for (const [index, outcome] of outcomes.entries()) doneIn(outcome, index % 3 === 0);
    },
    { isNew: true },
  );

  const day = 24 * 60 * 60 * 1000;
  const start = 1_000 * day;
  const weekly = (id: string, key: string, at: number) =>
    all([put(id)], once(key, { at, expiresAt: at + 7 * day }));

  contractTest(
    "a key does not expire because the clock was wrong",
    async ({ store }) => {
      const wrong = [-9_000, -30, -8, -1, 0, 1, 8, 30, 9_000].map((days) => start + days * day);
      await store.commit([create()]);
      for (const [index, made] of wrong.entries()) {
        const [first] = await store.commit([weekly(`a${index}`, `k${index}`, made)]);
        doneIn(first);
        // The clock jumps back and forth, and others use keys meanwhile.
        for (const [round, at] of [...wrong, start, ...wrong.toReversed(), start].entries()) {
          const [again, other] = await store.commit([
            weekly(`b${index}`, `k${index}`, at),
            weekly(`c${index}-${round}`, `other${index}-${round}`, at),
          ]);
          assert.deepEqual(doneIn(again, true), doneIn(first), `${made} ${at}`);
          doneIn(other);
        }
      }
    },
    { isNew: true },
  );

  contractTest(
    "different clocks of nodes make no key older",
    async (engine) => {
      const stores = [engine.store, await engine.second()];
      await engine.store.commit([create()]);
      for (const skew of [50, 5_000, 3_600_000, 3 * day]) {
        const key = `skew ${skew}`;
        const lasts = { at: start, expiresAt: start + 60_000 };
        const [first] = await engine.store.commit([all([put(key)], once(key, lasts))]);
        doneIn(first);
        for (let round = 0; round < 40; round++) {
          const at = start + round + (round % 2) * skew;
          const store = stores[round % 2] ?? engine.store;
          const [other] = await store.commit([
            all([put("other")], once(`${key} ${round}`, { at, expiresAt: at + day })),
          ]);
          doneIn(other);
        }
        const [again] = await engine.store.commit([
          all([put("again")], once(key, { at: start + 40, expiresAt: start + 60_040 })),
        ]);
        const isOld = skew >= 60_000 && skew <= day;
        doneIn(again, !isOld);
      }
    },
    { isNew: true },
  );

  contractTest(
    "a key expires eventually, however seldom others are used",
    async ({ store }) => {
      await store.commit([create(), weekly("a", "k", start)]);
      const hour = 3_600_000;
      let at = start;
      let id = 0;
      for (let minutes = 0; minutes < 7 * 24 * 60; minutes += 400) {
        const others = Array.from({ length: 400 }, () => {
          at += hour;
          return all([put("other")], once(`other ${++id}`, { at, expiresAt: at + 1 }));
        });
        await store.commit(others);
      }
      const [again] = await store.commit([weekly("b", "k", at + hour)]);
      doneIn(again);
    },
    { isNew: true },
  );

  contractTest("keys survive the process, and are known to every store", async (engine) => {
    const { store } = engine;
    const other = await engine.second();
    const unit = (id: string) => all([put(id, { fields: '{"é":1.0}' })], once("k"));
    const [, first] = await store.commit([create(), unit("a")]);
    const [second] = await other.commit([unit("b")]);
    const [third] = await (await engine.reopen()).commit([unit("c")]);
    assert.deepEqual(doneIn(second, true), doneIn(first));
    assert.deepEqual(doneIn(third, true), doneIn(first));
  });

  contractTest("of many identical concurrent requests, one is applied", async (engine) => {
    const stores: readonly Store[] = [engine.store, await engine.second()];
    await engine.store.commit([create()]);
    const rivals = idsFrom(60).map(async (id, index) => {
      const store = stores[index % 2] ?? engine.store;
      const [outcome] = await store.commit([all([put(id), put(`${id}-too`)], once("k"))]);
      return outcome;
    });
    const outcomes = await Promise.all(rivals);
    const done = outcomes.filter((outcome) => outcome?.kind === "all" && !outcome.isReplay);
    assert.equal(done.length, 1);
    for (const outcome of outcomes)
      assert.deepEqual(doneIn(outcome, outcome !== done[0]), doneIn(done[0]));
    assert.equal(await totalOf(engine.store), 2);
  });
}
