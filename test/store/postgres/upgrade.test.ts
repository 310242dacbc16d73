// Opens databases of older versions, written by their code: nothing is lost, and everything can be queried.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once as happens } from "node:events";
import { readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Collection } from "../../../src/model/collection.ts";
import type { Feed } from "../../../src/model/feed.ts";
import type { Resource } from "../../../src/model/resource.ts";
import type { Token } from "../../../src/model/token.ts";
import type { Outcome, Store } from "../../../src/store/store.ts";
import { newSeed, randomNumbers, runs, within } from "../../seeds.ts";
import { all, doneIn, kinds, once, put } from "../contract/change-helpers.ts";
import { assertFinds, idsFor, is, wordsLike } from "../contract/query-helpers.ts";
import { assertRepeatable, oldKeysOf } from "../old-keys.ts";
import { type TestDatabase, TestDatabases } from "./test-databases.ts";

const databases = new TestDatabases();

interface Expected {
  readonly collections: readonly Collection[];
  readonly tokens: readonly (Omit<Token, "subject" | "roles"> & Partial<Token>)[];
  /** The outcome of the request with the key "alive". */
  readonly keyed: Outcome;
  readonly books: Contents;
  readonly notes: Contents;
  readonly empty: Contents;
}

interface Contents {
  readonly slice: readonly Resource[];
  readonly feed: Feed;
}

const pathOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

async function restore(testDatabase: TestDatabase, version: number): Promise<Expected> {
  const dump = await readFile(pathOf(`./version-${version}.sql`), "utf8");
  await testDatabase.admin((sql) => sql.unsafe(dump).simple());
  return JSON.parse(await readFile(pathOf(`./version-${version}.json`), "utf8"));
}

/** Version 4 did not know whether two states share a second, so it is assumed. */
const upgraded = <T extends object>(version: number, state: T): T =>
  version < 5 ? { ...state, sharesDate: true } : state;

async function assertSame(store: Store, expected: Expected, version: number): Promise<void> {
  const collections = expected.collections.map((each) => upgraded(version, each));
  const found = (await store.collections()).map(({ bytes: _, ...collection }) => collection);
  assert.deepEqual(found, collections);
  const tokens = expected.tokens.map((token) => ({
    ...token,
    subject: token.subject ?? token.id,
    roles: [],
  }));
  assert.deepEqual(await store.tokens(), tokens);
  for (const name of ["books", "notes", "empty"] as const) {
    const { slice, feed } = expected[name];
    const resources = slice.map((each) => upgraded(version, each));
    const found = await store.slice(name, { offset: 0, limit: 1_000, order: "created" });
    assert.deepEqual(found?.resources, resources);
    for (let offset = 0; offset < resources.length; offset++) {
      const page = await store.slice(name, { offset, limit: 2, order: "created" });
      assert.deepEqual(page?.resources, resources.slice(offset, offset + 2));
    }
    const changes = await store.since(name, 0, { limit: 1_000 });
    assert.ok(typeof changes === "object");
    const entries = feed.entries.map((entry) =>
      "removedAt" in entry ? entry : upgraded(version, entry),
    );
    assert.deepEqual(changes.entries, entries);
    if (version < 5) continue;
    const { epoch, collection } = feed;
    const position = { epoch, revision: collection.revision - 1, time: 0 };
    const since = await store.since(name, position, { limit: 1_000 });
    assert.ok(typeof since === "object", "a position from before is still valid");
    assert.deepEqual(since.entries, entries.slice(-since.entries.length || entries.length));
  }
}

async function assertUsable(store: Store, { keyed }: Expected): Promise<void> {
  const ranked = await idsFor(store, { words: wordsLike("joyce") }, "books");
  assert.equal(ranked, "book-3 book-1 book-0");
  await assertFinds(
    store,
    ["book-1"],
    { conditions: [is("t", "text", "Dubliners by Joyce")] },
    {
      collection: "books",
    },
  );
  const taken = { ...put("new", { fields: '{"n":10,"t":"x"}' }), collection: "books" };
  assert.deepEqual(await store.commit([taken]), [{ kind: "conflict", field: "n" }]);
  const retry = (key: string) =>
    all([put("new", { collection: "notes" })], once(key, { at: 4_000, expiresAt: 90_000 }));
  const [alive, deleted, removal] = await store.commit([
    ...["alive", "deleted", "removal"].map(retry),
  ]);
  assert.deepEqual(doneIn(alive, true), doneIn(keyed));
  assert.deepEqual(deleted, { kind: "gone" });
  assert.deepEqual(kinds(doneIn(removal, true)), ["removed"]);
  const file = "0".repeat(32);
  assert.deepEqual(await store.findReferencedFiles([file, "1".repeat(32)]), new Set([file]));
  const outcomes = await store.commit([put("last", { collection: "notes" })]);
  assert.deepEqual(kinds(outcomes), ["created"]);
}

for (const version of [4, 6])
  describe(`a database of schema version ${version}`, () => {
    it("is there after the migration, and can be used", within(60_000), () =>
      databases.inEmpty(async (testDatabase) => {
        const expected = await restore(testDatabase, version);
        const store = await testDatabase.open();
        await assertSame(store, expected, version);
        await assertUsable(store, expected);
        await assertSameTables(testDatabase);
      }),
    );

    it("is migrated once by many nodes that start at once", within(60_000), () =>
      databases.inEmpty(async (testDatabase) => {
        const expected = await restore(testDatabase, version);
        const stores = await Promise.all(Array.from({ length: 5 }, () => testDatabase.open()));
        for (const store of stores) await assertSame(store, expected, version);
      }),
    );

    it("is migrated by others when nodes are killed", within(120_000), () =>
      databases.inEmpty(async (testDatabase) => {
        const expected = await restore(testDatabase, version);
        const random = randomNumbers(newSeed("killed nodes"));
        for (let round = 0; round < runs(2, 40); round++) {
          const child = startNode(testDatabase);
          const closed = happens(child, "close");
          await sleep(random() * 400);
          child.kill("SIGKILL");
          await closed;
        }
        const store = await testDatabase.open();
        await assertSame(store, expected, version);
        await assertUsable(store, expected);
      }),
    );
  });

