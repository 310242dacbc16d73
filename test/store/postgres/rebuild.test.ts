// Definitions and drops that change all of a collection, and nodes with outdated rules meanwhile.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { Outage } from "../../../src/model/outage.ts";
import { keyOf } from "../../../src/model/query/sort-key.ts";
import { checksumOf } from "../../../src/store/core/stored-resource.ts";
import type { Store } from "../../../src/store/store.ts";
import { create, define, idsFrom, kinds, put, remove, token } from "../contract/change-helpers.ts";
import {
  answerTo,
  ask,
  assertFinds,
  by,
  idsFor,
  is,
  putJson,
  wordsLike,
} from "../contract/query-helpers.ts";
import { type TestDatabase, TestDatabases, until } from "./test-databases.ts";

const databases = new TestDatabases();

/** How many rows each table has. */
const countsIn = (testDatabase: TestDatabase): Promise<Readonly<Record<string, number>>> =>
  testDatabase.admin(async (sql) => {
    const [row] = await sql`
      SELECT (SELECT count(*)::int FROM collections) AS collections,
        (SELECT count(*)::int FROM resources) AS resources,
        (SELECT count(*)::int FROM entries) AS entries,
        (SELECT count(*)::int FROM words) AS words,
        (SELECT count(*)::int FROM positions) AS positions`;
    return { ...row };
  });

/** Inserts resources directly into the table, each with a different value, in the order of their values. */
const fill = (testDatabase: TestDatabase, count: number): Promise<unknown> =>
  testDatabase.admin(async (sql) => {
    const seqs = Array.from({ length: count }, (_, index) => index + 1);
    const fields = seqs.map((n) => `{"v":"${String(n).padStart(6, "0")}","t":"some words"}`);
    const checksums = seqs.map((n, index) =>
      checksumOf([`id-${n}`, n + 1, 5, 5, fields[index] ?? "", null, null, 0]),
    );
    await sql`
      INSERT INTO resources
        (part, id, seq, revision, created, updated, fields, shares_date, checksum)
      SELECT part, 'id-' || n, n, n + 1, 5, 5, f, 0, c
      FROM collections, unnest(${seqs}::bigint[], ${fields}::text[], ${checksums}::bigint[])
        AS next (n, f, c)`;
    await sql`UPDATE heads SET seq = ${count}, total = ${count}, revision = ${count + 1}`;
  });

const rules = JSON.stringify({
  schema: { properties: { v: { type: "string" } } },
  unique: ["v"],
  searchable: ["t"],
});
const noRows = { collections: 0, resources: 0, entries: 0, words: 0, positions: 0 };

