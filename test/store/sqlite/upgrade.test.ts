// Databases of earlier versions with the same layout are upgraded at start.

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { openSqlite } from "../../../src/store/sqlite/sqlite.ts";
import { itLong } from "../../short-run.ts";
import { all, doneIn, feedSince, kinds, once, put, token } from "../contract/change-helpers.ts";
import { ask, is, wordsLike } from "../contract/query-helpers.ts";
import { inDirectory, startChild } from "./test-directory.ts";

async function inOldFolder(test: (path: string) => Promise<void>): Promise<void> {
  await inDirectory(async (path) => {
    const dump = new URL("./version-7.sql", import.meta.url);
    const database = new DatabaseSync(join(path, "restante.db"));
    database.exec(await readFile(dump, "utf8"));
    database.close();
    await test(path);
  });
}

/** Everything that the tables are made of. */
function structureOf(path: string): unknown {
  const database = new DatabaseSync(join(path, "restante.db"));
  const structure = database
    .prepare(
      `SELECT m.type, m.name, i.name AS item, coalesce(c.name, k.name) AS column, c.type AS kind,
         c."notnull", c.dflt_value, c.pk, i."unique"
       FROM sqlite_schema AS m
       LEFT JOIN pragma_table_info(m.name) AS c LEFT JOIN pragma_index_list(m.name) AS i
       LEFT JOIN pragma_index_info(i.name) AS k ORDER BY 2, c.cid, 3, k.seqno`,
    )
    .all();
  const version = database.prepare("PRAGMA user_version").get();
  database.close();
  return { structure, version };
}

const sizes = (path: string): unknown => {
  const database = new DatabaseSync(join(path, "restante.db"));
  const found = database.prepare("SELECT name, bytes FROM collections JOIN heads USING (part)");
  const bytes = Object.fromEntries(found.all().map((row) => [row.name, row.bytes]));
  database.close();
  return bytes;
};

