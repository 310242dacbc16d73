// A Postgres database that is restored from a backup, or damaged: reported to feeds and readers.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Outage } from "../../../src/model/outage.ts";
import type { Store } from "../../../src/store/store.ts";
import { create, idsFrom, put, remove } from "../contract/change-helpers.ts";
import { type TestDatabase, TestDatabases } from "./test-databases.ts";

const databases = new TestDatabases();
const tables = ["collections", "heads", "resources", "tombstones", "positions", "epochs", "store"];

const backUp = (testDatabase: TestDatabase) =>
  testDatabase.admin((sql) =>
    sql.unsafe(tables.map((name) => `CREATE TABLE old_${name} AS TABLE ${name};`).join("")),
  );

const restore = (testDatabase: TestDatabase) =>
  testDatabase.admin((sql) =>
    sql.unsafe(
      tables.map((name) => `DELETE FROM ${name}; INSERT INTO ${name} TABLE old_${name};`).join(""),
    ),
  );

async function positionOf(store: Store) {
  const feed = await store.since("things", 0, { limit: 1_000 });
  assert.ok(typeof feed === "object");
  const { revision } = feed.collection;
  return { epoch: feed.epoch, revision, time: 0 };
}

describe("a database that is restored from a backup", () => {
  it("rejects positions from after it, whatever was written since", () =>
    databases.in(async (testDatabase) => {
      const first = await testDatabase.open();
      await first.commit([create(), put("a"), put("b")]);
      const early = await positionOf(first);
      await backUp(testDatabase);
      await first.commit([put("a"), put("c"), put("b")]);
      const late = await positionOf(first);
      await first.close();
      await restore(testDatabase);

      const second = await testDatabase.open();
      assert.equal(await second.since("things", late, { limit: 10 }), "gone");
      for (let round = 0; round < 10; round++) await second.commit([put("a"), put("d")]);
      assert.equal(await second.since("things", late, { limit: 10 }), "gone");
      const feed = await second.since("things", early, { limit: 10 });
      assert.ok(typeof feed === "object");
      assert.deepEqual(
        feed.entries.map(({ id }) => id),
        ["a", "d"],
      );
    }));

  it("keeps positions over restarts, of one node and of two", () =>
    databases.in(async (testDatabase) => {
      const stores = [await testDatabase.open(), await testDatabase.open()];
      await stores[0]?.commit([create()]);
      for (let round = 0; round < 6; round++) {
        const store = stores[round % 2];
        assert.ok(store);
        const before = await positionOf(store);
        await store.commit([put(`id-${round}`), put("a"), remove("a")]);
        for (const each of stores) {
          const feed = await each.since("things", before, { limit: 10 });
          assert.ok(typeof feed === "object");
          assert.equal(feed.entries.length, 2);
        }
        if (round === 3) stores[0] = await testDatabase.open();
      }
      const epochs = await testDatabase.admin((sql) => sql`SELECT FROM epochs`);
      assert.ok(epochs.length <= 3, "an epoch for each start, not for each turn");
    }));
});

describe("a damaged row", () => {
  it("is reported by its id, alone and in a list; all others can be read", () =>
    databases.in(async (testDatabase) => {
      const store = await testDatabase.open();
      const ids = idsFrom(30);
      await store.commit([create(), ...ids.map((id) => put(id))]);
      await testDatabase.admin(
        (sql) => sql`UPDATE resources SET fields = '{"n":1}' WHERE id = 'id-7'`,
      );
      const isDamage = (error: unknown) => {
        assert.ok(error instanceof Outage && error.reason === "damaged", String(error));
        assert.match(error.message, /"id-7" in the collection "things"/);
        return true;
      };
      const answers = await Promise.allSettled(ids.map(async (id) => store.find("things", id)));
      for (const [index, answer] of answers.entries())
        if (index === 7) assert.ok(answer.status === "rejected" && isDamage(answer.reason));
        else assert.ok(answer.status === "fulfilled" && answer.value?.id === ids[index]);
      const slice = async (offset: number) =>
        store.slice("things", { offset, limit: 5, order: "created" });
      await assert.rejects(() => slice(5), isDamage);
      assert.equal((await slice(10))?.resources.length, 5);
      await assert.rejects(async () => store.since("things", 0, { limit: 100 }), isDamage);
    }));
});
