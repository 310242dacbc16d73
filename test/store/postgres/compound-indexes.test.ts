// Indexes over several fields, as they are in the database.

import { test } from "node:test";
import { assertEntriesFollow } from "../entries-follow.ts";
import { TestDatabases } from "./test-databases.ts";

const databases = new TestDatabases();

test("stored entries follow writes and definitions", () =>
  databases.in(async (testDatabase) => {
    const store = await testDatabase.open();
    await assertEntriesFollow(store, () =>
      testDatabase.admin(async (sql) => {
        const rows = await sql`SELECT field, key FROM entries ORDER BY part, field, key, seq`;
        return rows.map(({ field, key }) => [field, key] as const);
      }),
    );
  }));
