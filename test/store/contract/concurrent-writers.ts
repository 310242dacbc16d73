// Concurrent writers through two stores on the same data.

import assert from "node:assert/strict";
import type { Store } from "../../../src/store/store.ts";
import { runs } from "../../seeds.ts";
import { create, idsFrom, idsOf, put, remove, totalOf, written } from "./change-helpers.ts";
import type { ContractTest } from "./engine-under-test.ts";

export function concurrentWriters(contractTest: ContractTest): void {
  contractTest("two stores never assign a revision or a position twice", async (engine) => {
    const stores = [engine.store, await engine.second()];
    await engine.store.commit([create()]);
    const writes = stores.flatMap((store, writer) =>
      idsFrom(60, `by-${writer}`).map(async (id) => {
        const [created, replaced] = await store.commit([put(id), put(id)]);
        return [written(created), written(replaced)] as const;
      }),
    );
    const pairs = await Promise.all(writes);
    const revisions = pairs.flat().map(({ revision }) => revision);
    assert.equal(new Set(revisions).size, 240);
    // In the order of creation: by the revision at which each came into being.
    const inOrder = pairs
      .toSorted(([one], [other]) => one.revision - other.revision)
      .map(([{ id }]) => id);
    for (const store of stores) {
      assert.equal(await totalOf(store), 120);
      assert.deepEqual(await idsOf(store), inOrder);
    }
  });

  contractTest("of many that expect the same state, one succeeds", async (engine) => {
    const stores = [engine.store, await engine.second()];
    const [, first] = await engine.store.commit([create(), put("a")]);
    const { revision } = written(first);
    const rivals = idsFrom(40).map(async (_, index) => {
      const fields = `{"by":${index}}`;
      const [outcome] = (await stores[index % 2]?.commit([
        put("a", { expect: revision, fields }),
      ])) ?? [undefined];
      return { outcome, fields };
    });
    const results = await Promise.all(rivals);
    const [winner, ...more] = results.filter(({ outcome }) => outcome?.kind === "replaced");
    assert.deepEqual(more, []);
    assert.equal(results.filter(({ outcome }) => outcome?.kind === "stale").length, 39);
    assert.equal((await engine.store.find("things", "a"))?.fields, winner?.fields);
  });

  contractTest("of many concurrent increments, none is lost", async (engine) => {
    const count = runs(24, 64);
    const stores = [engine.store, await engine.second()] as const;
    await engine.store.commit([create(), put("a", { fields: '{"count":0}' })]);
    const countUp = async (store: Store): Promise<void> => {
      const state = await store.find("things", "a");
      assert.ok(state);
      const { count } = JSON.parse(state.fields);
      const fields = `{"count":${count + 1}}`;
      const [outcome] = await store.commit([put("a", { fields, expect: state.revision })]);
      if (outcome?.kind === "stale") await countUp(store);
      else assert.equal(outcome?.kind, "replaced");
    };
    await Promise.all(idsFrom(count).map((_, index) => countUp(stores[index % 2 === 0 ? 0 : 1])));
    for (const store of stores)
      assert.equal((await store.find("things", "a"))?.fields, `{"count":${count}}`);
  });

  contractTest("of many that create the same resource, one succeeds", async (engine) => {
    const stores = [engine.store, await engine.second()];
    const rivals = idsFrom(40).map((_, index) =>
      stores[index % 2]?.commit([create(), put("a", { expect: "nothing" })]),
    );
    const outcomes = (await Promise.all(rivals)).map((batch) => batch?.[1]?.kind);
    assert.equal(outcomes.filter((kind) => kind === "created").length, 1);
    assert.equal(outcomes.filter((kind) => kind === "taken").length, 39);
    assert.equal((await engine.store.collections()).length, 1);
  });

  contractTest("reads between writes are of one snapshot", async (engine) => {
    const { store } = engine;
    const reader = await engine.second();
    await store.commit([create()]);
    const rounds = runs(15, 90);
    let isWriting = true;
    const writing = (async () => {
      for (let round = 0; round < rounds; round++)
        await store.commit([put(`a-${round}`), put(`b-${round}`), remove(`a-${round - 1}`)]);
      isWriting = false;
    })();
    let looks = 0;
    while (isWriting) {
      // Many looks in a row, so that some fall into the middle of a commit.
      for (let look = 0; look < 50; look++, looks++) {
        const slice = await reader.slice("things", { offset: 0, limit: 100, order: "created" });
        assert.equal(slice?.resources.length, slice?.collection.total);
        const newest = Math.max(0, ...(slice?.resources.map(({ revision }) => revision) ?? []));
        assert.ok(newest <= (slice?.collection.revision ?? 0));
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    await writing;
    assert.ok(looks > 0);
    assert.equal(await totalOf(reader), rounds + 1);
  });
}
