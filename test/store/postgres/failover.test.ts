// After a failover no connection to the former server is left, whatever it was used for at that moment.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Outage } from "../../../src/model/outage.ts";
import type { Change, Store } from "../../../src/store/store.ts";
import { newSeed, randomNumbers, runs } from "../../seeds.ts";
import { create, idsOf, put, totalOf } from "../contract/change-helpers.ts";
import { FaultyNetwork } from "./faulty-network.ts";
import { TestDatabases, until } from "./test-databases.ts";

const databases = new TestDatabases();

/** Calls the reads again and again, several at a time, and counts them. */
function readSteadily(reads: readonly (() => unknown)[]) {
  const state = { isStopped: false, count: 0 };
  const loops = reads.map(async (read) => {
    while (!state.isStopped) {
      await read();
      state.count++;
    }
  });
  const stop = () => {
    state.isStopped = true;
    return Promise.all(loops);
  };
  return { state, stop };
}

/** Commits on another connection, as another process does, and can have an outage. */
function failingCommitter(owner: Store) {
  const committer = {
    isDown: false,
    commit: async (changes: readonly Change[]) => {
      if (committer.isDown) throw new Outage("unavailable", "the database is read-only");
      return owner.commit(changes);
    },
  };
  return committer;
}

describe("a failover", () => {
  it("leaves no connection to the former server", () =>
    databases.in(async (testDatabase) => {
      const random = randomNumbers(newSeed("failover"));
      const owner = await testDatabase.open();
      await owner.commit([create()]);
      const committer = failingCommitter(owner);
      for (let round = 0; round < runs(4, 200); round++) {
        using network = new FaultyNetwork(testDatabase.url, random);
        const url = await network.listen();
        const worker = await testDatabase.open({ url, committer, readers: 4 });
        const total = (await totalOf(owner)) ?? 0;
        const query = () =>
          worker.slice("things", { offset: 0, limit: 10, order: "created" }, { caller: "" });
        const { state, stop } = readSteadily([
          ...[query, query, query],
          ...[() => totalOf(worker), () => idsOf(worker), () => worker.find("things", "a")],
        ]);
        // Else some are still being opened.
        if (round % 2 === 1) await Promise.all([query(), query(), query()]);
        const enough = state.count + random() * 100;
        await until(async () => state.count >= enough);
        committer.isDown = true;
        await assert.rejects(worker.commit([put(`${round}`)]), Outage);
        // Not later: what the store does by itself may find first that writes work again.
        const former = new Set(network.open);
        committer.isDown = false;
        await worker.commit([put(`${round}`)]);
        assert.equal(await totalOf(worker), total + 1);
        await until(async () => former.isDisjointFrom(network.open));
        await stop();
        await worker.close();
      }
    }));
});
