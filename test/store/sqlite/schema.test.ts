// Migrations: each step is taken whole or not at all, and a stranger's file is left alone.

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { Connection } from "../../../src/store/sqlite/connection.ts";
import { prepareFile } from "../../../src/store/sqlite/file.ts";
import { migrate, type Step } from "../../../src/store/sqlite/schema.ts";
import { inDirectory, startChild } from "./house.ts";

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

describe("migrations", () => {
  it("are taken in order, once", () =>
    onConnection((connection) => {
      const first: Step = () => connection.run("CREATE TABLE one (a)");
      const second: Step = () => connection.run("ALTER TABLE one RENAME TO two");
      migrate(connection, [first]);
      assert.deepEqual([version(connection), tables(connection)], [1, ["one"]]);
      migrate(connection, [first, second]);
      migrate(connection, [first, second]);
      assert.deepEqual([version(connection), tables(connection)], [2, ["two"]]);
    }));

  it("a step that fails leaves the version before it, whole", () =>
    onConnection((connection) => {
      const first: Step = () => connection.run("CREATE TABLE one (a)");
      const failing: Step = () => {
        connection.run("CREATE TABLE two (a); INSERT INTO one VALUES (1)");
        connection.run("INSERT INTO nowhere VALUES (1)");
      };
      assert.throws(() => migrate(connection, [first, failing]), /no such table/);
      assert.deepEqual([version(connection), tables(connection)], [1, ["one"]]);
      assert.deepEqual(connection.query("SELECT * FROM one").all(), []);
      migrate(connection, [first, () => connection.run("CREATE TABLE two (b)")]);
      assert.deepEqual([version(connection), tables(connection)], [2, ["one", "two"]]);
    }));

  it("killed at any moment, the database is in one version or the next", { timeout: 60_000 }, () =>
    inDirectory(async (path) => {
      const file = prepareFile(path).path;
      const stepCount = 400;
      const seen = new Set<number>();
      for (let round = 0; round < 8; round++) {
        const child = startChild("migrate", file, String(stepCount));
        const timer = setTimeout(() => child.kill(), 60 + round * 30);
        await child.gone;
        clearTimeout(timer);
        const connection = new Connection(file, "write");
        const reached = Number(version(connection));
        seen.add(reached);
        assert.equal(tables(connection).length, reached);
        for (let step = 1; step <= reached; step++)
          assert.equal(connection.query(`SELECT count(*) FROM step_${step}`).one()?.[0], 20);
        connection.close();
      }
      await startChild("migrate", file, String(stepCount)).gone;
      const connection = new Connection(file, "write");
      assert.equal(version(connection), stepCount);
      connection.close();
      assert.ok(
        [...seen].some((reached) => reached < stepCount),
        "no child was killed in time",
      );
    }),
  );

  it("a newer database is refused, and not touched", () =>
    onConnection((connection) => {
      connection.run("CREATE TABLE future (a); PRAGMA user_version = 99");
      assert.throws(() => migrate(connection), /written by a newer Restante/);
      assert.deepEqual([version(connection), tables(connection)], [99, ["future"]]);
    }));

  it("the database of another program is refused, and not touched", () =>
    inDirectory(async (path) => {
      const { path: file } = prepareFile(path);
      const stranger = new DatabaseSync(file);
      stranger.exec("CREATE TABLE recipes (a)");
      stranger.close();
      const connection = new Connection(file, "write");
      assert.throws(() => migrate(connection), /another program/);
      assert.deepEqual([version(connection), tables(connection)], [0, ["recipes"]]);
      connection.close();
    }));
});