describe("a large collection", () => {
  it("is indexed, checked and dropped in short steps", () =>
    databases.in(async (testDatabase) => {
      const store = await testDatabase.open();
      const count = 5_500;
      await store.commit([create()]);
      await fill(testDatabase, count);
      // The same value as the next one, which the next step of the check begins with.
      await store.commit([putJson("id-5000", { v: "005001" })]);
      await store.commit([define(rules)]);
      await until(async () => (await store.indexBuild("things"))?.isRunning === false);
      const clash = { index: "v", ids: ["id-5000", "id-5001"] };
      assert.deepEqual((await store.indexBuild("things"))?.clashes, [clash]);
      const { unique: indexed, ...others } = JSON.parse(rules);
      const left = (await store.rules("things"))?.definition ?? "";
      assert.deepEqual(JSON.parse(left), { ...others, indexed });
      // The rows of the indexes that are not needed are deleted later.
      await store.commit([define("{}")]);
      await until(async () => {
        const { entries, words } = await countsIn(testDatabase);
        return entries === 0 && words === 0;
      });
      await store.commit([putJson("id-5000", { v: "again" })]);
      assert.deepEqual(kinds(await store.commit([define(rules)])), ["done"]);
      await until(async () => (await store.indexBuild("things")) === undefined);
      const counts = await countsIn(testDatabase);
      // Two words, each with two prefixes.
      assert.deepEqual([counts.entries, counts.words], [count, 6 * (count - 1)]);
      await assertFinds(store, ["id-5000"], { conditions: [is("v", "text", "again")] });
      const sortings = [by("v", "text", true)];
      const { resources } = await answerTo(store, ask({ sortings, start: 5_000, limit: 1 }));
      assert.equal(resources[0]?.id, "id-500");
      assert.equal(
        (await answerTo(store, ask({ words: wordsLike("so*"), limit: 1 }))).total,
        count - 1,
      );
      await store.commit(
        idsFrom(600)
          .slice(1)
          .map((id) => remove(id)),
      );
      const drop = { kind: "drop", collection: "things", isEmptyOnly: false } as const;
      assert.deepEqual(await store.commit([drop]), [{ kind: "done" }]);
      assert.deepEqual(await store.collections(), []);
      assert.equal(
        await store.slice("things", { offset: 0, limit: 1, order: "created" }),
        undefined,
      );
      await until(async () => isDeepStrictEqual(await countsIn(testDatabase), noRows));
    }));

  it("of large resources is indexed a few at a time", () =>
    databases.in(async (testDatabase) => {
      const store = await testDatabase.open();
      const text = "x".repeat(1_000_000);
      const ids = idsFrom(12);
      await store.commit([create()]);
      for (const id of ids) await store.commit([putJson(id, { text, id })]);
      await store.commit([define('{"unique":["id"],"indexed":["text"]}')]);
      await until(async () => (await store.indexBuild("things")) === undefined);
      assert.equal((await countsIn(testDatabase)).entries, 24);
      await assertFinds(store, ids, { conditions: [is("text", "any", text)] }, { limits: [7] });
    }));

  it("loses index entries that a plan no longer needs", () =>
    databases.in(async (testDatabase) => {
      const store = await testDatabase.open();
      await store.commit([
        define(rules),
        putJson("a", { v: "x", t: "y" }),
        putJson("b", {}),
        create("c"),
      ]);
      assert.deepEqual(await countsIn(testDatabase), {
        ...{ collections: 2, resources: 2, entries: 2, words: 2, positions: 0 },
      });
      await store.commit([define("{}")]);
      const { entries, words } = await countsIn(testDatabase);
      assert.deepEqual([entries, words], [0, 0]);
      await store.commit([putJson("a", { v: "z", t: "z" }), remove("b")]);
      assert.equal((await countsIn(testDatabase)).entries, 0);
    }));
});

describe("search words", () => {
  it("are found in texts of any size", () =>
    databases.in(async (testDatabase) => {
      const store = await testDatabase.open();
      const many = Array.from({ length: 300_000 }, (_, index) => `w${index}`).join(" ");
      const long = "é".repeat(5_000);
      await store.commit([
        define('{"searchable":["t"]}'),
        putJson("many", { t: many }),
        putJson("long", { t: `before ${long} after` }),
        putJson("same", { t: "again ".repeat(100_000) }),
      ]);
      assert.equal(await idsFor(store, { words: wordsLike("w7 w9000") }), "many");
      assert.equal(await idsFor(store, { words: wordsLike("before after") }), "long");
      assert.equal(await idsFor(store, { words: wordsLike("e".repeat(5_000)) }), "long");
      assert.equal(await idsFor(store, { words: wordsLike("again") }), "same");
    }));

  it("of other collections are not found", () =>
    databases.in(async (testDatabase) => {
      const store = await testDatabase.open();
      const names = idsFrom(12, "collection");
      for (const collection of names)
        await store.commit([
          define('{"searchable":["t"]}', collection),
          putJson(`in-${collection}`, { t: "word 1 2 11" }, { collection }),
        ]);
      for (const collection of names)
        for (const words of ["word", "1", "1*", "wo* 2"])
          assert.equal(
            await idsFor(store, { words: wordsLike(words) }, collection),
            `in-${collection}`,
          );
    }));
});

/** Two nodes with a long cache: only a notification or a conflict makes them reload. */
async function twoNodes(testDatabase: TestDatabase): Promise<readonly [Store, Store]> {
  const options = { cacheMs: 1_000_000 };
  return [await testDatabase.open(options), await testDatabase.open(options)];
}

