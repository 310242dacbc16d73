// A swap of the database beside another program that has it open, as Litestream has: refused, or reported.
// @runtimes both

import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { Metrics } from "../../../src/lib/metrics.ts";
import { Database } from "../../../src/store/sqlite/database.ts";
import { prepareFile } from "../../../src/store/sqlite/file.ts";
import { openNewDatabase } from "../../../src/store/sqlite/open-loader.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite.ts";
import { type Child, inDirectory, startChild } from "./test-directory.ts";

/** Reads as another program does, until it is closed. */
function openBeside(path: string): DatabaseSync {
  const other = new DatabaseSync(join(path, "restante.db"));
  other.exec("BEGIN");
  other.prepare("SELECT count(*) FROM store").get();
  return other;
}

/** The same in a process of its own, which the action can end. */
async function besideReader(path: string, act: (reader: Child) => Promise<void>): Promise<void> {
  const reader = startChild("read-on", join(path, "restante.db"));
  try {
    while (reader.lines.length === 0) await new Promise((go) => setTimeout(go, 20));
    await act(reader);
  } finally {
    reader.kill();
    await reader.gone;
  }
}

const isNamed = existsSync("/proc/locks");
const create = (collection: string) => ({ kind: "create-collection", collection, at: 1 }) as const;
const hourMs = 3_600_000;

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

  it("stops it also when it has begun meanwhile, unless that is forced", () =>
    inDirectory(async (path) => {
      await (await openSqlite({ path })).close();
      const before = await readFile(join(path, "restante.db"));
      const loader = openNewDatabase(path);
      await besideReader(path, async () => {
        const words = isNamed ? /^[\w.]+ \(process \d+\) has .*--force/ : /^another program has/;
        await assert.rejects(loader.publish({ replaces: "nothing" }), { message: words });
        await loader.close();
        assert.ok(before.equals(readFileSync(join(path, "restante.db"))));
        await openNewDatabase(path, true).publish({ replaces: "nothing" });
        assert.ok(!before.equals(readFileSync(join(path, "restante.db"))));
      });
    }));

  it("is named once an hour while it keeps what was deleted", () =>
    inDirectory(async (path) => {
      const notes: string[] = [];
      const file = prepareFile(path);
      const database = new Database(file, { eraseAfterMs: 0 }, (message) => notes.push(message));
      database.commit([create("things")]);
      const { now } = performance;
      // Whole, so that no sum is rounded.
      let at = Math.ceil(performance.now());
      const pass = (ms: number) => {
        at += ms;
        performance.now = () => at;
        while (database.workInBackground());
        performance.now = now;
        return notes.length;
      };
      await besideReader(path, async (reader) => {
        database.commit([{ kind: "drop", collection: "things", isEmptyOnly: true }]);
        const counts = [0, hourMs / 2, hourMs / 2, hourMs / 2, hourMs / 2].map(pass);
        assert.deepEqual(counts, [0, 0, 1, 1, 2]);
        const words = isNamed ? /because [\w.]+ \(process \d+\) has kept/ : /because a reader/;
        for (const note of notes) assert.match(note, words);
        reader.kill();
        await reader.gone;
        assert.deepEqual([0, hourMs, hourMs].map(pass), [2, 2, 2]);
        assert.equal(statSync(`${file.path}-wal`).size, 0);
      });
      database.close();
    }));

  it("is named when the database was rescued", () =>
    inDirectory(async (path) => {
      const messages: string[] = [];
      const report = (level: string, message: string) => messages.push(`${level} ${message}`);
      const metrics = new Metrics();
      const store = await openSqlite({ path, report, metrics });
      const rescues = () =>
        metrics.read().find(({ name }) => name === "restante_database_rescues_total")?.samples[0]
          ?.value;
      assert.equal(rescues(), 0);
      await store.commit([create("things")]);
      await mkdir(join(path, ".restante.db-litestream"));
      await rm(join(path, "restante.db-shm"));
      await store.commit([create("others")]).catch(() => 0);
      while ((await store.ready()) !== undefined) await new Promise((go) => setTimeout(go, 20));
      await store.close();
      assert.equal(rescues(), 1);
      assert.match(messages.at(-1) ?? "", /^error Litestream.*old file.*restart it/);
    }));
});
