// Indexes over several fields, as they are in the database.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { newSeed, randomNumbers } from "../../seeds.ts";
import { define, kinds } from "../contract/change-helpers.ts";
import { putJson } from "../contract/query-helpers.ts";
import { assertEntriesFollow } from "../entries-follow.ts";
import { TestDatabases } from "./test-databases.ts";

const databases = new TestDatabases();

describe("indexes over several fields", () => {
  it("have entries that follow writes and definitions", () =>
    databases.in(async (testDatabase) => {
      const store = await testDatabase.open();
      await assertEntriesFollow(store, () =>
        testDatabase.admin(async (sql) => {
          const rows = await sql`SELECT field, key FROM entries ORDER BY part, field, key, seq`;
          return rows.map(({ field, key }) => [field, key] as const);
        }),
      );
    }));

  it("accept the longest names and texts", () =>
    databases.in(async (testDatabase) => {
      const store = await testDatabase.open();
      const random = randomNumbers(newSeed("longest entries"));
      // Random characters of three bytes, which Postgres cannot compress.
      const text = () =>
        String.fromCharCode(...Array.from({ length: 300 }, () => 0x4e00 + random() * 0x5000));
      for (const count of [2, 3, 4]) {
        const names = Array.from({ length: count }, (_, index) =>
          `${index}`.repeat(Math.floor(240 / count)),
        );
        const schema = {
          properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
        };
        const indexed = [names, names.map((name, index) => (index < 3 ? `-${name}` : name))];
        const fields = () => Object.fromEntries(names.map((name) => [name, text()]));
        const definition = JSON.stringify({ schema, indexed });
        const outcomes = await store.commit([define(definition), putJson("a", fields())]);
        assert.deepEqual(kinds(outcomes).slice(0, 1), ["done"]);
        assert.ok(["created", "replaced"].includes(outcomes[1]?.kind ?? ""));
      }
    }));
});