describe("several nodes", () => {
  it("write by the current rules, whatever they have cached", () =>
    databases.in(async (testDatabase) => {
      const [one, other] = await twoNodes(testDatabase);
      await one.commit([define('{"indexed":["n"]}'), putJson("a", { n: 1, m: 1 })]);
      await other.commit([putJson("b", { n: 1, m: 2 })]);
      for (const [definition, fields, kind] of [
        ['{"unique":["m"]}', { m: 1 }, "conflict"],
        ['{"indexed":["n"],"searchable":["m"]}', { m: 1, n: 2 }, "created"],
        ["{}", { m: 1, n: 3 }, "created"],
        ['{"unique":["n"]}', { n: 4 }, "conflict"],
      ] as const) {
        await one.commit([remove("c"), putJson("b", { n: 4, m: 2 }), define(definition)]);
        assert.deepEqual(kinds(await other.commit([putJson("c", fields)])), [kind]);
      }
      assert.deepEqual(
        kinds(await one.commit([{ kind: "drop", collection: "things", isEmptyOnly: false }])),
        ["done"],
      );
      await one.commit([define('{"unique":["x"]}'), putJson("a", { x: 1 })]);
      assert.deepEqual(kinds(await other.commit([putJson("b", { x: 1 })])), ["conflict"]);
    }));

  it("answer by the current rules, whatever they have cached", () =>
    databases.in(async (testDatabase) => {
      const [one, other] = await twoNodes(testDatabase);
      await one.commit([create(), ...idsFrom(5).map((id, n) => putJson(id, { n, t: id }))]);
      for (let round = 0; round < 20; round++) {
        const definition = [{ indexed: ["n"] }, {}, { searchable: ["t"] }][round % 3];
        await one.commit([define(JSON.stringify({ ...definition, round }))]);
        const conditions = [is("n", "any", 3)];
        const answer = await answerTo(other, ask({ conditions }));
        assert.deepEqual(
          answer.resources.map(({ id }) => id),
          ["id-3"],
        );
        assert.deepEqual(answer.collection, await one.collection("things"));
      }
    }));

  it("do not confuse a version that was rolled back with another", () =>
    databases.in(async (testDatabase) => {
      const one = await testDatabase.open({ deadlineMs: 3_000, extraMs: 600_000 });
      const other = await testDatabase.open();
      await one.commit([create(), { kind: "create-token", token: token("t") }]);
      await testDatabase.admin(async (sql) => {
        await sql`BEGIN`;
        await sql`SELECT FROM tokens FOR UPDATE`;
        const revoke = { kind: "revoke-token", id: "t", at: 9 } as const;
        const late = one.commit([define('{"indexed":["a"]}'), put("x"), revoke]);
        await assert.rejects(late, (error) => error instanceof Outage && error.reason === "busy");
        await sql`ROLLBACK`;
      });
      await other.commit([define('{"unique":["b"]}')]);
      const outcomes = await one.commit([putJson("x", { b: 1 }), putJson("y", { b: 1 })]);
      assert.deepEqual(kinds(outcomes), ["created", "conflict"]);
      assert.equal(
        keyOf("any", 1),
        (await testDatabase.admin((sql) => sql`SELECT key FROM entries`))[0]?.key,
      );
    }));

  it("create and drop the same collection at once, and lose nothing", () =>
    databases.in(async (testDatabase) => {
      const [one, other] = await twoNodes(testDatabase);
      for (const id of idsFrom(40)) {
        const drop = { kind: "drop", collection: "things", isEmptyOnly: false } as const;
        const [, made] = await Promise.all([one.commit([drop]), other.commit([create(), put(id)])]);
        assert.equal(made[0]?.kind, "done");
        assert.equal(made[1]?.kind, "created");
      }
      const collections = await one.collections();
      const left = await one.slice("things", { offset: 0, limit: 100, order: "created" });
      assert.equal(collections[0]?.total ?? 0, left?.resources.length ?? 0);
    }));
});
