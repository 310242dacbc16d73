// Words that very many have: ranking them would hold up everybody else.

import assert from "node:assert/strict";
import { it } from "node:test";
import type { Query } from "../../../src/model/list/query.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite.ts";
import type { Change } from "../../../src/store/store.ts";
import { inDirectory } from "./house.ts";

const asked = (text: string): Query => ({
  conditions: [],
  words: [{ text, isPrefix: false }],
  sortings: [],
  isNewestFirst: false,
  start: 0,
  limit: 2,
  isCounted: true,
});

const put = (number: number): Change => ({
  kind: "put",
  collection: "texts",
  id: `t${number}`,
  fields: JSON.stringify({ text: number <= 20 ? "often rarely" : "often" }),
  at: 10,
  expect: "nothing",
});

it("words are ranked up to ten times as many as are looked at one by one", () =>
  inDirectory(async (path) => {
    const store = await openSqlite({ path, maxCandidates: 2 });
    const definition = JSON.stringify({ searchable: ["text"] });
    await store.commit([{ kind: "define", collection: "texts", definition, at: 1 }]);
    await store.commit(Array.from({ length: 21 }, (_, index) => put(index + 1)));
    const rare = await store.query("texts", asked("rarely"));
    assert.ok(rare?.kind === "found");
    assert.deepEqual([rare.total, rare.resources.length], [20, 2]);
    assert.equal((await store.query("texts", asked("often")))?.kind, "broad");
    await store.close();
  }));
