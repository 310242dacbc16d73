// Search words that very many resources contain: ranking is limited.

import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { it } from "node:test";
import type { Query } from "../../../src/model/query/query.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite.ts";
import type { Change } from "../../../src/store/store.ts";
import { inDirectory } from "./test-directory.ts";

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

it("words are ranked up to ten times as many as are checked one by one", () =>
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

it("words that were stored before their field was hidden are not found", () =>
  inDirectory(async (path) => {
    const store = await openSqlite({ path });
    const properties = { name: { type: "string" }, pin: { type: "string", writeOnly: true } };
    const definition = JSON.stringify({
      schema: { properties: { card: { properties } } },
      searchable: ["card"],
    });
    const fields = JSON.stringify({ card: { name: "open", pin: "secret" } });
    await store.commit([{ kind: "define", collection: "cards", definition, at: 1 }]);
    await store.commit([
      { kind: "put", collection: "cards", id: "a", fields, at: 2, expect: "nothing" },
    ]);
    // As version 0.1.0 has stored them.
    const other = new DatabaseSync(join(path, "restante.db"));
    other.exec("INSERT INTO words SELECT part, 'secret', 1, 1000 FROM collections");
    other.close();
    const idsFor = async (text: string) => {
      const answer = await store.query("cards", asked(text));
      assert.ok(answer?.kind === "found");
      return [answer.total, ...answer.resources.map(({ id }) => id)];
    };
    assert.deepEqual(await idsFor("open"), [1, "a"]);
    assert.deepEqual(await idsFor("secret"), [0]);
    await store.close();
  }));
