// Files that are no databases of Restante, or newer ones, are not touched.

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { Connection } from "../../../src/store/sqlite/connection.ts";
import { prepareFile } from "../../../src/store/sqlite/file.ts";
import { createTables } from "../../../src/store/sqlite/schema.ts";
import { inDirectory } from "./test-directory.ts";

const version = (connection: Connection): unknown =>
  connection.query("PRAGMA user_version").one()?.[0];

const tables = (connection: Connection): readonly unknown[] =>
  connection
    .query("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .all()
    .map(([name]) => name);

describe("the creation of tables", () => {
  it("rejects a newer database without changing it", () =>
    inDirectory(async (path) => {
      const connection = new Connection(prepareFile(path).path, "write");
      connection.run("CREATE TABLE future (a); PRAGMA user_version = 99");
      assert.throws(() => createTables(connection), /written by a newer Restante/);
      assert.deepEqual([version(connection), tables(connection)], [99, ["future"]]);
      connection.close();
    }));

  it("rejects the database of another program without changing it", () =>
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
