// Totals that are kept while a collection stays the same: they are not counted again, never outdated, and not too many.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { above, equalTo, keyOf } from "../../../src/model/query/sort-key.ts";
import { countLimits } from "../../../src/store/postgres/known-counts.ts";
import type { Store } from "../../../src/store/store.ts";
import { lowerLimit } from "../../lower-limit.ts";
import { define } from "../contract/change-helpers.ts";
import { answerTo, ask, by, putJson, where, wordsLike } from "../contract/query-helpers.ts";
import { TestDatabases } from "./test-databases.ts";

const databases = new TestDatabases();
const definition = JSON.stringify({
  schema: { properties: { n: { type: "number" }, text: { type: "string" } } },
  ...{ indexed: ["n"], searchable: ["text"] },
});

/** Enough for a total that is kept. */
const many = lowerLimit(countLimits, "minCount", 10, 10_000);
const maxCounts = lowerLimit(countLimits, "maxCounts", 5, 1_000);
const maxNameLength = lowerLimit(countLimits, "maxNameLength", 300, 1_000);

/** Counts what is above a number; other numbers are other queries. */
const inOrder = (number: number) =>
  ask({
    conditions: [where("n", "number", above(keyOf("number", number)))],
    sortings: [by("n", "number")],
  });
const search = ask({ words: wordsLike("w*") });

/** `addRows` adds rows of resources that do not exist, which are only counted. The collection does not know of them. */
type Act = (store: Store, addRows: (count: number) => Promise<void>) => Promise<void>;

const inCollection = (act: Act) =>
  databases.in(async ({ open, admin }) => {
    const store = await open();
    await store.commit([define(definition), putJson("a", { n: 1, text: "w" })]);
    let next = 1_000;
    await act(store, (count) =>
      admin(async (sql) => {
        const seqs = `FROM generate_series(${next}, ${next + count - 1}) AS added`;
        next += count;
        await sql.unsafe(`INSERT INTO words (part, word, rank, seq)
          SELECT part, 'w*', -1, added ${seqs}, heads`);
        await sql.unsafe(`INSERT INTO entries (part, field, key, seq)
          SELECT part, 'n', '${keyOf("number", 2)}', added ${seqs}, heads`);
      }),
    );
  });

const totalOf = async (store: Store, query: ReturnType<typeof ask>) =>
  (await answerTo(store, query)).total;

describe("totals of a search and of an index", () => {
  it("are counted again after a change", () =>
    inCollection(async (store, addRows) => {
      const totals = (isCounted = true) =>
        Promise.all([search, inOrder(0)].map((query) => totalOf(store, { ...query, isCounted })));
      await addRows(many);
      assert.deepEqual(await totals(), [many + 1, many + 1]);
      await addRows(many);
      assert.deepEqual(await totals(), [many + 1, many + 1]);
      assert.deepEqual(await totals(false), [undefined, undefined]);
      await store.commit([putJson("b", { n: 3, text: "w" })]);
      assert.deepEqual(await totals(), [2 * many + 2, 2 * many + 2]);
    }));

  it("are kept only when they are large", () =>
    inCollection(async (store, addRows) => {
      const [small, large] = [many - 1, many];
      await addRows(small - 1);
      assert.equal(await totalOf(store, inOrder(0)), small);
      await addRows(1);
      assert.equal(await totalOf(store, inOrder(0)), large);
      await addRows(1);
      assert.equal(await totalOf(store, inOrder(0)), large);
    }));

  it("are forgotten when there are more than the limit", () =>
    inCollection(async (store, addRows) => {
      await addRows(many);
      for (let other = 0; other <= maxCounts; other++)
        assert.equal(await totalOf(store, inOrder(-other)), many + 1);
      await addRows(1);
      assert.equal(await totalOf(store, inOrder(0)), many + 2);
      assert.equal(await totalOf(store, inOrder(-maxCounts)), many + 1);
    }));

  it("are not kept for a query that is too long", () =>
    inCollection(async (store, addRows) => {
      await addRows(many);
      // The name of each number has over 20 characters.
      const numbers = Array.from({ length: maxNameLength / 20 }, (_, index) => index);
      const spans = numbers.map((number) => equalTo(keyOf("number", number)));
      const conditions = [where("n", "number", ...spans)];
      const long = ask({ conditions, sortings: [by("n", "number")] });
      assert.equal(await totalOf(store, long), many + 1);
      await addRows(1);
      assert.equal(await totalOf(store, long), many + 2);
    }));
});
