// Files of resources: stored and removed with the resource, and referenced exactly as long.

import assert from "node:assert/strict";
import type { StoredFile } from "../../../src/model/file.ts";
import type { Resource } from "../../../src/model/resource.ts";
import type { Put, Store } from "../../../src/store/store.ts";
import {
  all,
  create,
  define,
  doneIn,
  feedSince,
  idsFrom,
  kinds,
  lookAt,
  once,
  put,
  remove,
  written,
} from "./change-helpers.ts";
import type { ContractTest } from "./engine-under-test.ts";
import { answerTo, ask, by, putJson, wordsLike } from "./query-helpers.ts";

const part = (key: string): StoredFile => ({
  slot: `file.${key.length}`,
  name: `name of "${key}" ☃.txt`,
  type: "text/plain",
  size: 2 ** 40,
  sha256: "0".repeat(64),
  key,
});

const textOf = (...keys: readonly string[]): string => JSON.stringify(keys.map(part));

/** A put of a resource with the files under these keys. */
const attach = (id: string, keys: readonly string[], more: Partial<Put> = {}): Put =>
  putJson(id, { of: id }, { files: textOf(...keys), ...more });

const drop = (isEmptyOnly = false) =>
  ({ kind: "drop", collection: "things", isEmptyOnly }) as const;

/** That of all these keys the first are named, and the others are not. */
async function assertNamed(store: Store, named: string, unnamed = ""): Promise<void> {
  const keys = (text: string) => text.split(" ").filter((key) => key !== "");
  const found = await store.findReferencedFiles([...keys(named), ...keys(unnamed), "never"]);
  assert.deepEqual([...found].sort(), keys(named).sort());
}

