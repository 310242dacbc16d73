// Slices: the total order, exact at any depth.

import assert from "node:assert/strict";
import fc from "fast-check";
import type { Order } from "../../../src/model/page.ts";
import type { Resource } from "../../../src/model/resource.ts";
import type { Change, Outcome } from "../../../src/store/store.ts";
import type { Question } from "./candidate.ts";
import { found, idsFrom, idsOf, put, remove, totalOf } from "./words.ts";

export function slices(question: Question): void {
  question(
    "in the order of creation, or newest first; past the end is empty",
    async ({ store }) => {
      await store.commit([found(), put("c"), put("a"), put("b"), put("c", { at: 99 })]);
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

  question("hold whole resources, and the collection of the same moment", async ({ store }) => {
    await store.commit([found(), put("a"), put("b"), put("a", { fields: '{"new":1}', at: 50 })]);
    const slice = await store.slice("things", { offset: 0, limit: 10, order: "created" });
    assert.deepEqual(slice?.collection, await store.collection("things"));
    assert.deepEqual(slice?.resources, [
      await store.find("things", "a"),
      await store.find("things", "b"),
    ]);
  });

  question("what is removed and put again stands at the end", async ({ store }) => {
    await store.commit([found(), put("a"), put("b"), remove("a"), put("a")]);
    assert.deepEqual(await idsOf(store), ["b", "a"]);
  });

  question("are exact at any depth, whatever was removed before", async ({ store }) => {
    const ids = idsFrom(20_000);
    await store.commit([found(), ...ids.map((id) => put(id, { fields: "{}" }))]);
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
    await dig((index) => index >= 19_990);
    await dig((index) => Math.imul(index, 0x9e3779b1) >>> 30 === 0);
    await dig((index) => index >= 256 * 20 && index < 256 * 60);
    await dig((index) => index % 1_000 !== 0);
    await store.commit([put("last")]);
    assert.deepEqual(await idsOf(store, 0, 1, "-created"), ["last"]);
  });

  question("agree with a simple model under random changes", async ({ store }) => {
    let round = 0;
    const someIds = idsFrom(9);
    const step = fc.record({
      id: fc.constantFrom(...someIds),
      deed: fc.constantFrom("put", "put", "create", "replace", "remove", "remove-exactly"),
      lag: fc.constantFrom(0, 0, 0, 1),
    });
    const batches = fc.array(fc.array(step, { minLength: 1, maxLength: 8 }), { maxLength: 6 });
    const window = fc.record({
      offset: fc.nat(10),
      limit: fc.integer({ min: 1, max: 10 }),
      order: fc.constantFrom<Order>("created", "-created"),
    });
    await fc.assert(
      fc.asyncProperty(batches, window, async (steps, range) => {
        const collection = `round-${round++}`;
        await store.commit([found(collection)]);
        const model = new Map<string, Resource>();
        for (const batch of steps) {
          const changes = batch.map(({ id, deed, lag }): Change => {
            const revision = (model.get(id)?.revision ?? 1) - lag;
            if (deed === "remove") return remove(id, "anything", collection);
            if (deed === "remove-exactly") return remove(id, revision, collection);
            const expect = { put: "anything", create: "nothing", replace: revision } as const;
            return put(id, { collection, expect: expect[deed], fields: `{"n":${round}}` });
          });
          const outcomes = await store.commit(changes);
          for (const [index, change] of changes.entries())
            assertModelled(model, change, outcomes[index]);
        }
        const all = [...model.values()];
        const ordered = range.order === "created" ? all : all.toReversed();
        const slice = await store.slice(collection, range);
        assert.equal(slice?.collection.total, all.length);
        assert.deepEqual(slice?.resources, ordered.slice(range.offset, range.offset + range.limit));
        for (const id of someIds) assert.deepEqual(await store.find(collection, id), model.get(id));
      }),
      { numRuns: 40 },
    );
  });
}

/** Checks the outcome against the model, and brings the model up to date. */
function assertModelled(
  model: Map<string, Resource>,
  change: Change,
  outcome: Outcome | undefined,
): void {
  if (change.kind !== "put" && change.kind !== "remove") return;
  const { id, expect, at } = change;
  const state = model.get(id);
  if (outcome?.kind === "removed") {
    assert.ok(change.kind === "remove" && state);
    assert.ok(expect === "anything" || expect === state.revision);
    model.delete(id);
  } else if (outcome?.kind === "created") {
    assert.ok(change.kind === "put" && !state && typeof expect !== "number");
    const { fields } = change;
    const { revision } = outcome.resource;
    assert.deepEqual(outcome.resource, { id, revision, createdAt: at, updatedAt: at, fields });
    model.set(id, outcome.resource);
  } else if (outcome?.kind === "replaced") {
    assert.ok(change.kind === "put" && state);
    assert.ok(expect === "anything" || expect === state.revision);
    assert.ok(outcome.resource.revision > state.revision);
    model.set(id, outcome.resource);
  } else if (outcome?.kind === "taken") assert.ok(state && expect === "nothing");
  else if (outcome?.kind === "stale") assert.ok(state && expect !== state.revision);
  else if (outcome?.kind === "missing") assert.ok(!state);
  else assert.fail(`unexpected ${outcome?.kind}`);
}
