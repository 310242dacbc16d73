// Reads are never stale, whichever store wrote.

import assert from "node:assert/strict";
import fc from "../../fast-check.ts";
import { runs } from "../../seeds.ts";
import { create, idsOf, put, remove, token, written } from "./change-helpers.ts";
import type { ContractTest } from "./engine-under-test.ts";

export function freshness(contractTest: ContractTest): void {
  contractTest("a resource that was returned never changes under its reader", async ({ store }) => {
    await store.commit([create(), put("a", { fields: '{"n":1}' })]);
    const first = await store.find("things", "a");
    const copy = { ...first };
    await store.commit([put("a", { fields: '{"n":2}' })]);
    const second = await store.find("things", "a");
    assert.notEqual(second, first);
    assert.equal(second?.fields, '{"n":2}');
    assert.deepEqual(first, copy);
    await store.commit([remove("a")]);
    assert.equal(await store.find("things", "a"), undefined);
    await store.commit([put("a", { fields: '{"n":2}' })]);
    assert.ok(((await store.find("things", "a"))?.revision ?? 0) > (second?.revision ?? 0));
  });

  contractTest("a collection is the same object until something is written", async (engine) => {
    const { store } = engine;
    const other = await engine.second();
    await store.commit([create(), put("a")]);
    const range = { offset: 0, limit: 20, order: "created" } as const;
    const read = async () => [
      await store.collection("things"),
      (await store.slice("things", range))?.collection,
    ];
    const first = await store.collection("things");
    for (const collection of await read()) assert.ok(collection === first);
    for (const writer of [store, other]) {
      const before = await store.collection("things");
      await writer.commit([put("b")]);
      for (const collection of await read()) assert.notEqual(collection, before);
    }
  });

  contractTest(
    "resources that are found together are those of the collection now",
    async (engine) => {
      const { store } = engine;
      const other = await engine.second();
      const texts = async () => {
        const resources = await store.findAll("things", ["b", "a"]);
        return resources.map((resource) => resource?.fields);
      };
      assert.deepEqual(await texts(), [undefined, undefined]);
      await other.commit([create(), put("a")]);
      assert.deepEqual(await texts(), [undefined, '{"of":"a"}']);
      await other.commit([{ kind: "drop", collection: "things", isEmptyOnly: false }]);
      assert.deepEqual(await texts(), [undefined, undefined]);
      await other.commit([create(), put("b")]);
      assert.deepEqual(await texts(), ['{"of":"b"}', undefined]);
    },
  );

  contractTest("what one store commits the other sees immediately", async (engine) => {
    const { store: one } = engine;
    const other = await engine.second();
    await one.commit([create(), { kind: "create-token", token: token("t") }]);
    assert.ok(await other.collection("things"));
    assert.deepEqual(await other.token("hash of t"), token("t"));
    let round = 0;
    const write = fc.record({
      through: fc.constantFrom(one, other),
      id: fc.constantFrom("a", "b", "c"),
      isPut: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(write, async ({ through, id, isPut }) => {
        round++;
        const change = isPut ? put(id, { fields: `{"round":${round}}` }) : remove(id);
        // Reads that are under way may see the state before or after.
        const early = [one, other].map((store) => store.findAll("things", ["a", "b", "c"]));
        const [outcome] = await through.commit([
          change,
          { kind: "touch-token", id: "t", at: round },
        ]);
        const expected = isPut ? written(outcome) : undefined;
        for (const store of [one, other]) {
          assert.deepEqual(await store.find("things", id), expected);
          const ids = ["c", id, "none", "a", "b"];
          const each = await Promise.all(ids.map((one) => store.find("things", one)));
          assert.deepEqual(await store.findAll("things", ids), each);
          assert.equal((await store.token("hash of t"))?.usedAt, round);
        }
        for (const found of await Promise.all(early)) assert.equal(found.length, 3);
        assert.deepEqual(await one.collection("things"), await other.collection("things"));
        assert.deepEqual(await idsOf(one), await idsOf(other));
      }),
      { numRuns: runs(6, 40) },
    );
    await one.commit([{ kind: "revoke-token", id: "t", at: 9 }]);
    assert.equal((await other.token("hash of t"))?.revokedAt, 9);
  });
}
