// A swap of the database beside another program that has it open, as Litestream has: refused, or reported.
// @runtimes both

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { openNewDatabase } from "../../../src/store/sqlite/open-loader.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite.ts";
import { inDirectory } from "./test-directory.ts";

/** Reads as another program does, until it is closed. */
function openBeside(path: string): DatabaseSync {
  const other = new DatabaseSync(join(path, "restante.db"));
  other.exec("BEGIN");
  other.prepare("SELECT count(*) FROM store").get();
  return other;
}

describe("another program that has the database open", () => {
  for (const [title, litestream, words] of [
    ["without a name", false, /another program has .*restante\.db open.*stop it/],
    ["of Litestream", true, /probably Litestream, has .*restante\.db open/],
  ] as const)
    it(`${title}, stops the database from being replaced`, () =>
      inDirectory(async (path) => {
        await (await openSqlite({ path })).close();
        if (litestream) await mkdir(join(path, ".restante.db-litestream"));
        const before = await readFile(join(path, "restante.db"));
        const other = openBeside(path);
        assert.throws(() => openNewDatabase(path), words);
        other.close();
        assert.ok(before.equals(readFileSync(join(path, "restante.db"))));
        await openNewDatabase(path).close();
      }));

  it("is named when the database was rescued", () =>
    inDirectory(async (path) => {
      const messages: string[] = [];
      const report = (level: string, message: string) => messages.push(`${level} ${message}`);
      const store = await openSqlite({ path, report });
      await store.commit([{ kind: "create-collection", collection: "things", at: 1 }]);
      await mkdir(join(path, ".restante.db-litestream"));
      await rm(join(path, "restante.db-shm"));
      await store
        .commit([{ kind: "create-collection", collection: "others", at: 1 }])
        .catch(() => 0);
      while ((await store.ready()) !== undefined) await new Promise((go) => setTimeout(go, 20));
      await store.close();
      assert.match(messages.at(-1) ?? "", /^error Litestream .*old file.*restart it/);
    }));
});
