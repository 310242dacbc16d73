// Deleted content is removed from the outcomes that are stored with Idempotency-Keys.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Sql } from "postgres";
import { Connection } from "../../../src/store/postgres/connection.ts";
import type { RunWriter } from "../../../src/store/postgres/deleted-parts.ts";
import { eraseOutcomes } from "../../../src/store/postgres/erase-outcomes.ts";
import { purge } from "../../../src/store/postgres/purge.ts";
import { all, create, idsFrom, once, put, remove } from "../contract/change-helpers.ts";
import { type TestDatabase, TestDatabases, until } from "./test-databases.ts";

const databases = new TestDatabases();

/** The ids whose content is stored with keys. */
const keptIds = (testDatabase: TestDatabase): Promise<readonly string[]> =>
  testDatabase.admin(async (sql) => {
    const found = await sql<{ outcomes: string }[]>`SELECT outcomes FROM idempotency_keys`;
    return found.flatMap(({ outcomes }) => outcomes.match(/id-\d+/g) ?? []).sort();
  });

describe("stored outcomes", () => {
  it("lose what was deleted, and nothing else", () =>
    databases.in(async (testDatabase) => {
      const store = await testDatabase.open();
      // More than one slice, with content that JSON must escape.
      const ids = idsFrom(450);
      const fields = '{"text":"\\u0000 ☃"}';
      await store.commit([create(), ...ids.map((id) => all([put(id, { fields })], once(id)))]);
      const [first = "", second = "", ...others] = ids;
      await store.commit([remove(first), remove(second), put(second, { fields, at: 9_999 })]);
      const connection = await Connection.open({ ...testDatabase, deadlineMs: 10_000 });
      let steps = 0;
      await eraseOutcomes(
        (work) => {
          steps++;
          return work(connection);
        },
        () => false,
      );
      await connection.close();
      // One lists the collections, and the others check some keys each.
      assert.ok(steps > 2);
      assert.deepEqual(await keptIds(testDatabase), [...others].sort());
      const [gone, kept] = await store.commit([
        all([put("new")], once(first)),
        all([put("new")], once(others[0] ?? "")),
      ]);
      assert.equal(gone?.kind, "gone");
      assert.equal(kept?.kind === "all" && kept.isReplay, true);
    }));

  for (const [name, work] of [
    ["erased", (run: RunWriter) => eraseOutcomes(run, () => false)],
    ["purged", (run: RunWriter) => purge(run, () => false, { removalsMs: 0 })],
  ] as const)
    it(`of a key that is used again while it is ${name} stay`, () =>
      databases.in(async (testDatabase) => {
        const store = await testDatabase.open();
        await store.commit([create(), all([put("id-1")], once("key"))]);
        await store.commit([remove("id-1")]);
        await testDatabase.admin((sql) => sql`UPDATE idempotency_keys SET expires = 0`);
        const connection = await Connection.open({ ...testDatabase, deadlineMs: 10_000 });
        let done: Promise<unknown> = Promise.resolve();
        await testDatabase.admin((sql) =>
          sql.begin(async (transaction) => {
            await transaction`UPDATE idempotency_keys SET expires = 1e15, outcomes = '"id-2"'`;
            done = work((act) => act(connection));
            await until(() => testDatabase.admin(isAnyWaiting));
          }),
        );
        await done;
        await connection.close();
        assert.deepEqual(await keptIds(testDatabase), ["id-2"]);
      }));
});

const isAnyWaiting = async (sql: Sql): Promise<boolean> => {
  const waiting = await sql`
    SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  return waiting.length > 0;
};
