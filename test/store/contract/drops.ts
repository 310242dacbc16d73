// Dropping a collection: everything is removed, and a new one of the same name starts empty.

import assert from "node:assert/strict";
import type { Store } from "../../../src/store/store.ts";
import {
  all,
  create,
  define,
  feedSince,
  idsFrom,
  idsOf,
  kinds,
  lookAt,
  put,
  remove,
  written,
} from "./change-helpers.ts";
import type { ContractTest } from "./engine-under-test.ts";
import { ask, assertFinds, is, putJson, wordsLike } from "./query-helpers.ts";

const drop = (isEmptyOnly = false, collection = "things") =>
  ({ kind: "drop", collection, isEmptyOnly }) as const;

const rules = '{"unique":["n"],"searchable":["of"],"access":{"read":"owner"}}';

async function assertNowhere(store: Store, collection = "things"): Promise<void> {
  assert.equal(await store.collection(collection), undefined);
  assert.equal(await store.rules(collection), undefined);
  assert.equal(await store.find(collection, "a"), undefined);
  assert.equal(await store.slice(collection, { offset: 0, limit: 1, order: "created" }), undefined);
  assert.equal(await store.query(collection, ask()), undefined);
  assert.equal(await store.since(collection, 0, { limit: 1 }), undefined);
  const names = (await store.collections()).map(({ name }) => name);
  assert.equal(names.includes(collection), false);
}

