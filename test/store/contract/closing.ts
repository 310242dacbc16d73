// Closing and opening again.

import assert from "node:assert/strict";
import { Outage } from "../../../src/model/outage.ts";
import type { Store } from "../../../src/store/store.ts";
import { create, idsFrom, kinds, put, remove, token, totalOf } from "./change-helpers.ts";
import type { ContractTest } from "./engine-under-test.ts";

export function closing(contractTest: ContractTest): void {
  contractTest("everything is stored after opening again", async (engine) => {
    await engine.store.commit([
      create(),
      ...idsFrom(300).map((id) => put(id)),
      ...idsFrom(280).map((id) => remove(id)),
      { kind: "create-token", token: token("t") },
    ]);
    const look = async (store: Store) => ({
      collections: await store.collections(),
      slice: await store.slice("things", { offset: 3, limit: 10, order: "-created" }),
      one: await store.find("things", "id-299"),
      none: await store.find("things", "id-0"),
      tokens: await store.tokens(),
    });
    const before = await look(engine.store);
    assert.equal(before.slice?.resources.length, 10);
    assert.deepEqual(await look(await engine.reopen()), before);
  });

  contractTest("it is ready, and closing waits for writes in progress", async (engine) => {
    const { store } = engine;
    assert.equal(await store.ready(), undefined);
    await store.commit([create()]);
    const underWay = idsFrom(30).map((id) => store.commit([put(id)]));
    await store.close();
    const outcomes = (await Promise.all(underWay)).flat();
    assert.deepEqual(new Set(kinds(outcomes)), new Set(["created"]));
    assert.equal(await totalOf(await engine.second()), 30);
  });

  contractTest(
    "a closed store accepts nothing more, and may be closed again",
    async ({ store }) => {
      await store.close();
      await assert.rejects(
        store.commit([create()]),
        (error) => error instanceof Outage && error.reason === "unavailable",
      );
      assert.notEqual(await store.ready(), undefined);
      await store.close();
    },
  );
}
