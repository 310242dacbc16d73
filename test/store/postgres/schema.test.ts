// Migrations: each step is applied completely or not at all, by one node, and tables of other programs are not touched.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { version } from "../../../src/lib/program.ts";
import { Connection } from "../../../src/store/postgres/connection.ts";
import { postgresExaminer } from "../../../src/store/postgres/examine.ts";
import { notifyNodes } from "../../../src/store/postgres/listener.ts";
import { type MigrationStep, migrate, schemaVersion } from "../../../src/store/postgres/schema.ts";
import { postgresSource } from "../../../src/store/postgres/snapshot.ts";
import { oldestVersion } from "../../../src/store/version.ts";
import { within } from "../../seeds.ts";
import { create, totalOf } from "../contract/change-helpers.ts";
import { assertFinds, is, putJson } from "../contract/query-helpers.ts";
import { makeOlder, olderVersion, resources, steps } from "./older-database.ts";
import { sessions, type TestDatabase, TestDatabases, until, waiting } from "./test-databases.ts";

const databases = new TestDatabases("own");

const connect = ({ url, schema }: TestDatabase): Promise<Connection> =>
  Connection.open({ url, schema, deadlineMs: 0 });

async function migrateBy(
  testDatabase: TestDatabase,
  wanted: readonly MigrationStep[],
  report?: (message: string) => void,
): Promise<void> {
  const connection = await connect(testDatabase);
  try {
    await migrate(connection, testDatabase.schema, wanted, report);
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

const newer = `the database was written by Restante 9.1 (its schema version is 99; this is Restante ${version}, which supports up to ${schemaVersion}): use Restante 9.0 or later, or go back as docs/upgrading.md describes`;

/** A database without tables of a made-up older version, from which this many steps lead to the newest. */
const makeOlderBy = (testDatabase: TestDatabase, steps: number): Promise<unknown> =>
  testDatabase.admin(async (sql) => {
    const { schema } = testDatabase;
    await sql`CREATE SCHEMA ${sql(schema)}`;
    await sql`CREATE TABLE schema_version (one boolean, version integer, restante text, oldest text)`;
    await sql`INSERT INTO schema_version VALUES (true, ${schemaVersion - steps}, '0.0.1', '0.0.1')`;
  });

const tablesIn = (testDatabase: TestDatabase): Promise<readonly string[]> =>
  testDatabase.admin(async (sql) => {
    const found = await sql`
      SELECT table_name FROM information_schema.tables
      WHERE table_schema = ${testDatabase.schema} AND table_name <> 'schema_version' ORDER BY table_name`;
    return found.map((row) => String(row.table_name));
  });

/** The tables, columns and indexes. */
const structureOf = (testDatabase: TestDatabase): Promise<unknown> =>
  testDatabase.admin(async (sql) => [
    [
      ...(await sql`
        SELECT table_name, column_name, data_type, collation_name, is_nullable, column_default
        FROM information_schema.columns WHERE table_schema = ${testDatabase.schema}
        ORDER BY table_name, column_name`),
    ],
    [
      ...(await sql`
        SELECT indexdef FROM pg_indexes WHERE schemaname = ${testDatabase.schema} ORDER BY indexdef`),
    ],
  ]);

async function assertMigrated(testDatabase: TestDatabase): Promise<void> {
  assert.equal(await versionIn(testDatabase), schemaVersion);
  const store = await testDatabase.open();
  assert.equal(await totalOf(store), resources);
  assert.equal((await store.find("things", "id-4"))?.fields, '{"n":4}');
  await assertFinds(store, ["id-3"], { conditions: [is("n", "number", 3)] });
  assert.equal((await store.tokens()).length, 1);
  const [created] = await store.commit([putJson("new", { n: 9 })]);
  assert.equal(created?.kind, "created");
  await store.close();
}

describe("migrations", () => {
  it("are applied in order, once", () =>
    databases.inEmpty(async (testDatabase) => {
      await makeOlderBy(testDatabase, 2);
      const path = ["CREATE TABLE one (a int)", "ALTER TABLE one RENAME TO two"];
      await migrateBy(testDatabase, path);
      await migrateBy(testDatabase, path);
      assert.deepEqual(
        [await versionIn(testDatabase), await tablesIn(testDatabase)],
        [schemaVersion, ["two"]],
      );
      const [written] = await testDatabase.admin(
        (sql) => sql`SELECT restante, oldest FROM schema_version`,
      );
      assert.deepEqual({ ...written }, { restante: version, oldest: oldestVersion });
    }));

  it("keep all that is stored, and give the tables of a new database", () =>
    databases.inEmpty(async (testDatabase) => {
      await makeOlder(testDatabase);
      const messages: string[] = [];
      await migrateBy(testDatabase, steps, (message) => messages.push(message));
      assert.deepEqual(messages.length, resources);
      await assertMigrated(testDatabase);
      await databases.in(async (fresh) => {
        assert.deepEqual(await structureOf(testDatabase), await structureOf(fresh));
      });
    }));

  it("that fail leave the previous version unchanged", () =>
    databases.inEmpty(async (testDatabase) => {
      const first = "CREATE TABLE one (a int)";
      const failing = "CREATE TABLE two (a int); INSERT INTO one VALUES (1); SELECT 1 / 0";
      await makeOlderBy(testDatabase, 2);
      await assert.rejects(migrateBy(testDatabase, [first, failing]), /division by zero/);
      assert.deepEqual(
        [await versionIn(testDatabase), await tablesIn(testDatabase)],
        [schemaVersion - 1, ["one"]],
      );
      assert.equal(await testDatabase.admin(async (sql) => (await sql`SELECT FROM one`).length), 0);
      await migrateBy(testDatabase, [first, "CREATE TABLE two (a int)"]);
      assert.deepEqual(
        [await versionIn(testDatabase), await tablesIn(testDatabase)],
        [schemaVersion, ["one", "two"]],
      );
    }));

  it("are applied once when many nodes start at once", () =>
    databases.inEmpty(async (testDatabase) => {
      const path = Array.from(
        { length: 10 },
        (_, index) => `CREATE TABLE step_${index} (a int); SELECT pg_sleep(0.01)`,
      );
      await makeOlderBy(testDatabase, path.length);
      await Promise.all(Array.from({ length: 8 }, () => migrateBy(testDatabase, path)));
      assert.equal(await versionIn(testDatabase), schemaVersion);
      assert.equal((await tablesIn(testDatabase)).length, 10);
    }));

  it("work when many stores open at once on an empty database", () =>
    databases.inEmpty(async (testDatabase) => {
      const stores = await Promise.all(Array.from({ length: 6 }, () => testDatabase.open()));
      await Promise.all(stores.map((store) => store.commit([create()])));
      for (const store of stores) assert.equal(await totalOf(store), 0);
      assert.equal(await versionIn(testDatabase), schemaVersion);
    }));

  it("wait for another node that creates the tables, however long", () =>
    databases.inEmpty(async (testDatabase) => {
      await testDatabase.admin(async (sql) => {
        await sql`BEGIN`;
        await sql`CREATE SCHEMA ${sql(testDatabase.schema)}`;
        let isOpen = false;
        const opening = testDatabase.open({ deadlineMs: 3_000 }).then(() => {
          isOpen = true;
        });
        await until(async () => (await waiting(testDatabase)) === 1);
        await sql`SELECT pg_sleep(3.1)`;
        assert.equal(isOpen, false);
        await sql`ROLLBACK`;
        await opening;
      });
    }));

  for (const [transaction, moment, version, filled] of [
    [1, "before its commit", olderVersion, 0],
    [2, "before its statements", olderVersion + 1, 0],
    [4, "before its commit", olderVersion + 1, 2],
    [5, "before its statements", olderVersion + 1, 3],
    [7, "before its commit", olderVersion + 1, 5],
  ] as const)
    it(
      `go on when a node was killed in transaction ${transaction}, ${moment}`,
      within(60_000),
      () =>
        databases.inEmpty(async (testDatabase) => {
          await makeOlder(testDatabase);
          const { url, schema } = testDatabase;
          const child = fileURLToPath(new URL("./children/migrate.ts", import.meta.url));
          const words = [child, url, schema, `${transaction}`, moment];
          const { signal } = spawnSync(process.execPath, words, { stdio: "inherit" });
          assert.equal(signal, "SIGKILL");
          await until(async () => (await sessions(testDatabase)) === 0);
          assert.equal(await versionIn(testDatabase), version);
          const found = await testDatabase.admin(
            (sql) => sql`SELECT FROM resources WHERE fields <> ''`,
          );
          assert.equal(found.length, filled);
          await migrateBy(testDatabase, steps);
          await assertMigrated(testDatabase);
        }),
    );

  it("do not begin when no step begins with the version", () =>
    databases.inEmpty(async (testDatabase) => {
      await makeOlder(testDatabase);
      const before = [await structureOf(testDatabase), await versionIn(testDatabase)];
      const refused = `the database has the schema version ${olderVersion}, and this is Restante ${version}, which needs ${schemaVersion}: start with a new folder or database, or export the data with the version that wrote it`;
      await assert.rejects(testDatabase.open(), (error: Error) => error.message.endsWith(refused));
      await assert.rejects(migrateBy(testDatabase, steps.slice(1)), { message: refused });
      await assert.rejects(postgresSource(testDatabase.url).snapshot(), { message: refused });
      const { writtenBy } = await postgresExaminer(testDatabase.url).examine();
      assert.equal(writtenBy.schema, olderVersion);
      assert.deepEqual([await structureOf(testDatabase), await versionIn(testDatabase)], before);
    }));

  it("do not begin with tables that have no version", () =>
    databases.inEmpty(async (testDatabase) => {
      await makeOlderBy(testDatabase, 1);
      await testDatabase.admin((sql) => sql`ALTER TABLE schema_version RENAME TO collections`);
      await assert.rejects(
        testDatabase.open(),
        /Cannot open .*: the schema restante has tables without a version: start with a new database, or export/,
      );
      assert.deepEqual(await tablesIn(testDatabase), ["collections"]);
    }));

  it("reject a newer database without changing it", () =>
    databases.inEmpty(async (testDatabase) => {
      await makeOlderBy(testDatabase, 0);
      await upgradeToNewer(testDatabase);
      await assert.rejects(testDatabase.open(), (error: Error) => error.message.endsWith(newer));
      await assert.rejects(postgresSource(testDatabase.url).snapshot(), { message: newer });
      const examination = await postgresExaminer(testDatabase.url).examine();
      assert.equal(examination.writtenBy.oldest, "9.0");
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