export function drops(contractTest: ContractTest): void {
  contractTest(
    "are rejected for a missing collection, or one that is not empty",
    async ({ store }) => {
      assert.deepEqual(kinds(await store.commit([drop(), drop(true)])), ["missing", "missing"]);
      await store.commit([create(), put("a")]);
      const before = await lookAt(store);
      assert.deepEqual(kinds(await store.commit([drop(true)])), ["taken"]);
      assert.deepEqual(await lookAt(store), before);
      const within = await store.commit([remove("a"), drop(true), put("a"), drop()]);
      assert.deepEqual(kinds(within), ["removed", "done", "missing", "missing"]);
      await assertNowhere(store);
    },
  );

  contractTest("leave nothing, for any reader", async (engine) => {
    const { store } = engine;
    const other = await engine.second();
    await store.commit([
      define(rules),
      putJson("a", { of: "x", n: 1 }),
      put("b"),
      create("others"),
    ]);
    await store.commit([put("a", { collection: "others" }), remove("b")]);
    const others = await lookAt(store, "others");
    for (const each of [store, other]) {
      assert.ok(await each.find("things", "a"));
      assert.ok(await each.rules("things"));
      assert.ok(await each.query("things", ask({ conditions: [is("n", "any", 1)] })));
    }
    assert.deepEqual(await other.commit([drop()]), [{ kind: "done" }]);
    for (const each of [store, other, await engine.second()]) {
      await assertNowhere(each);
      assert.deepEqual(await lookAt(each, "others"), others);
    }
    assert.deepEqual(kinds(await store.commit([put("a"), remove("a"), drop()])), [
      ...["missing", "missing", "missing"],
    ]);
    await assertNowhere(await engine.reopen());
  });

  contractTest("let a new collection of the same name start empty", async (engine) => {
    const { store } = engine;
    const other = await engine.second();
    for (const through of [store, other, store]) {
      await store.commit([define(rules), putJson("a", { of: "old", n: 1 }), put("gone"), put("b")]);
      await store.commit([remove("gone")]);
      const old = await Promise.all([store, other].map((each) => each.find("things", "a")));
      assert.ok(old[0] && old[1]);
      await through.commit([drop()]);
      await through.commit([create("things", 70), putJson("c", { of: "new", n: 1 }), put("b")]);
      for (const each of [store, other]) {
        assert.equal(await each.find("things", "a"), undefined);
        assert.equal((await each.find("things", "b"))?.fields, '{"of":"b"}');
        const now = await each.collection("things");
        assert.deepEqual([now?.total, now?.definition, now?.createdAt], [2, "{}", 70]);
        assert.equal((await each.rules("things"))?.definition, "{}");
        assert.deepEqual(await idsOf(each), ["c", "b"]);
        assert.deepEqual(await idsOf(each, 1, 1), ["b"]);
        const feed = await feedSince(each, 0, 100);
        assert.deepEqual(
          feed?.entries.map(({ id }) => id),
          ["c", "b"],
        );
        await assertFinds(each, ["c"], { conditions: [is("n", "any", 1)] });
      }
      await through.commit([define(rules)]);
      const old1 = ask({ words: wordsLike("old"), conditions: [] });
      for (const each of [store, other]) {
        const answer = await each.query("things", old1);
        assert.ok(answer?.total === 0);
        await assertFinds(each, ["c"], { conditions: [is("n", "any", 1)] });
      }
      assert.deepEqual(kinds(await other.commit([putJson("d", { n: 1 })])), ["conflict"]);
      await through.commit([drop()]);
    }
  });

  contractTest("may be among the changes of a batch", async (engine) => {
    const { store } = engine;
    const other = await engine.second();
    await store.commit([define(rules), putJson("a", { n: 1 }), put("b")]);
    assert.ok(await other.find("things", "a"));
    const outcomes = await store.commit([
      putJson("c", { n: 2 }),
      remove("b"),
      drop(),
      put("a"),
      all([put("a")]),
      define('{"unique":["n"]}', "things", 40),
      putJson("a", { n: 2 }),
      putJson("d", { n: 2 }),
      remove("c"),
      all([putJson("e", { n: 3 }), putJson("f", { n: 3 })]),
      putJson("f", { n: 3 }),
    ]);
    assert.deepEqual(kinds(outcomes), [
      ...["created", "removed", "done", "missing", "none", "done", "created", "conflict"],
      ...["missing", "none", "created"],
    ]);
    for (const each of [store, other]) {
      assert.deepEqual(await idsOf(each), ["a", "f"]);
      assert.deepEqual(await each.find("things", "a"), written(outcomes[6]));
      const now = await each.collection("things");
      assert.deepEqual([now?.total, now?.createdAt], [2, 40]);
    }
    const twice = await other.commit([
      drop(),
      create(),
      put("a"),
      drop(),
      create(),
      put("x"),
      drop(),
    ]);
    assert.deepEqual(kinds(twice), [
      ...["done", "done", "created", "done", "done", "created", "done"],
    ]);
    for (const each of [store, other]) await assertNowhere(each);
  });

  contractTest("remove a large collection", async (engine) => {
    const { store } = engine;
    const other = await engine.second();
    const ids = idsFrom(2_000);
    await store.commit([define(rules), ...ids.map((id, n) => putJson(id, { of: id, n }))]);
    await store.commit(ids.slice(0, 600).map((id) => remove(id)));
    assert.deepEqual(await idsOf(other, 0, 1), ["id-600"]);
    assert.deepEqual(kinds(await store.commit([drop()])), ["done"]);
    await store.commit([
      define(rules),
      ...ids.slice(0, 300).map((id, n) => putJson(id, { of: id, n })),
    ]);
    for (const each of [store, other]) {
      assert.deepEqual(await idsOf(each, 299, 2), ["id-299"]);
      await assertFinds(each, ["id-7"], { conditions: [is("n", "any", 7)] });
      await assertFinds(each, [], { conditions: [is("n", "any", 700)] });
    }
  });

  contractTest("are seen by concurrent readers", async (engine) => {
    const { store } = engine;
    const other = await engine.second();
    for (let round = 0; round < 15; round++) {
      await store.commit([define(rules), putJson("a", { n: round, of: "x" })]);
      const readings = Array.from({ length: 10 }, async () => {
        await other.find("things", "a");
        await other.collection("things");
        await other.slice("things", { offset: 0, limit: 1, order: "created" });
        await other.query("things", ask({ conditions: [is("n", "any", round)] }));
      });
      await Promise.all([store.commit([drop()]), ...readings]);
      await assertNowhere(other);
    }
  });
}
