// Data folders with one set of tables per collection are migrated at start, with all that is in them.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { Connection } from "../../../src/store/sqlite/connection.ts";
import { prepareFile } from "../../../src/store/sqlite/file.ts";
import { upgradeOld } from "../../../src/store/sqlite/old-schema.ts";
import { schemaVersion as newestVersion } from "../../../src/store/sqlite/schema.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite.ts";
import type { Change, Outcome, Put, Remove, Store } from "../../../src/store/store.ts";
import { newSeed, randomNumbers, runs, within } from "../../seeds.ts";
import { all, doneIn, feedSince, kinds, once, put } from "../contract/change-helpers.ts";
import { ask, by, is, wordsLike } from "../contract/query-helpers.ts";
import { assertRepeatable, oldKeysOf } from "../old-keys.ts";
import { inDirectory, mountSmall, startChild } from "./test-directory.ts";

async function inOldFolder(version: number, test: (path: string) => Promise<void>): Promise<void> {
  await inDirectory(async (path) => {
    const dump = new URL(`./version-${version}.sql`, import.meta.url);
    const database = new DatabaseSync(join(path, "restante.db"));
    database.exec(await readFile(dump, "utf8"));
    database.close();
    await test(path);
  });
}

async function withOldStore(version: number, test: (store: Store) => Promise<void>): Promise<void> {
  await inOldFolder(version, async (path) => {
    const store = await openSqlite({ path });
    await test(store);
    await store.close();
  });
}

const at = 1_700_000_050_000;

/** Repeats a request of the fixture, as a client does that has not got its response. */
async function repeat(store: Store, key: string, ...changes: (Put | Remove)[]): Promise<Outcome> {
  const options = { owner: "token-1", fingerprint: `request ${key}`, at, expiresAt: at + 1 };
  const [outcome] = await store.commit([all(changes, once(key, options))]);
  assert.ok(outcome);
  return outcome;
}

const putIn = (collection: string, id: string): Put => put(id, { collection });

for (const version of [4, 6])
  describe(`a database of version ${version}`, () => {
    it("keeps collections, resources and their order", () =>
      withOldStore(version, async (store) => {
        const collections = await store.collections();
        assert.deepEqual(
          collections.map(({ name, revision, total }) => [name, revision, total]),
          [
            ["books", 10, 6],
            ["empty", 1, 0],
            ["plain", 25, 12],
          ],
        );
        const range = { offset: 0, limit: 100, order: "created" } as const;
        const plain = (await store.slice("plain", range))?.resources.map(({ id }) => id);
        const left = ["id-2", "id-3", "id-4", "id-6", "id-7", "id-8", "id-9", "id-10"];
        assert.deepEqual(plain, [...left, "id-5", "with-key", "both", "last"]);
        for (let offset = 0; offset < 12; offset++) {
          const page = await store.slice("plain", { offset, limit: 1, order: "-created" });
          assert.equal(page?.resources[0]?.id, plain?.at(-1 - offset));
        }
        const { sharesDate: _, ...resource } = (await store.find("plain", "id-3")) ?? {};
        const times = { createdAt: 1_700_000_002_100, updatedAt: 1_700_000_002_100 };
        const fields = '{"n":3,"text":"tëxt ☃ 3"}';
        assert.deepEqual(resource, { id: "id-3", revision: 5, ...times, fields });
        assert.equal((await store.rules("plain"))?.version, 0);
        assert.equal((await store.rules("books"))?.version, 6);
      }));

    it("keeps indexes, unique values, search words, owners and files", () =>
      withOldStore(version, async (store) => {
        const ids = async (query: Parameters<typeof ask>[0]) => {
          const result = await store.query("books", ask(query));
          assert.ok(result);
          return result.resources.map(({ id }) => id);
        };
        const year = by("year", "number", true);
        assert.deepEqual(await ids({ conditions: [is("year", "number", 1940)] }), [
          "book-0",
          "book-2",
        ]);
        assert.deepEqual(await ids({ sortings: [year], limit: 2 }), ["book-6", "book-4"]);
        assert.deepEqual(await ids({ conditions: [is("", "text", "ann")] }), ["book-3", "book-4"]);
        assert.deepEqual(await ids({ words: wordsLike("dark*") }), ["book-2", "book-3", "book-0"]);
        const taken = { ...put("new", { fields: '{"isbn":"isbn-2"}' }), collection: "books" };
        const [outcome] = await store.commit([taken]);
        assert.deepEqual(outcome, { kind: "conflict", field: "isbn" });
        const referenced = await store.findReferencedFiles(["file-1", "file-2", "file-3"]);
        assert.deepEqual([...referenced].sort(), ["file-1", "file-3"]);
      }));

    it("keeps tokens", () =>
      withOldStore(version, async (store) => {
        const scopes = ["*:read", "books:create"];
        const token = (number: number) => ({
          id: `token-${number}`,
          hash: `hash of token-${number}`,
          name: `name of token-${number}`,
          subject: version === 4 ? `token-${number}` : `subject of token-${number}`,
          scopes,
          roles: [],
          createdAt: 1_690_000_000_000,
        });
        assert.deepEqual(await store.tokens(), [
          { ...token(1), expiresAt: null, usedAt: 1_700_000_400_000, revokedAt: null },
          {
            ...token(2),
            ...{ expiresAt: 1_800_000_000_000, usedAt: null, revokedAt: 1_700_000_300_000 },
          },
        ]);
      }));

    it("keeps Idempotency-Keys", () =>
      withOldStore(version, async (store) => {
        const created = await repeat(store, "created", putIn("plain", "other"));
        assert.deepEqual(kinds(doneIn(created, true)), ["created"]);
        const both = [putIn("plain", "one"), putIn("books", "two")];
        for (const changes of [both, both.toReversed()])
          assert.deepEqual(kinds(doneIn(await repeat(store, "both", ...changes), true)), [
            "created",
            "created",
          ]);
        const deleted = await repeat(store, "deleted", putIn("plain", "other"));
        assert.equal(deleted.kind, "gone");
        const removal: Remove = {
          ...{ kind: "remove", collection: "plain", id: "id-9", at, expect: "anything" },
        };
        assert.deepEqual(kinds(doneIn(await repeat(store, "removed", removal), true)), ["removed"]);
        assert.equal((await store.collection("plain"))?.total, 12);
      }));

    it("keeps the feed, and accepts new writes", () =>
      withOldStore(version, async (store) => {
        const feed = await feedSince(store, 13, 100, "plain");
        assert.deepEqual(
          feed?.entries.map(({ id, ...entry }) => ("kind" in entry ? `-${id}` : id)),
          [
            ...["-id-0", "-id-11", "id-5", "id-7", "with-key", "both", "-id-1", "id-2"],
            ...["-deleted-later", "last"],
          ],
        );
        const changes: readonly Change[] = [
          { kind: "remove", collection: "plain", id: "id-6", at, expect: "anything" },
          putIn("plain", "id-0"),
          putIn("plain", "new"),
        ];
        assert.deepEqual(kinds(await store.commit(changes)), ["removed", "created", "created"]);
        assert.equal((await store.collection("plain"))?.revision, 28);
        const range = { offset: 3, limit: 1, order: "created" } as const;
        assert.equal((await store.slice("plain", range))?.resources[0]?.id, "id-7");
        assert.equal((await store.find("plain", "id-0"))?.createdAt, 1_700_000_100_000);
      }));
  });

