// Opening a database: what is created, with which permissions and settings, and error messages.
// @runtimes both

import assert from "node:assert/strict";
import { chmod, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { version } from "../../../src/lib/program.ts";
import { Connection } from "../../../src/store/sqlite/connection.ts";
import { schemaVersion } from "../../../src/store/sqlite/schema.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite.ts";
import { runsOn } from "../../short-run.ts";
import { inDirectory, startChild } from "./test-directory.ts";

const rights = async (path: string): Promise<string> =>
  ((await stat(path)).mode & 0o777).toString(8);

/** The error when a user other than root opens it; undefined when no other user can run the code. */
async function openAsNobody(path: string): Promise<string> {
  const child = startChild("open-as-nobody", path);
  await child.gone;
  return child.lines.join("\n");
}

describe("opening a database", () => {
  it("creates the directory and the file for the owner only, with any path", () =>
    inDirectory(async (path) => {
      const data = join(path, "a b", "c?d#e%20f é");
      const store = await openSqlite({ path: data });
      await store.commit([{ kind: "create-collection", collection: "things", at: 1 }]);
      assert.equal(await rights(join(path, "a b")), "700");
      assert.equal(await rights(data), "700");
      for (const name of await readdir(data)) assert.equal(await rights(join(data, name)), "600");
      await store.close();
      // The log is folded into the file, so that a copy of it is whole.
      assert.deepEqual((await readdir(data)).sort(), ["restante.commits", "restante.db"]);
    }));

  it("sets what durability depends on", () =>
    inDirectory(async (path) => {
      await (await openSqlite({ path })).close();
      const settings = (access: "read" | "write", names: readonly string[]) => {
        const connection = new Connection(join(path, "restante.db"), access);
        const values = names.map((name) => connection.query(`PRAGMA ${name}`).one()?.[0]);
        connection.close();
        return values;
      };
      const names = ["journal_mode", "synchronous", "busy_timeout", "wal_autocheckpoint"];
      assert.deepEqual(settings("write", names), ["wal", 2, 5_000, 0]);
      // Only macOS knows the difference.
      assert.deepEqual(settings("write", ["fullfsync", "checkpoint_fullfsync"]), [1, 1]);
      assert.deepEqual(settings("read", [...names, "query_only"]), ["wal", 2, 5_000, 0, 1]);
    }));

  it("gives a reader no write access", () =>
    inDirectory(async (path) => {
      await (await openSqlite({ path })).close();
      const reader = new Connection(join(path, "restante.db"), "read");
      assert.throws(() => reader.run("DELETE FROM tokens"), /readonly/);
      reader.close();
    }));

  if (runsOn("bun"))
    it("works in several processes at once, also the first time", () =>
      inDirectory(async (path) => {
        const children = ["a", "b", "c", "d"].map((name) => startChild("load", path, name, "10"));
        assert.deepEqual(await Promise.all(children.map(({ gone }) => gone)), [0, 0, 0, 0]);
        const store = await openSqlite({ path });
        assert.equal((await store.collection("things"))?.total, 40);
        await store.close();
      }));

  it("reports a directory that is not writable", (context) =>
    inDirectory(async (path) => {
      await chmod(path, 0o555);
      const words = await openAsNobody(join(path, "data"));
      if (!words) return context.skip("the code cannot be read without root's rights");
      assert.match(words, /Cannot create .*data.*: permission denied/);
      assert.deepEqual(await readdir(path), []);
    }));

  it("reports a file that is not writable", (context) =>
    inDirectory(async (path) => {
      await (await openSqlite({ path })).close();
      await chmod(path, 0o777);
      await chmod(join(path, "restante.commits"), 0o666);
      await chmod(join(path, "restante.db"), 0o444);
      const words = await openAsNobody(path);
      if (!words) return context.skip("the code cannot be read without root's rights");
      assert.match(words, /Cannot open .*restante\.db: the database is read-only/);
    }));

  it("reports a path through a file", () =>
    inDirectory(async (path) => {
      await writeFile(join(path, "file"), "");
      await assert.rejects(openSqlite({ path: join(path, "file", "data") }), /not a directory/);
      await assert.rejects(openSqlite({ path: join(path, "file") }), /a file exists/);
    }));

  it("reports a file that is not a database, and leaves it unchanged", () =>
    inDirectory(async (path) => {
      await writeFile(join(path, "restante.db"), "no database ".repeat(1_000));
      await assert.rejects(openSqlite({ path }), /Cannot open .*not a SQLite database/);
      assert.equal((await stat(join(path, "restante.db"))).size, 12_000);
    }));

  it("reports a damaged database", () =>
    inDirectory(async (path) => {
      await (await openSqlite({ path })).close();
      const file = join(path, "restante.db");
      const bytes = await readFile(file);
      // The header stays, so that it still looks like a database.
      await writeFile(file, bytes.fill(0xff, 100));
      await assert.rejects(openSqlite({ path }), /Cannot open .*damaged/);
    }));

  it("reports a database of a newer version", () =>
    inDirectory(async (path) => {
      await (await openSqlite({ path })).close();
      const database = new DatabaseSync(join(path, "restante.db"));
      database.exec(
        "PRAGMA user_version = 99; UPDATE written_by SET restante = '9.1', oldest = '9.0'",
      );
      database.close();
      const message = `Cannot open ${join(path, "restante.db")}: the database was written by Restante 9.1 (its schema version is 99; this is Restante ${version}, which supports up to ${schemaVersion}): use Restante 9.0 or later, or go back as docs/upgrading.md describes`;
      await assert.rejects(openSqlite({ path }), { message });
    }));

  it("reports a directory in place of the file", () =>
    inDirectory(async (path) => {
      await mkdir(join(path, "restante.db"));
      await assert.rejects(openSqlite({ path }), /Cannot open .*restante\.db/);
    }));
});