export function resourceFiles(contractTest: ContractTest): void {
  contractTest(
    "a change that expects no files is stale where there are some",
    async ({ store }) => {
      const expect = "no-files" as const;
      await store.commit([create(), attach("a", ["a1"]), put("b")]);
      const outcomes = await store.commit([
        putJson("a", {}, { expect }),
        { ...remove("a"), expect },
        putJson("b", {}, { expect }),
        putJson("c", {}, { expect }),
        { ...remove("b"), expect },
        { ...remove("b"), expect },
      ]);
      const expected = ["stale", "stale", "replaced", "created", "removed", "missing"];
      assert.deepEqual(kinds(outcomes), expected);
      await assertNamed(store, "a1");
    },
  );

  contractTest(
    "are returned with a resource that has any, and with no other",
    async ({ store }) => {
      await assertNamed(store, "", "a1 a2");
      const [, a, b] = await store.commit([create(), attach("a", ["a1", "a2"]), put("b")]);
      assert.equal(written(a).files, textOf("a1", "a2"));
      assert.equal("files" in written(b), false);
      assert.deepEqual(await store.find("things", "a"), written(a));
      assert.deepEqual(await store.find("things", "b"), written(b));
      await assertNamed(store, "a1 a2", "a3");
      assert.deepEqual(await store.findReferencedFiles([]), new Set());
    },
  );

  contractTest("are returned wherever the resource is read, to every reader", async (engine) => {
    const { store } = engine;
    const other = await engine.second();
    const definition = '{"indexed":["of"],"searchable":["of"],"access":{"read":"owner"}}';
    const outcomes = await store.commit([
      define(definition),
      attach("a", ["a1"], { owner: "ann" }),
      attach("b", ["b1", "b2"]),
      put("c"),
    ]);
    const [a, b, c] = outcomes.slice(1).map(written) as [Resource, Resource, Resource];
    assert.deepEqual([a.owner, a.files], ["ann", textOf("a1")]);
    for (const each of [other, await engine.reopen()]) {
      assert.deepEqual(await each.find("things", "a"), a);
      assert.deepEqual(await each.find("things", "c"), c);
      const slice = await each.slice("things", { offset: 0, limit: 9, order: "-created" });
      assert.deepEqual(slice?.resources, [c, b, a]);
      assert.deepEqual((await feedSince(each, 0, 9))?.entries, [a, b, c]);
      assert.deepEqual((await answerTo(each, ask())).resources, [a, b, c]);
      const sorted = await answerTo(each, ask({ sortings: [by("of", "any", true)] }));
      assert.deepEqual(sorted.resources, [c, b, a]);
      const searched = await answerTo(each, ask({ words: wordsLike("b") }));
      assert.deepEqual(searched.resources, [b]);
      await assertNamed(each, "a1 b1 b2");
    }
  });

  contractTest("are replaced together with the fields", async ({ store }) => {
    await store.commit([create(), attach("a", ["1", "2"]), put("b")]);
    const [other] = await store.commit([attach("a", ["2", "3"])]);
    assert.equal(written(other).files, textOf("2", "3"));
    assert.deepEqual(await store.find("things", "a"), written(other));
    await assertNamed(store, "2 3", "1");
    const [same] = await store.commit([attach("a", ["2", "3"], { fields: '{"of":"it"}' })]);
    assert.deepEqual(await store.find("things", "a"), written(same));
    await assertNamed(store, "2 3", "1");
    const [none, some] = await store.commit([put("a"), attach("b", ["4"])]);
    assert.equal("files" in written(none), false);
    assert.deepEqual(await store.find("things", "a"), written(none));
    assert.deepEqual(await store.find("things", "b"), written(some));
    await assertNamed(store, "4", "1 2 3");
    const [again] = await store.commit([attach("a", ["5"])]);
    assert.deepEqual(await store.find("things", "a"), written(again));
    await assertNamed(store, "4 5", "1 2 3");
  });

  contractTest("stay the same when the change is rejected", async ({ store }) => {
    await store.commit([define('{"unique":["n"]}'), attach("a", ["a1"]), putJson("b", { n: 1 })]);
    const before = await lookAt(store);
    const outcomes = await store.commit([
      attach("a", ["x1"], { expect: "nothing" }),
      attach("a", ["x2"], { expect: 1_000 }),
      attach("c", ["x3"], { expect: 1 }),
      attach("a", ["x4"], { fields: '{"n":1}' }),
      attach("c", ["x5"], { fields: '{"n":1}' }),
      attach("a", ["x6"], { rules: 987_654 }),
      attach("a", ["x7"], { collection: "nowhere" }),
      remove("a", 1_000),
    ]);
    assert.deepEqual(kinds(outcomes), [
      ...["taken", "stale", "missing", "conflict", "conflict", "outdated", "missing", "stale"],
    ]);
    assert.deepEqual(await lookAt(store), before);
    await assertNamed(store, "a1", "x1 x2 x3 x4 x5 x6 x7");
  });

  contractTest("are removed with the resource", async ({ store }) => {
    await store.commit([create(), attach("a", ["a1", "a2"]), attach("b", ["b1"])]);
    await store.commit([remove("a")]);
    await assertNamed(store, "b1", "a1 a2");
    const [again] = await store.commit([put("a")]);
    assert.deepEqual(await store.find("things", "a"), written(again));
    assert.equal("files" in written(again), false);
    const within = [attach("c", ["c1"]), attach("c", ["c2"]), remove("c"), attach("c", ["c3"])];
    await store.commit(within);
    await assertNamed(store, "b1 c3", "c1 c2");
    await store.commit([attach("d", ["d1"]), remove("d"), remove("c"), put("c")]);
    await assertNamed(store, "b1", "c3 d1");
  });

  contractTest("stay the same when an atomic group fails", async ({ store }) => {
    await store.commit([create(), attach("a", ["a1"]), attach("b", ["b1"]), attach("c", ["c1"])]);
    const before = await lookAt(store);
    const unit = [attach("a", ["a2"]), remove("b"), put("c"), attach("d", ["d1"]), remove("none")];
    assert.deepEqual(kinds(await store.commit([all(unit)])), ["none"]);
    assert.deepEqual(await lookAt(store), before);
    await assertNamed(store, "a1 b1 c1", "a2 d1");
    const [, done] = await store.commit([all(unit), all(unit.slice(0, -1))]);
    assert.deepEqual(kinds(doneIn(done)), ["replaced", "removed", "replaced", "created"]);
    await assertNamed(store, "a2 d1", "a1 b1 c1");
  });

  contractTest("are returned again when an atomic group is repeated", async (engine) => {
    const { store } = engine;
    const unit = all([attach("a", ["a1"], { owner: "ann" }), put("b")], once("k"));
    const repetition = all([attach("a", ["a2"]), put("b")], once("k"));
    const [, first, second] = await store.commit([create(), unit, repetition]);
    assert.equal(written(doneIn(first)[0]).files, textOf("a1"));
    assert.deepEqual(doneIn(second, true), doneIn(first));
    const other = await engine.reopen();
    const [third] = await other.commit([repetition]);
    assert.deepEqual(doneIn(third, true), doneIn(first));
    await other.commit([remove("a")]);
    const [fourth] = await other.commit([repetition]);
    assert.deepEqual(fourth, { kind: "gone" });
    await assertNamed(other, "", "a1 a2");
  });

  contractTest("are removed with the collection", async (engine) => {
    const { store } = engine;
    const other = await engine.second();
    await store.commit([create(), create("more"), attach("a", ["a1"]), attach("b", ["b1"])]);
    await store.commit([attach("a", ["m1"], { collection: "more" })]);
    assert.deepEqual(kinds(await store.commit([drop(true)])), ["taken"]);
    await assertNamed(other, "a1 b1 m1");
    const [dropped] = await store.commit([drop(), create(), attach("a", ["a2"])]);
    assert.equal(dropped?.kind, "done");
    await assertNamed(other, "a2 m1", "a1 b1");
    const [, , , last] = await store.commit([
      attach("b", ["b2"]),
      remove("a"),
      remove("b"),
      drop(true),
    ]);
    assert.equal(last?.kind, "done");
    await assertNamed(other, "m1", "a1 a2 b1 b2");
  });

  contractTest("may be many", async ({ store }) => {
    const ids = idsFrom(300);
    const puts = ids.map((id) => attach(id, [`${id}/1`, `${id}/2`]));
    await store.commit([create(), ...puts]);
    await store.commit(ids.filter((_, index) => index % 3 === 0).map((id) => remove(id)));
    const left = ids.filter((_, index) => index % 3 !== 0);
    const keys = ids.flatMap((id) => [`${id}/1`, `${id}/2`]);
    const named = await store.findReferencedFiles(keys);
    assert.deepEqual(
      keys.filter((key) => named.has(key)),
      left.flatMap((id) => [`${id}/1`, `${id}/2`]),
    );
    assert.equal(named.size, left.length * 2);
  });
}
