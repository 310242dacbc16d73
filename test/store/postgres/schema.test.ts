// Migrations: each step is applied completely or not at all, by one node, and tables of other programs are not touched.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { version } from "../../../src/lib/program.ts";
import { Connection } from "../../../src/store/postgres/connection.ts";
import { postgresExaminer } from "../../../src/store/postgres/examine.ts";
import { notifyNodes } from "../../../src/store/postgres/listener.ts";
import { oldSteps } from "../../../src/store/postgres/old-schema.ts";
import { migrate, migration } from "../../../src/store/postgres/schema.ts";
import { postgresSource } from "../../../src/store/postgres/snapshot.ts";
import type { MigrationStep } from "../../../src/store/postgres/step.ts";
import { upgradeSteps } from "../../../src/store/postgres/upgrade.ts";
import { oldestVersion } from "../../../src/store/version.ts";
import { create, define, kinds, totalOf } from "../contract/change-helpers.ts";
import { assertFinds, is, putJson } from "../contract/query-helpers.ts";
import { type TestDatabase, TestDatabases, until, waiting } from "./test-databases.ts";

const databases = new TestDatabases("own");

const connect = ({ url, schema }: TestDatabase): Promise<Connection> =>
  Connection.open({ url, schema, deadlineMs: 0 });

async function migrateBy(
  testDatabase: TestDatabase,
  path: readonly MigrationStep[],
): Promise<void> {
  const connection = await connect(testDatabase);
  try {
    await migrate(connection, testDatabase.schema, { steps: path });
  } finally {
    await connection.close();
  }
}

const versionIn = (testDatabase: TestDatabase): Promise<unknown> =>
  testDatabase.admin(async (sql) => (await sql`SELECT version FROM schema_version`)[0]?.version);

/** As a newer version would leave it. */
const upgradeToNewer = (testDatabase: TestDatabase): Promise<unknown> =>
  testDatabase.admin(
    (sql) => sql`UPDATE schema_version SET version = 99, restante = '9.1', oldest = '9.0'`,
  );

const newer = `the database was written by Restante 9.1 (its schema version is 99; this is Restante ${version}, which supports up to ${migration.steps.length}): use Restante 9.0 or later, or go back as docs/upgrading.md describes`;

/** Gives the table of the version the name that it had up to version 6. */
const renameVersion = (testDatabase: TestDatabase): Promise<unknown> =>
  testDatabase.admin((sql) =>
    sql.unsafe(`
      ALTER TABLE schema_version RENAME TO form;
      ALTER TABLE form RENAME CONSTRAINT schema_version_pkey TO form_pkey;
      ALTER TABLE form RENAME CONSTRAINT schema_version_one_check TO form_one_check`),
  );

const tablesIn = (testDatabase: TestDatabase): Promise<readonly string[]> =>
  testDatabase.admin(async (sql) => {
    const found = await sql`
      SELECT table_name FROM information_schema.tables
      WHERE table_schema = ${testDatabase.schema} AND table_name <> 'schema_version' ORDER BY table_name`;
    return found.map((row) => String(row.table_name));
  });

