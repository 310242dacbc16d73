// Writes to different collections do not wait for each other, and batches over several still take all locks.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { withGroupCommit } from "../../../src/store/group-commit.ts";
import type { Store } from "../../../src/store/store.ts";
import { all, create, idsFrom, kinds, put } from "../contract/change-helpers.ts";
import { type TestDatabase, TestDatabases, until } from "./test-databases.ts";

const databases = new TestDatabases();
const names = ["one", "two", "three"];

const openGrouped = async (testDatabase: TestDatabase): Promise<Store> =>
  withGroupCommit(await testDatabase.open(), { isByCollection: true });

/** Locks the head of a collection from another session meanwhile. */
const whileLocked = (
  testDatabase: TestDatabase,
  name: string,
  work: () => Promise<void>,
): Promise<void> =>
  testDatabase.admin(async (sql) => {
    await sql`BEGIN`;
    await sql`
      SELECT FROM heads WHERE part = (SELECT part FROM collections WHERE name = ${name})
      FOR UPDATE`;
    try {
      await work();
    } finally {
      await sql`ROLLBACK`;
    }
  });

const isWaiting = (testDatabase: TestDatabase): Promise<boolean> =>
  testDatabase.admin(async (sql) => {
    const waiting = await sql`
      SELECT FROM pg_stat_activity
      WHERE wait_event_type = 'Lock' AND datname = current_database()`;
    return waiting.length > 0;
  });

describe("a writer that waits for one collection", () => {
  it("does not hold up writes to others", () =>
    databases.in(async (testDatabase) => {
      const store = await openGrouped(testDatabase);
      await store.commit(names.map((name) => create(name)));
      const waiting: Promise<unknown>[] = [];
      await whileLocked(testDatabase, "one", async () => {
        for (const id of idsFrom(50)) waiting.push(store.commit([put(id, { collection: "one" })]));
        await until(() => isWaiting(testDatabase));
        for (const id of idsFrom(20))
          for (const collection of ["two", "three"])
            assert.deepEqual(kinds(await store.commit([put(id, { collection })])), ["created"]);
        const both = all([put("x", { collection: "two" }), put("x", { collection: "three" })]);
        assert.deepEqual(kinds(await store.commit([both])), ["all"]);
        await store.commit([create("four"), put("a", { collection: "four" })]);
      });
      await Promise.all(waiting);
      const totals = (await store.collections()).map(({ name, total }) => [name, total]);
      assert.deepEqual(totals, [
        ["four", 1],
        ["one", 50],
        ["three", 21],
        ["two", 21],
      ]);
    }));

  it("writes in order what has a collection in common", () =>
    databases.in(async (testDatabase) => {
      const store = await testDatabase.open();
      await store.commit(names.map((name) => create(name)));
      const writes: Promise<unknown>[] = [];
      await whileLocked(testDatabase, "one", async () => {
        for (let n = 0; n < 30; n++) {
          const fields = JSON.stringify({ n });
          const one = put("a", { collection: "one", fields });
          const two = put("a", { collection: "two", fields });
          writes.push(store.commit(n % 3 === 0 ? [all([two, one])] : [n % 3 === 1 ? one : two]));
        }
        await until(() => isWaiting(testDatabase));
      });
      await Promise.all(writes);
      assert.equal((await store.find("one", "a"))?.fields, '{"n":28}');
      assert.equal((await store.find("two", "a"))?.fields, '{"n":29}');
    }));
});
