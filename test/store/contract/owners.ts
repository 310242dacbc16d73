// Owners: stored with the resource, and usable in queries.

import assert from "node:assert/strict";
import { ownerField } from "../../../src/model/query/index-plan.ts";
import { equalTo, keyOf, noValue } from "../../../src/model/query/sort-key.ts";
import {
  all,
  create,
  define,
  doneIn,
  feedSince,
  idsFrom,
  once,
  put,
  remove,
  written,
} from "./change-helpers.ts";
import type { ContractTest } from "./engine-under-test.ts";
import { assertFinds, is, putJson, where } from "./query-helpers.ts";

const owned = '{"access":{"read":"owner"}}';
const by = (owner: string, id: string) => putJson(id, { of: id }, { owner });
const ownedBy = (owner: string) => is(ownerField, "text", owner);

export function owners(contractTest: ContractTest): void {
  contractTest("are stored with what they created, and only with that", async (engine) => {
    const { store } = engine;
    const other = await engine.second();
    const [, , a, b] = await store.commit([create(), create("more"), by("ann", "a"), put("b")]);
    assert.equal(written(a).owner, "ann");
    assert.equal("owner" in written(b), false);
    assert.deepEqual(await store.find("things", "a"), written(a));
    for (const each of [other, await engine.reopen()]) {
      assert.deepEqual(await each.find("things", "a"), written(a));
      assert.deepEqual(await each.find("things", "b"), written(b));
      const slice = await each.slice("things", { offset: 0, limit: 9, order: "created" });
      assert.deepEqual(slice?.resources, [written(a), written(b)]);
      assert.deepEqual((await feedSince(each, 0, 9))?.entries, [written(a), written(b)]);
    }
  });

  contractTest("stay when others replace the resource, until it is removed", async ({ store }) => {
    await store.commit([define(owned), by("ann", "a"), put("b")]);
    const replaced = await store.commit([by("bob", "a"), put("a"), by("bob", "b")]);
    assert.deepEqual(
      replaced.map((outcome) => written(outcome).owner),
      ["ann", "ann", undefined],
    );
    assert.equal("owner" in written(replaced[2]), false);
    assert.deepEqual(await store.find("things", "a"), written(replaced[1]));
    await assertFinds(store, ["a"], { conditions: [ownedBy("ann")] });
    await assertFinds(store, [], { conditions: [ownedBy("bob")] });
    const [, again] = await store.commit([remove("a"), by("bob", "a")]);
    assert.equal(written(again).owner, "bob");
    await assertFinds(store, [], { conditions: [ownedBy("ann")] });
    await assertFinds(store, ["a"], { conditions: [ownedBy("bob")] });
  });

  contractTest("can be set and removed by a change", async ({ store }) => {
    await store.commit([define(owned), by("ann", "a"), put("b")]);
    const outcomes = await store.commit([
      { ...put("a"), setOwner: "bob" },
      { ...by("ann", "b"), setOwner: "cid" },
      { ...by("ann", "c"), setOwner: "dan" },
      { ...by("ann", "d"), setOwner: null },
    ]);
    assert.deepEqual(
      outcomes.map((outcome) => written(outcome).owner),
      ["bob", "cid", "dan", undefined],
    );
    assert.deepEqual(await store.find("things", "a"), written(outcomes[0]));
    assert.deepEqual(await store.find("things", "b"), written(outcomes[1]));
    await assertFinds(store, [], { conditions: [ownedBy("ann")] });
    await assertFinds(store, ["a"], { conditions: [ownedBy("bob")] });
    const [removed] = await store.commit([{ ...by("eve", "a"), setOwner: null }]);
    assert.equal("owner" in written(removed), false);
    assert.deepEqual(await store.find("things", "a"), written(removed));
    await assertFinds(store, [], { conditions: [ownedBy("bob")] });
    const nobody = { conditions: [where(ownerField, "text", noValue)] };
    await assertFinds(store, ["a", "d"], nobody);
  });

  contractTest(
    "are returned for atomic groups, and again when those are repeated",
    async ({ store }) => {
      await store.commit([define(owned), by("ann", "a")]);
      const unit = all([by("bob", "a"), by("bob", "b")], once("k"));
      const [first, second] = await store.commit([unit, unit]);
      const outcomes = doneIn(first);
      assert.deepEqual(
        outcomes.map((outcome) => written(outcome).owner),
        ["ann", "bob"],
      );
      assert.deepEqual(doneIn(second, true), outcomes);
      await store.commit([all([by("cid", "c"), remove("nothing")])]);
      await assertFinds(store, [], { conditions: [ownedBy("cid")] });
    },
  );

  contractTest("can be queried in a collection of any size", async ({ store }) => {
    const names = ["ann", "bob", "cid"];
    const ids = idsFrom(200);
    const nameOf = (index: number) => names[index % 3] ?? "";
    await store.commit([create(), ...ids.map((id, index) => by(nameOf(index), id)), put("nobody")]);
    // The owners from before the rules are known, too.
    await store.commit([define(owned), by("ann", "last")]);
    for (const name of names) {
      const own = ids.filter((_, index) => nameOf(index) === name);
      const expected = name === "ann" ? [...own, "last"] : own;
      const query = { conditions: [ownedBy(name)] };
      await assertFinds(store, expected, query, { limits: [30] });
      const newest = { ...query, isNewestFirst: true };
      await assertFinds(store, expected.toReversed(), newest, { limits: [30] });
    }
    await assertFinds(store, [], { conditions: [ownedBy("dan")] });
    await assertFinds(store, ["nobody"], { conditions: [where(ownerField, "text", noValue)] });
  });

  contractTest("can be queried together with other conditions", async ({ store }) => {
    const definition = '{"access":{"update":"owner"},"indexed":["of"],"searchable":["of"]}';
    const things = [by("ann", "a"), by("bob", "b"), by("ann", "c"), put("d")];
    await store.commit([define(definition), ...things]);
    const spans = ["a", "b"].map((of) => equalTo(keyOf("any", of)));
    const conditions = [ownedBy("ann"), where("of", "any", ...spans)];
    await assertFinds(store, ["a"], { conditions });
    const sortings = [{ field: "of", kind: "any", isDescending: true }] as const;
    await assertFinds(store, ["c", "a"], { conditions: [ownedBy("ann")], sortings });
    const words = [{ text: "b", isPrefix: false }];
    await assertFinds(store, [], { conditions: [ownedBy("ann")], words, sortings });
    await assertFinds(store, ["b"], { conditions: [ownedBy("bob")], words, sortings });
  });
}