describe("a database of version 4", () => {
  it("repeats no batch over several collections, whatever else it did, and whoever sent it", () =>
    inOldFolder(4, async (path) => {
      const database = new DatabaseSync(join(path, "restante.db"));
      const insert = database.prepare("INSERT INTO once VALUES (?, ?, ?, ?, ?)");
      const resources = [
        { collection: "plain", id: "id-3", createdAt: 1_700_000_002_100 },
        { collection: "books", id: "book-3", createdAt: 1_700_000_000_000 },
      ];
      for (const { owner, key, fingerprint, outcomes } of oldKeysOf(resources))
        insert.run(owner, key, fingerprint, at, outcomes);
      database.close();
      const store = await openSqlite({ path });
      await assertRepeatable(store, resources);
      await store.close();
    }));
});

describe("a database of version 6", () => {
  it("keeps the positions that clients have", () =>
    withOldStore(6, async (store) => {
      const since = async (epoch: number, revision: number) => {
        const name = `2.${epoch.toString(36)}`;
        const feed = await store.since("plain", { epoch: name, revision, time: 0 }, { limit: 100 });
        return typeof feed !== "object" ? feed : feed?.entries.length;
      };
      // The two epochs of the fixture; the first ended with revision 24.
      assert.equal(await since(563_446_569, 23), 2);
      assert.equal(await since(536_056_759, 23), 2);
      assert.equal(await since(536_056_759, 25), "gone");
      await store.commit([putIn("plain", "new")]);
      assert.equal(await since(563_446_569, 23), 3);
      assert.equal(await since(563_446_569, 26), "gone");
    }));

  it("reports a damaged row as before, and returns the others", () =>
    inOldFolder(6, async (path) => {
      const database = new DatabaseSync(join(path, "restante.db"));
      database.exec(`UPDATE resources_4 SET fields = '{"isbn":' WHERE id = 'book-2'`);
      database.close();
      const store = await openSqlite({ path });
      await assert.rejects(async () => store.find("books", "book-2"), /"book-2" .* is damaged/);
      assert.equal((await store.find("books", "book-3"))?.id, "book-3");
      await store.close();
    }));
});