describe("a database of version 7", () => {
  it("has the tables of a new one afterwards, and reports the progress", () =>
    inOldFolder(async (path) => {
      const messages: string[] = [];
      await (await openSqlite({ path, report: (_, message) => messages.push(message) })).close();
      const steps = [8, 9, 10, 11, 12, 13, 14].map(
        (version) => `migrating the database to version ${version}: ${version === 9 ? 46 : 0} %`,
      );
      const kept = "restante.former-7.db is the previous one, kept until the next start";
      assert.deepEqual(messages, [
        ...["copying the database: 100 %", ...steps],
        `the database is migrated; ${kept}`,
      ]);
      await inDirectory(async (fresh) => {
        await (await openSqlite({ path: fresh })).close();
        assert.deepEqual(structureOf(path), structureOf(fresh));
      });
      assert.deepEqual(sizes(path), { books: 406, plain: 183 });
    }));

  it("counts the files that are stored, also beside a damaged list", () =>
    inOldFolder(async (path) => {
      const database = new DatabaseSync(join(path, "restante.db"));
      const files = '[{"key":"k1","size":40},{"key":"k2","size":2}]';
      const change = database.prepare("UPDATE resources SET owner = ?, files = ? WHERE id = ?");
      assert.equal(change.run("ann", files, "id-5").changes, 1);
      assert.equal(change.run("bob", "[{", "id-4").changes, 1);
      for (const [key, id] of [
        ["k1", "id-5"],
        ["k2", "id-5"],
        ["k3", "id-4"],
      ] as const)
        database
          .prepare("INSERT INTO files SELECT part, ? FROM resources WHERE id = ?")
          .run(key, id);
      database.close();
      const store = await openSqlite({ path });
      const counted = ["ann", "bob", undefined].map((owner) => store.fileBytes(owner));
      assert.deepEqual(await Promise.all(counted), [42, 0, 42]);
      await store.close();
    }));

  it("keeps all data, and accepts new writes", () =>
    inOldFolder(async (path) => {
      const store = await openSqlite({ path });
      assert.equal((await store.collection("books"))?.total, 7);
      assert.equal((await store.find("plain", "id-5"))?.fields, '{"n":55}');
      const ids = async (query: Parameters<typeof ask>[0]) => {
        const result = await store.query("books", ask(query));
        assert.ok(result);
        return result.resources.map(({ id }) => id);
      };
      assert.deepEqual(await ids({ conditions: [is("year", "number", 1940)] }), [
        "book-0",
        "book-6",
      ]);
      assert.deepEqual(await ids({ words: wordsLike("title 4") }), ["book-4"]);
      assert.equal((await feedSince(store, 0, 100, "plain"))?.entries.length, 9);
      const options = { owner: "token-1", fingerprint: "request created", at: 1_700_000_000_100 };
      const retry = all(
        [put("other", { collection: "plain" })],
        once("created", { ...options, expiresAt: 1_700_000_001_000 }),
      );
      const [retried, created] = await store.commit([retry, put("new", { collection: "plain" })]);
      assert.ok(retried && created);
      assert.deepEqual(kinds(doneIn(retried, true)), ["created"]);
      assert.equal(created.kind, "created");
      await store.close();
    }));

  it("keeps its tokens, which have no roles, and stores those of new ones", () =>
    inOldFolder(async (path) => {
      const times = { createdAt: 1_700_000_000_000, expiresAt: null, revokedAt: null };
      const old = {
        ...{ id: "token-1", hash: "hash of token-1", name: "n", subject: "ann" },
        ...{ scopes: ["*:read"], roles: [], usedAt: null, ...times },
      };
      const added = token("token-2", { roles: ["editor"], createdAt: 1_800_000_000_000 });
      const store = await openSqlite({ path });
      assert.deepEqual(await store.tokens(), [old]);
      await store.commit([{ kind: "create-token", token: added }]);
      await store.close();
      const again = await openSqlite({ path });
      assert.deepEqual(await again.tokens(), [old, added]);
      assert.deepEqual(await again.token(added.hash), added);
      await again.close();
    }));

  it("is upgraded by a later start when the process is killed", { timeout: 120_000 }, () =>
    inOldFolder(async (path) => {
      const database = new DatabaseSync(join(path, "restante.db"));
      database.exec(`
        WITH RECURSIVE numbers (n) AS (SELECT 100 UNION ALL SELECT n + 1 FROM numbers WHERE n < 60000)
        INSERT INTO resources SELECT part, n, 'many-' || n, n, n, n, '{"n":1}', NULL, NULL, 0, 0
          FROM numbers, collections WHERE name = 'plain';
        UPDATE heads SET seq = 60000, revision = 60000, total = total + 59901 WHERE part =
          (SELECT part FROM collections WHERE name = 'plain')`);
      database.close();
      for (let lines = 1; lines <= 4; lines++) {
        const child = startChild("open-old", path);
        let seen = 0;
        child.onLine(() => {
          if (++seen === lines) child.kill();
        });
        await child.gone;
        const opened = new DatabaseSync(join(path, "restante.db"));
        const version = Number(opened.prepare("PRAGMA user_version").get()?.user_version);
        const indexes = opened
          .prepare("SELECT count(*) AS n FROM sqlite_schema WHERE name LIKE 'resources_by_%'")
          .get();
        opened.close();
        assert.equal(indexes?.n, version === 7 ? 0 : 2);
      }
      const store = await openSqlite({ path });
      assert.equal((await store.collection("plain"))?.total, 59_909);
      await store.close();
      assert.deepEqual(sizes(path), { books: 406, plain: 183 + 59_901 * 7 });
    }),
  );

  itLong(
    "gets new search words, also when the process is killed meanwhile",
    { timeout: 120_000 },
    () =>
      inOldFolder(async (path) => {
        const database = new DatabaseSync(join(path, "restante.db"));
        database.exec(`
        INSERT INTO words SELECT part, 'outdated', 1, 1000 FROM collections WHERE name = 'books';
        WITH RECURSIVE numbers (n) AS (SELECT 100 UNION ALL SELECT n + 1 FROM numbers WHERE n < 9999)
        INSERT INTO resources
          SELECT part, n, 'many-' || n, n, n, n, json_object('title', 'Many of ' || n), NULL, NULL, 0, 0
          FROM numbers, collections WHERE name = 'books';
        UPDATE heads SET seq = 9999, revision = 9999, total = total + 9900 WHERE part =
          (SELECT part FROM collections WHERE name = 'books')`);
        database.close();
        for (let round = 0; round < 2; round++) {
          const child = startChild("open-old", path);
          child.onLine((line) => {
            if (line.includes("version 9")) child.kill();
          });
          await child.gone;
        }
        const store = await openSqlite({ path });
        const totalOf = async (text: string) => {
          const found = await store.query("books", ask({ words: wordsLike(text), limit: 0 }));
          assert.ok(found);
          return found.total;
        };
        const texts = ["many", "ma*", "of", "title", "9999", "outdated"];
        const totals = await Promise.all(texts.map(totalOf));
        assert.deepEqual(totals, [9_900, 9_900, 9_907, 7, 1, 0]);
        await store.close();
        await inDirectory(async (fresh) => {
          await (await openSqlite({ path: fresh })).close();
          assert.deepEqual(structureOf(path), structureOf(fresh));
        });
      }),
  );

  it("is copied and then upgraded when its disk has failed", () =>
    inOldFolder(async (path) => {
      const mark = { reason: "test", since: "", batch: 12 };
      await writeFile(join(path, "restante.suspect"), JSON.stringify(mark));
      const store = await openSqlite({ path });
      assert.equal((await store.collection("books"))?.total, 7);
      assert.deepEqual(kinds(await store.commit([put("new", { collection: "plain" })])), [
        "created",
      ]);
      await store.close();
      assert.deepEqual(sizes(path), { books: 406, plain: 183 + 12 });
    }));

  it("is not opened by a process that only reads", () =>
    inOldFolder(async (path) => {
      const committer = {
        commit: () => Promise.reject(new Error()),
        erase: () => Promise.reject(new Error()),
        scrub: () => Promise.reject(new Error()),
        lastError: undefined,
        settled: () => Promise.resolve(),
        close: () => Promise.resolve(),
      };
      await assert.rejects(openSqlite({ path, committer }), /start the server once to migrate it/);
    }));
});
