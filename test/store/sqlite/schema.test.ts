// Migrations: each step is applied completely or not at all, and files of other programs are not touched.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { Connection } from "../../../src/store/sqlite/connection.ts";
import { prepareFile } from "../../../src/store/sqlite/file.ts";
import { type SchemaStep, steps, upgradeOld } from "../../../src/store/sqlite/old-schema.ts";
import { createTables } from "../../../src/store/sqlite/schema.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite.ts";
import type { Change } from "../../../src/store/store.ts";
import { feedSince } from "../contract/change-helpers.ts";
import { assertFinds, is, putJson } from "../contract/query-helpers.ts";
import { inDirectory } from "./test-directory.ts";

const version = (connection: Connection): unknown =>
  connection.query("PRAGMA user_version").one()?.[0];

const tables = (connection: Connection): readonly unknown[] =>
  connection
    .query("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .all()
    .map(([name]) => name);

async function onConnection(test: (connection: Connection) => void): Promise<void> {
  await inDirectory(async (path) => {
    const connection = new Connection(prepareFile(path).path, "write");
    try {
      test(connection);
    } finally {
      connection.close();
    }
  });
}

const upgrade = (connection: Connection, path: readonly SchemaStep[]): void =>
  connection.transact(() => upgradeOld(connection, path));

describe("migrations", () => {
  it("are applied in order, once", () =>
    onConnection((connection) => {
      const first: SchemaStep = () => connection.run("CREATE TABLE one (a)");
      const second: SchemaStep = () => connection.run("ALTER TABLE one RENAME TO two");
      upgrade(connection, [first]);
      assert.deepEqual([version(connection), tables(connection)], [1, ["one"]]);
      upgrade(connection, [first, second]);
      upgrade(connection, [first, second]);
      assert.deepEqual([version(connection), tables(connection)], [2, ["two"]]);
    }));

  it("that fail leave the previous version unchanged", () =>
    onConnection((connection) => {
      const first: SchemaStep = () => connection.run("CREATE TABLE one (a)");
      const failing: SchemaStep = () => {
        connection.run("CREATE TABLE two (a); INSERT INTO one VALUES (1)");
        connection.run("INSERT INTO nowhere VALUES (1)");
      };
      upgrade(connection, [first]);
      assert.throws(() => upgrade(connection, [first, failing]), /no such table/);
      assert.deepEqual([version(connection), tables(connection)], [1, ["one"]]);
      assert.deepEqual(connection.query("SELECT * FROM one").all(), []);
      upgrade(connection, [first, () => connection.run("CREATE TABLE two (b)")]);
      assert.deepEqual([version(connection), tables(connection)], [2, ["one", "two"]]);
    }));

  it("reject a newer database without changing it", () =>
    onConnection((connection) => {
      connection.run("CREATE TABLE future (a); PRAGMA user_version = 99");
      assert.throws(() => createTables(connection), /written by a newer Restante/);
      assert.deepEqual([version(connection), tables(connection)], [99, ["future"]]);
    }));

  it("reject the database of another program without changing it", () =>
    inDirectory(async (path) => {
      const { path: file } = prepareFile(path);
      const stranger = new DatabaseSync(file);
      stranger.exec("CREATE TABLE recipes (a)");
      stranger.close();
      const connection = new Connection(file, "write");
      assert.throws(() => createTables(connection), /another program/);
      assert.deepEqual([version(connection), tables(connection)], [0, ["recipes"]]);
      connection.close();
    }));
});

describe("a database of version 1", () => {
  const dump = new URL("./version-1.sql", import.meta.url);

  async function inOldDatabase(test: (path: string) => Promise<void>): Promise<void> {
    await inDirectory(async (path) => {
      const database = new DatabaseSync(join(path, "restante.db"));
      database.exec(await readFile(dump, "utf8"));
      database.close();
      await test(path);
    });
  }

  it("is migrated with all its data, and its feed contains each removal once", () =>
    inOldDatabase(async (path) => {
      const store = await openSqlite({ path });
      assert.deepEqual(await store.collections(), [
        {
          name: "empty",
          revision: 3,
          total: 0,
          bytes: 0,
          definition: "{}",
          createdAt: 2,
          updatedAt: 52,
          sharesDate: true,
        },
        {
          name: "things",
          revision: 21,
          total: 11,
          bytes: 247,
          definition: "{}",
          createdAt: 1,
          updatedAt: 50,
          sharesDate: true,
        },
      ]);
      const slice = await store.slice("things", { offset: 3, limit: 3, order: "created" });
      assert.deepEqual(
        slice?.resources.map(({ id }) => id),
        ["id-4", "id-6", "id-8"],
      );
      assert.equal((await store.find("things", "id-3"))?.fields, '{"n":33}');
      assert.equal((await store.tokens())[0]?.usedAt, 7);
      const feed = await feedSince(store, 12, 100);
      assert.deepEqual(
        feed?.entries.map((entry) => [entry.revision, entry.id, "kind" in entry]),
        [
          [13, "id-11", false],
          [14, "id-3", false],
          [15, "id-0", true],
          [19, "id-5", true],
          [20, "id-7", false],
          [21, "only", false],
        ],
      );
      await store.close();
    }));

  it("accepts everything that a new one does", () =>
    inOldDatabase(async (path) => {
      const store = await openSqlite({ path });
      const common = { collection: "things", at: 60, expect: "anything" } as const;
      const outcomes = await store.commit([
        { kind: "put", id: "id-0", fields: "{}", ...common },
        { kind: "remove", id: "id-7", ...common },
        {
          kind: "all",
          changes: [
            { kind: "put", id: "id-5", fields: "{}", ...common },
            { kind: "remove", id: "id-5", ...common },
          ],
          once: { owner: "o", key: "k", fingerprint: "f", at: 60, expiresAt: 70 },
        },
        { kind: "define", collection: "empty", definition: '{"n":1}', at: 60 },
      ]);
      assert.deepEqual(
        outcomes.map(({ kind }) => kind),
        ["created", "removed", "all", "done"],
      );
      const feed = await feedSince(store, 15, 100);
      assert.deepEqual(
        feed?.entries.map((entry) => [entry.revision, entry.id, "kind" in entry]),
        [
          [21, "only", false],
          [22, "id-0", false],
          [23, "id-7", true],
          [25, "id-5", true],
        ],
      );
      assert.equal((await store.collection("empty"))?.definition, '{"n":1}');
      await store.close();
    }));

  it("has exactly the tables of a new one", () =>
    inOldDatabase(async (path) => {
      await (await openSqlite({ path })).close();
      const fresh = join(path, "fresh");
      const store = await openSqlite({ path: fresh });
      const names = ["things", "empty"];
      await store.commit(
        names.map((collection): Change => ({ kind: "create-collection", collection, at: 1 })),
      );
      await store.close();
      assert.deepEqual(formOf(path), formOf(fresh));
    }));

  function formOf(path: string): unknown {
    const connection = new Connection(join(path, "restante.db"), "read");
    const words = connection
      .query<readonly [string, string]>("SELECT name, coalesce(sql, '') FROM sqlite_schema")
      .all()
      .map(([name, sql]) => `${name}: ${sql.replace(/\s+/g, " ").replace(/ ?([,()]) ?/g, "$1")}`);
    const form = { version: version(connection), tables: words.sort() };
    connection.close();
    return form;
  }
});

describe("a database of version 2", () => {
  const dump = new URL("./version-1.sql", import.meta.url);

  async function inOldDatabase(test: (path: string) => Promise<void>): Promise<void> {
    await inDirectory(async (path) => {
      const file = join(path, "restante.db");
      const database = new DatabaseSync(file);
      database.exec(await readFile(dump, "utf8"));
      database.close();
      const connection = new Connection(file, "write");
      upgrade(connection, steps.slice(0, 2));
      connection.run(`INSERT INTO definitions VALUES (2, 7, '{"preconditions":"required"}')`);
      connection.close();
      await test(path);
    });
  }

  it("is indexed and searchable with all its data", () =>
    inOldDatabase(async (path) => {
      const store = await openSqlite({ path });
      assert.equal((await store.rules("empty"))?.definition, '{"preconditions":"required"}');
      const definition = '{"unique":["n"],"searchable":["word"],"access":{"read":"owner"}}';
      const outcomes = await store.commit([
        { kind: "define", collection: "things", definition, at: 60 },
        putJson("new", { n: 33 }),
        putJson("new", { n: 34 }, { owner: "ann" }),
        putJson("id-3", { n: 35, word: "it" }),
      ]);
      assert.deepEqual(
        outcomes.map(({ kind }) => kind),
        ["done", "conflict", "created", "replaced"],
      );
      await assertFinds(store, ["id-8"], { conditions: [is("n", "any", 8)] });
      await assertFinds(store, ["new"], { conditions: [is("", "text", "ann")] });
      await assertFinds(store, [], { conditions: [is("n", "any", 33)] });
      const words = [{ text: "it", isPrefix: false }];
      const sortings = [{ field: "id", kind: "text", isDescending: true }] as const;
      const ids = ["id-9", "id-8", "id-6", "id-4", "id-3", "id-2", "id-11", "id-10", "id-1"];
      await assertFinds(store, ids, { words, sortings });
      await store.close();
    }));
});
