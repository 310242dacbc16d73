// Totals that are kept while a collection stays the same: they are not counted again, and never outdated.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { above, keyOf } from "../../../src/model/query/sort-key.ts";
import { define } from "../contract/change-helpers.ts";
import { answerTo, ask, by, keep, where, wordsLike } from "../contract/query-helpers.ts";
import { TestDatabases } from "./test-databases.ts";

const databases = new TestDatabases();
const definition = JSON.stringify({
  schema: { properties: { n: { type: "number" }, text: { type: "string" } } },
  ...{ indexed: ["n"], searchable: ["text"] },
});

/** Enough for a total that is kept. */
const many = 10_000;
/** Rows of resources that do not exist, which are only counted. */
const seqs = (first: number) => `FROM generate_series(${first}, ${first + many - 1}) AS added`;
const firstKey = keyOf("number", 0);

const search = ask({ words: wordsLike("w*") });
const inOrder = ask({
  conditions: [where("n", "number", above(firstKey))],
  sortings: [by("n", "number")],
});

describe("totals of a search and of an index", () => {
  it("are counted again after a change", () =>
    databases.in(async ({ open, admin }) => {
      const store = await open();
      await store.commit([define(definition), keep("a", { n: 1, text: "w" })]);
      const totals = async (isCounted = true) => [
        (await answerTo(store, { ...search, isCounted })).total,
        (await answerTo(store, { ...inOrder, isCounted })).total,
      ];
      const addRows = (first: number) =>
        admin(async (sql) => {
          await sql.unsafe(`INSERT INTO words (part, word, rank, seq)
            SELECT part, 'w*', -1, added ${seqs(first)}, heads`);
          await sql.unsafe(`INSERT INTO entries (part, field, key, seq)
            SELECT part, 'n', '${keyOf("number", 2)}', added ${seqs(first)}, heads`);
        });
      await addRows(1_000);
      assert.deepEqual(await totals(), [many + 1, many + 1]);
      // The collection stays the same, as far as it knows.
      await addRows(100_000);
      assert.deepEqual(await totals(), [many + 1, many + 1]);
      assert.deepEqual(await totals(false), [undefined, undefined]);
      await store.commit([keep("b", { n: 3, text: "w" })]);
      assert.deepEqual(await totals(), [2 * many + 2, 2 * many + 2]);
    }));
});