describe("a database of schema version 4", () => {
  it("gets indexes of elements, also beside a damaged resource", within(60_000), () =>
    databases.inEmpty(async (testDatabase) => {
      await restore(testDatabase, 4);
      await testDatabase.admin((sql) =>
        sql
          .unsafe(
            `UPDATE collections SET definition = '{"indexed":["a[]"],"searchable":["t"]}'
               WHERE name = 'notes';
             UPDATE resources SET fields = '{"a":[1,2],"t":"hello"}' WHERE id = 'keyed';
             UPDATE resources SET fields = '{"a":[' WHERE id = 'with-file';
             INSERT INTO entries VALUES (3, 'a[]', 'sof 0.1.0', 153)`,
          )
          .simple(),
      );
      const store = await testDatabase.open();
      const found = (query: Parameters<typeof idsFor>[1]) => idsFor(store, query, "notes");
      assert.equal(await found({ conditions: [is("a[]", "any", 2)] }), "keyed");
      assert.equal(await found({ conditions: [is("a[]", "any", "of 0.1.0")] }), "");
      assert.equal(await found({ words: wordsLike("hello") }), "keyed");
      assert.equal((await store.find("notes", "with-file"))?.fields, '{"a":[');
    }),
  );

  it(
    "repeats no batch over several collections, whatever else it did, and whoever sent it",
    within(60_000),
    () =>
      databases.inEmpty(async (testDatabase) => {
        await restore(testDatabase, 4);
        const resources = [
          { collection: "notes", id: "keyed", createdAt: 3_000 },
          { collection: "books", id: "book-1", createdAt: 1_000 },
        ];
        await testDatabase.admin(async (sql) => {
          for (const { owner, key, fingerprint, outcomes } of oldKeysOf(resources)) {
            const name = JSON.stringify([owner, key]);
            await sql`INSERT INTO kept VALUES (${name}, ${fingerprint}, ${outcomes}, 100000)`;
          }
        });
        await assertRepeatable(await testDatabase.open(), resources);
      }),
  );
});

function startNode({ url, schema }: TestDatabase): ChildProcess {
  return spawn(process.execPath, [pathOf("./children/open.ts"), url, schema], {
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, NODE_NO_WARNINGS: "1" },
  });
}

describe("a database of schema version 10", () => {
  it("is there after the migration, with the tables of a new one", within(60_000), () =>
    databases.in(async (testDatabase) => {
      const before = await testDatabase.open();
      await before.commit([
        { kind: "create-collection", collection: "notes", at: 1 },
        put("one", { collection: "notes", fields: '{"a":"é"}' }),
        {
          ...put("two", { collection: "notes", fields: "{}" }),
          ...{ owner: "ann", files: '[{"key":"k1","size":40},{"key":"k2","size":2}]' },
        },
        // Their lists of files are damaged below.
        ...["broken", "object", "odd"].map((id) => put(id, { collection: "notes", fields: "{}" })),
      ]);
      await before.close();
      await testDatabase.admin((sql) =>
        sql
          .unsafe(
            `ALTER TABLE heads DROP COLUMN bytes, DROP COLUMN purged;
             ALTER TABLE tombstones DROP COLUMN owner;
             ALTER TABLE files DROP COLUMN owner, DROP COLUMN bytes;
             DROP TABLE builds, former_owners, former_states;
             DROP INDEX resources_by_created, resources_by_updated;
             UPDATE resources SET files = '[{' WHERE id = 'broken';
             UPDATE resources SET files = '{"key":"k1"}' WHERE id = 'object';
             UPDATE resources SET files = '[1,{"key":"k3","size":"x"}]' WHERE id = 'odd';
             UPDATE schema_version SET version = 10`,
          )
          .simple(),
      );
      const messages: string[] = [];
      const store = await testDatabase.open({ onProgress: (message) => messages.push(message) });
      assert.equal((await store.collection("notes"))?.total, 5);
      assert.match(messages[0] ?? "", /^migrating the database: \d+ %$/);
      const [head] = await testDatabase.admin((sql) => sql`SELECT bytes FROM heads`);
      assert.equal(Number(head?.bytes), 18);
      assert.deepEqual([await store.fileBytes("ann"), await store.fileBytes()], [42, 42]);
      await assertSameTables(testDatabase);
    }),
  );
});

/** The tables, columns and indexes are those of a new database. */
async function assertSameTables(testDatabase: TestDatabase): Promise<void> {
  await databases.in(async (fresh) => {
    assert.deepEqual(await schemaOf(testDatabase), await schemaOf(fresh));
  });
}

const schemaOf = (testDatabase: TestDatabase): Promise<unknown> =>
  testDatabase.admin(async (sql) => [
    [
      ...(await sql`
        SELECT table_name, column_name, data_type, collation_name, is_nullable
        FROM information_schema.columns WHERE table_schema = ${testDatabase.schema}
        ORDER BY table_name, column_name`),
    ],
    [
      ...(await sql`
        SELECT indexdef FROM pg_indexes WHERE schemaname = ${testDatabase.schema} ORDER BY indexdef`),
    ],
  ]);
