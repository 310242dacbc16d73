// Large fields are read apart from their page, a few at a time, and not at all when the page is not sent.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type CollectionRow, findCollectionRows } from "../../../src/store/postgres/collections.ts";
import { Connection, type Sql, type Statement } from "../../../src/store/postgres/connection.ts";
import { readWithFields } from "../../../src/store/postgres/large-fields.ts";
import { readSlice } from "../../../src/store/postgres/resource.ts";
import type { ResourceColumns } from "../../../src/store/postgres/row.ts";
import type { Change, Store } from "../../../src/store/store.ts";
import { type TestDatabase, TestDatabases } from "./test-databases.ts";

const databases = new TestDatabases();

const create = (at: number, chars: number): Change => ({
  kind: "put",
  collection: "things",
  id: `r${at}`,
  fields: JSON.stringify({ at, text: "x".repeat(chars) }),
  at: 10,
  expect: "anything",
});

async function fill({ open }: TestDatabase, chars: readonly number[]): Promise<Store> {
  const store = await open();
  await store.commit([{ kind: "create-collection", collection: "things", at: 1 }]);
  await store.commit(chars.map((count, at) => create(at, count)));
  return store;
}

interface Reading {
  readonly sql: Sql;
  readonly row: CollectionRow;
  /** The texts of the statements that were sent. */
  readonly sent: string[];
}

async function onConnection(
  { url, schema }: TestDatabase,
  work: (reading: Reading) => Promise<void>,
): Promise<void> {
  const connection = await Connection.open({ url, schema, deadlineMs: 60_000 });
  await connection.run(async (sql) => {
    const [row] = await findCollectionRows(sql, ["things"]);
    assert.ok(row);
    const sent: string[] = [];
    sql.options.debug = (_, text) => void sent.push(text);
    await work({ sql, row, sent });
  });
  await connection.close();
}

const page = { offset: 0, limit: 100, order: "created" } as const;

describe("large fields on Postgres", () => {
  it("are read a few at a time after their page, small ones with it", () =>
    databases.in(async (database) => {
      const sizes = [100, 300_000, 300_000, 100_000, 100_000, 100_000, 900_000, 100];
      await fill(database, sizes);
      await onConnection(database, async ({ sql, row, sent }) => {
        const statements = async (limit: number, maxBytes?: number) => {
          sent.length = 0;
          const slice = await readSlice(sql, row, { ...page, limit, maxBytes });
          const { resources = [] } = slice?.value ?? {};
          const lengths = resources.map(({ fields }) => fields.length - 18);
          for (const { fields, fieldBytes = Buffer.from(fields) } of resources)
            assert.equal(Buffer.from(fieldBytes).toString(), fields);
          // What is large and not read with its page stays bytes.
          assert.equal(resources[6]?.fieldBytes?.length, resources[6] && 900_018);
          if (slice?.value.fits === undefined) assert.deepEqual(lengths, sizes.slice(0, limit));
          return sent.length;
        };
        // The first two with the page, then 300,000, 2 × 100,000, 100,000, and 900,000 with the last.
        assert.equal(await statements(8, 10_000_000), 6);
        // The first and the last with the page.
        assert.equal(await statements(8), 6);
        assert.equal(await statements(2, 10_000_000), 1);
        assert.equal(await statements(1), 1);
        // A page that is too large is not sent.
        assert.equal(await statements(8, 1_000_000), 1);
      });
    }));

  it("are not read for a page that is too large", () =>
    databases.in(async (database) => {
      const store = await fill(database, [100, 600_000, 600_000, 600_000]);
      // Damage is noticed by what reads the fields.
      await database.admin(
        (sql) => sql`UPDATE resources SET fields = replace(fields, 'x', 'y') WHERE id <> 'r0'`,
      );
      const refused = await store.slice("things", { ...page, maxBytes: 1_500_000 });
      assert.deepEqual([refused?.fits, refused?.resources], [3, []]);
      await assert.rejects(async () => store.slice("things", { ...page, maxBytes: 2_000_000 }), {
        reason: "damaged",
      });
    }));

  it("are of the same state as their page when they are written in between", () =>
    databases.in(async (database) => {
      await fill(database, [600_000, 10]);
      await onConnection(database, async ({ sql, row: { part }, sent }) => {
        // The statement returns the rows as they were before it changes them.
        const select = (columns: Statement) => sql`
          WITH written AS (
            UPDATE resources SET revision = revision + 10
            WHERE part = ${part}::bigint AND revision <= 10
          )
          SELECT ${columns} FROM resources WHERE part = ${part}::bigint ORDER BY seq`;
        const reading = { maxBytes: undefined, select };
        const found = await readWithFields<ResourceColumns>(sql, part, reading);
        const states = found.map(([, revision, , , fields]) => [revision, fields.length]);
        assert.deepEqual(states, [
          [12, 600_018],
          [13, 28],
        ]);
        assert.equal(sent.length, 3);
      });
    }));
});
