// Slices in the order of creation, exact at any depth.

import assert from "node:assert/strict";
import { runs } from "../../seeds.ts";
import { create, define, idsFrom, idsOf, put, remove, totalOf } from "./change-helpers.ts";
import type { ContractTest } from "./engine-under-test.ts";

export function slices(contractTest: ContractTest): void {
  contractTest(
    "are in the order of creation, or newest first; past the end they are empty",
    async ({ store }) => {
      await store.commit([create(), put("c"), put("a"), put("b"), put("c", { at: 99 })]);
      assert.deepEqual(await idsOf(store), ["c", "a", "b"]);
      assert.deepEqual(await idsOf(store, 1, 1), ["a"]);
      assert.deepEqual(await idsOf(store, 2, 5), ["b"]);
      assert.deepEqual(await idsOf(store, 0, 2, "-created"), ["b", "a"]);
      assert.deepEqual(await idsOf(store, 2, 2, "-created"), ["c"]);
      for (const order of ["created", "-created"] as const)
        for (const offset of [3, 4, 1_000_000_000])
          assert.deepEqual(await idsOf(store, offset, 5, order), []);
    },
  );

  contractTest(
    "contain whole resources, and the collection of the same snapshot",
    async ({ store }) => {
      await store.commit([create(), put("a"), put("b"), put("a", { fields: '{"new":1}', at: 50 })]);
      const slice = await store.slice("things", { offset: 0, limit: 10, order: "created" });
      assert.deepEqual(slice?.collection, await store.collection("things"));
      assert.deepEqual(slice?.resources, [
        await store.find("things", "a"),
        await store.find("things", "b"),
      ]);
    },
  );

  contractTest("have what is removed and put again at the end", async ({ store }) => {
    await store.commit([create(), put("a"), put("b"), remove("a"), put("a")]);
    assert.deepEqual(await idsOf(store), ["b", "a"]);
  });

  contractTest("are exact at any depth, whatever was removed before", async ({ store }) => {
    const count = runs(6_000, 20_000);
    const ids = idsFrom(count);
    await store.commit([create(), ...ids.map((id) => put(id, { fields: "{}" }))]);
    const gone = new Set<number>();
    const dig = async (isGone: (index: number) => boolean) => {
      const victims = ids.flatMap((id, index) => {
        if (gone.has(index) || !isGone(index)) return [];
        gone.add(index);
        return [remove(id)];
      });
      await store.commit(victims);
      const alive = ids.filter((_, index) => !gone.has(index));
      const newestFirst = alive.toReversed();
      assert.equal(await totalOf(store), alive.length);
      for (const share of [0, 0.003, 0.01, 0.3, 0.5, 0.94, 0.999, 1]) {
        const offset = Math.floor(share * (alive.length - 1));
        const end = offset + 7;
        assert.deepEqual(await idsOf(store, offset, 7), alive.slice(offset, end));
        assert.deepEqual(await idsOf(store, offset, 7, "-created"), newestFirst.slice(offset, end));
      }
    };
    await dig(() => false);
    await dig((index) => index < 1_000);
    await dig((index) => index >= count - 10);
    await dig((index) => Math.imul(index, 0x9e3779b1) >>> 30 === 0);
    await dig((index) => index >= 256 * 5 && index < 256 * 20);
    await dig((index) => index % (count / 20) !== 0);
    await store.commit([put("last")]);
    assert.deepEqual(await idsOf(store, 0, 1, "-created"), ["last"]);
  });

  contractTest("contain resources of any size, as queries and feeds do", async ({ store }) => {
    const kilobytes = [0, 300, 40, 1, 700, 0, 90, 300, 0, 20];
    const puts = kilobytes.map((size, at) =>
      put(`r${at}`, { fields: JSON.stringify({ at, text: "x".repeat(size * 1_024) }) }),
    );
    // A definition has a revision, and is in no feed.
    await store.commit([create(), ...puts, define("{}")]);
    const stored = await Promise.all(puts.map(({ id }) => store.find("things", id)));
    const query = { conditions: [], words: [], sortings: [], isNewestFirst: false, limit: 9 };
    for (const maxBytes of [undefined, 1_300_000, 10_000_000]) {
      const isCut = maxBytes === 1_300_000;
      for (const order of ["created", "-created"] as const) {
        const range = { offset: 1, limit: 9, order, maxBytes };
        const { resources, fits } = (await store.slice("things", range)) ?? {};
        const [expected, count] = order === "created" ? [stored, 6] : [stored.toReversed(), 7];
        assert.deepEqual([resources, fits], isCut ? [[], count] : [expected.slice(1), undefined]);
      }
      for (const start of [1, { keys: [], seq: 1 }]) {
        const asked = { ...query, start, isCounted: false, maxBytes };
        const answer = await store.query("things", asked);
        assert.deepEqual(answer?.resources, stored.slice(1, isCut ? 7 : 10));
        assert.equal(answer?.isCut, isCut ? true : undefined);
      }
      const feed = await store.since("things", 0, { limit: 100, maxBytes });
      assert.ok(typeof feed === "object");
      assert.deepEqual(feed.entries, stored.slice(0, isCut ? 7 : 10));
      assert.equal(feed.isCut, isCut ? true : undefined);
    }
  });
}