/** An old database with one collection of this many resources, of which every third is removed. */
function makeOld(path: string, count: number, bytes: number): void {
  const connection = new Connection(prepareFile(path).path, "write");
  connection.transact(() => upgradeOld(connection));
  const kept = count - Math.floor(count / 3);
  connection.run(`
    CREATE TABLE resources_1 (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
      revision INTEGER NOT NULL UNIQUE, created INTEGER NOT NULL, updated INTEGER NOT NULL,
      fields TEXT NOT NULL, owner TEXT, parts TEXT,
      shares_date INTEGER NOT NULL DEFAULT 1, checksum INTEGER) STRICT;
    CREATE TABLE removed_1 (revision INTEGER PRIMARY KEY, id TEXT NOT NULL, at INTEGER NOT NULL) STRICT;
    INSERT INTO collections (key, name, revision, seq, total, created, updated, batch)
      VALUES (1, 'things', ${2 * count}, ${count}, ${kept}, 1, 2, 1);
    INSERT INTO definitions VALUES (1, 1, '{"indexed":["n"],"searchable":["text"]}');
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})
    INSERT INTO resources_1 (seq, id, revision, created, updated, fields)
      SELECT n, 'id-' || n, n, 1, 2,
        json_object('n', n, 'text', 'word' || n || ' common ' || hex(zeroblob(${bytes / 2})))
      FROM numbers;
    INSERT INTO removed_1 SELECT ${count} + seq, id, 3 FROM resources_1 WHERE seq % 3 = 0;
    DELETE FROM resources_1 WHERE seq % 3 = 0;
  `);
  connection.close();
}

const schemaVersion = (path: string): unknown => {
  const connection = new Connection(join(path, "restante.db"), "read");
  const version = connection.query("PRAGMA user_version").one()?.[0];
  connection.close();
  return version;
};

describe("a migration", () => {
  it("that is killed at any moment is completed by a later start", within(120_000), () =>
    inDirectory(async (path) => {
      const random = randomNumbers(newSeed("killed migration"));
      const count = 6_000;
      for (let run = 0; run < runs(1, 20); run++) {
        const folder = join(path, `${run}`);
        makeOld(folder, count, 100);
        let killed = 0;
        for (;;) {
          const child = startChild("open-old", folder);
          child.onLine((line) => {
            if (line.startsWith("migrating") && killed < runs(3, 6))
              setTimeout(() => child.kill(), random() * 300);
          });
          if ((await child.gone) === 0) break;
          killed++;
        }
        assert.ok(killed > 0, "no child was killed in time");
        assert.equal(schemaVersion(folder), newestVersion);
        const store = await openSqlite({ path: folder });
        const slice = await store.slice("things", { offset: 0, limit: count, order: "created" });
        assert.equal(slice?.resources.length, (2 * count) / 3);
        assert.equal((await feedSince(store, 0, 2 * count))?.entries.length, count);
        const page = await store.slice("things", { offset: 1_000, limit: 1, order: "created" });
        assert.equal(page?.resources[0]?.id, "id-1501");
        const found = await store.query("things", ask({ words: wordsLike("word1501 common") }));
        assert.ok(found);
        assert.deepEqual(
          found.resources.map(({ id }) => id),
          ["id-1501"],
        );
        await store.close();
        const names = ["restante.commits", "restante.db", "restante.former-6.db"];
        assert.deepEqual((await readdir(folder)).sort(), names);
      }
    }),
  );

  it("writes a file that can shrink", () =>
    inOldFolder(6, async (path) => {
      await (await openSqlite({ path })).close();
      const connection = new Connection(join(path, "restante.db"), "read");
      assert.equal(connection.query("PRAGMA auto_vacuum").one()?.[0], 2);
      assert.equal(connection.query("PRAGMA integrity_check").one()?.[0], "ok");
      connection.close();
    }));

  it("says how much space it needs before it begins, and keeps the old file", (context) =>
    inDirectory(async (path) => {
      const reason = mountSmall(path);
      if (reason) return context.skip(reason);
      try {
        makeOld(path, 120, 4_000);
        await writeFile(join(path, "ballast"), new Uint8Array(2.5 * 1024 * 1024));
        await assert.rejects(
          openSqlite({ path }),
          /needs \d+ bytes, but only \d+ are free: free up/,
        );
        assert.equal(schemaVersion(path), 6);
        execFileSync("rm", [join(path, "ballast")]);
        const store = await openSqlite({ path });
        assert.equal((await store.collection("things"))?.total, 80);
        await store.close();
      } finally {
        execFileSync("umount", [path]);
      }
    }));
});