describe("migrations", () => {
  it("are applied in order, once", () =>
    databases.inEmpty(async (testDatabase) => {
      await migrateBy(testDatabase, ["CREATE TABLE one (a int)"]);
      assert.deepEqual([await versionIn(testDatabase), await tablesIn(testDatabase)], [1, ["one"]]);
      const path = ["CREATE TABLE one (a int)", "ALTER TABLE one RENAME TO two"];
      await migrateBy(testDatabase, path);
      await migrateBy(testDatabase, path);
      assert.deepEqual([await versionIn(testDatabase), await tablesIn(testDatabase)], [2, ["two"]]);
    }));

  it("keep the data of an older version, which can then be indexed", () =>
    databases.inEmpty(async (testDatabase) => {
      await migrateBy(testDatabase, oldSteps.slice(0, 2));
      await renameVersion(testDatabase);
      await testDatabase.admin(async (sql) => {
        await sql`
          INSERT INTO collections (name, revision, seq, total, definition, created, updated, defined)
          VALUES ('things', 3, 1, 1, '{"preconditions":"required"}', 1, 5, 2)`;
        await sql`
          INSERT INTO resources (collection, id, seq, revision, created, updated, fields)
          SELECT key, 'a', 1, 3, 5, 5, '{"n":7}' FROM collections`;
      });
      const store = await testDatabase.open();
      const times = { createdAt: 5, updatedAt: 5, sharesDate: true };
      const known = { id: "a", revision: 3, ...times, fields: '{"n":7}' };
      assert.deepEqual(await store.find("things", "a"), known);
      const outcomes = await store.commit([
        ...[putJson("b", { n: 1 }), define('{"unique":["n"]}'), putJson("b", { n: 7 })],
      ]);
      assert.deepEqual(kinds(outcomes), ["created", "done", "conflict"]);
      await assertFinds(store, ["a"], { conditions: [is("n", "any", 7)] });
    }));

  it("that fail leave the previous version unchanged", () =>
    databases.inEmpty(async (testDatabase) => {
      const first = "CREATE TABLE one (a int)";
      const failing = "CREATE TABLE two (a int); INSERT INTO one VALUES (1); SELECT 1 / 0";
      await assert.rejects(migrateBy(testDatabase, [first, failing]), /division by zero/);
      assert.deepEqual([await versionIn(testDatabase), await tablesIn(testDatabase)], [1, ["one"]]);
      assert.equal(await testDatabase.admin(async (sql) => (await sql`SELECT FROM one`).length), 0);
      await migrateBy(testDatabase, [first, "CREATE TABLE two (a int)"]);
      assert.deepEqual(
        [await versionIn(testDatabase), await tablesIn(testDatabase)],
        [2, ["one", "two"]],
      );
    }));

  it("are applied once when many nodes start at once", () =>
    databases.inEmpty(async (testDatabase) => {
      const path = Array.from(
        { length: 10 },
        (_, index) => `CREATE TABLE step_${index} (a int); SELECT pg_sleep(0.01)`,
      );
      await Promise.all(Array.from({ length: 8 }, () => migrateBy(testDatabase, path)));
      assert.equal(await versionIn(testDatabase), 10);
      assert.equal((await tablesIn(testDatabase)).length, 10);
    }));

  it("work when many stores open at once on an empty database", () =>
    databases.inEmpty(async (testDatabase) => {
      const stores = await Promise.all(Array.from({ length: 6 }, () => testDatabase.open()));
      await Promise.all(stores.map((store) => store.commit([create()])));
      for (const store of stores) assert.equal(await totalOf(store), 0);
      assert.equal(await versionIn(testDatabase), oldSteps.length + upgradeSteps.length);
    }));

  it("make other nodes wait, however long they take", () =>
    databases.inEmpty(async (testDatabase) => {
      await migrateBy(testDatabase, oldSteps.slice(0, 2));
      await renameVersion(testDatabase);
      await testDatabase.admin(async (sql) => {
        await sql`BEGIN`;
        await sql`SELECT FROM form FOR UPDATE`;
        let isOpen = false;
        const opening = testDatabase.open({ deadlineMs: 3_000 }).then(() => {
          isOpen = true;
        });
        await until(async () => (await waiting(testDatabase)) === 1);
        await sql`SELECT pg_sleep(3.1)`;
        assert.equal(isOpen, false);
        await sql`COMMIT`;
        await opening;
      });
    }));

  it("are repeated when a node was killed in the middle of a step", () =>
    databases.inEmpty(async (testDatabase) => {
      const slow = "CREATE TABLE one (a int); SELECT pg_sleep(60)";
      const killed = assert.rejects(migrateBy(testDatabase, [slow]));
      await until(() =>
        testDatabase.admin(async (sql) => {
          const ended = await sql`
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE wait_event = 'PgSleep' AND application_name = 'restante'`;
          return ended.length === 1;
        }),
      );
      await killed;
      assert.deepEqual([await versionIn(testDatabase), await tablesIn(testDatabase)], [0, []]);
      await migrateBy(testDatabase, ["CREATE TABLE one (a int)"]);
      assert.deepEqual([await versionIn(testDatabase), await tablesIn(testDatabase)], [1, ["one"]]);
    }));

  it("reject a newer database without changing it", () =>
    databases.inEmpty(async (testDatabase) => {
      await migrateBy(testDatabase, []);
      await upgradeToNewer(testDatabase);
      await assert.rejects(testDatabase.open(), (error: Error) => error.message.endsWith(newer));
      await assert.rejects(postgresSource(testDatabase.url).snapshot(), { message: newer });
      const examination = await postgresExaminer(testDatabase.url).examine();
      assert.equal(examination.oldestRestante, "9.0");
      assert.deepEqual([await versionIn(testDatabase), await tablesIn(testDatabase)], [99, []]);
    }));

  it("by a newer version stop the writes of a node that runs", () =>
    databases.inEmpty(async (testDatabase) => {
      const messages: string[] = [];
      const store = await testDatabase.open({ onProgress: (message) => messages.push(message) });
      await store.commit([create(), putJson("a", { n: 1 })]);
      assert.equal(await store.ready(), undefined);
      await upgradeToNewer(testDatabase);
      const connection = await connect(testDatabase);
      await connection.run((sql) => notifyNodes(sql, testDatabase.schema));
      await connection.close();
      await until(async () => messages.length > 0);
      assert.deepEqual(messages, [`writes are rejected: ${newer}`]);
      await assert.rejects(store.commit([putJson("b", { n: 2 })]), {
        message: newer,
        reason: "unavailable",
      });
      assert.equal(await store.ready(), newer);
      assert.equal((await store.find("things", "a"))?.fields, '{"n":1}');
      assert.equal(await store.find("things", "b"), undefined);
    }));

  it("that a node learns of by an error are named, too", () =>
    databases.inEmpty(async (testDatabase) => {
      const store = await testDatabase.open();
      await store.commit([create()]);
      await upgradeToNewer(testDatabase);
      await testDatabase.admin((sql) => sql`ALTER TABLE resources RENAME COLUMN fields TO content`);
      await assert.rejects(store.commit([putJson("b", { n: 2 })]), {
        message: newer,
        reason: "unavailable",
      });
    }));

  it("leave a version for 0.1.0 that it does not open", () =>
    databases.inEmpty(async (testDatabase) => {
      const store = await testDatabase.open();
      const [form] = await testDatabase.admin((sql) => sql`SELECT version FROM form`);
      assert.equal(form?.version, migration.steps.length);
      const [written] = await testDatabase.admin(
        (sql) => sql`SELECT restante, oldest FROM schema_version`,
      );
      assert.deepEqual({ ...written }, { restante: version, oldest: oldestVersion });
      await store.close();
    }));

  it("leave tables of other programs alone", () =>
    databases.inEmpty(async (testDatabase) => {
      const { schema } = testDatabase;
      await testDatabase.admin((sql) => sql`CREATE SCHEMA ${sql(schema)}`);
      await testDatabase.admin((sql) => sql`CREATE TABLE tokens (recipe text)`);
      await assert.rejects(testDatabase.open(), /Cannot open .*"tokens" already exists/);
      assert.deepEqual(await tablesIn(testDatabase), ["tokens"]);
    }));

  it("work in a given schema for a user who may not create one", () =>
    databases.inEmpty(async (testDatabase) => {
      const { server, url, schema } = testDatabase;
      await testDatabase.admin(async (sql) => {
        await sql`CREATE ROLE modest LOGIN`;
        await sql`CREATE SCHEMA ${sql(schema)} AUTHORIZATION modest`;
      });
      const asModest = server.url(new URL(url).pathname.slice(1), "modest");
      const store = await testDatabase.open({ url: asModest });
      await store.commit([create()]);
      assert.equal(await totalOf(store), 0);
    }));
});
