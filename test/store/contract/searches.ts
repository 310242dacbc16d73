// Search: words in searchable fields, ordered by rank.

import assert from "node:assert/strict";
import type { Query } from "../../../src/model/query/query.ts";
import { above, keyOf } from "../../../src/model/query/sort-key.ts";
import type { Store } from "../../../src/store/store.ts";
import { newSeed, randomNumbers, runs } from "../../seeds.ts";
import { create, define, idsFrom, put, remove } from "./change-helpers.ts";
import type { ContractTest } from "./engine-under-test.ts";
import { plainRank } from "./plain-rank.ts";
import {
  answerTo,
  ask,
  assertFinds,
  by,
  idsByOffset,
  idsFor,
  idsIn,
  is,
  putJson,
  where,
  wordsLike,
} from "./query-helpers.ts";

const searchable = JSON.stringify({
  schema: { properties: { n: { type: "number" } } },
  searchable: ["title", "body", "deep.tags"],
  indexed: ["n"],
});

const things = [
  putJson("a", { title: "Crème brûlée", body: "A dessert of cream, burnt.", n: 1 }),
  putJson("b", { title: "Burnt toast", body: "Bread; left too long (2 minutes).", n: 2 }),
  putJson("c", { title: "Müsli", deep: { tags: ["bread", { more: "oats" }, 42] }, n: 3 }),
  putJson("d", { title: 'NEAR "quoted" OR * AND NOT ^ : -x', other: "burnt", n: 4 }),
  putJson("e", { n: 5 }),
  putJson("f", { title: "東京 Straße 𝔘nicode ꙮ don't", n: 6 }),
];

const rows: readonly (readonly [words: string, ids: string])[] = [
  ["burnt", "a b"],
  ["creme", "a"],
  ["brulee", "a"],
  ["cream", "a"],
  ["cre*", "a"],
  ["cre", ""],
  ["b*", "a b c"],
  ["burnt bread", "b"],
  ["bread", "b c"],
  ["bread burnt*", "b"],
  ["burnt oats", ""],
  ["musli", "c"],
  ["42", "c"],
  ["4*", "c"],
  ["2", "b"],
  ["oats", "c"],
  ["near", "d"],
  ["or", "d"],
  ["not and", "d"],
  ["x", "d"],
  ["straße", "f"],
  ["東京", "f"],
  ["東*", "f"],
  ["unicode", "f"],
  ["ꙮ", "f"],
  ["don", "f"],
  ["nowhere", ""],
];

async function assertSearch(store: Store, text: string, ids: string, more: Partial<Query> = {}) {
  const query = ask({ words: wordsLike(text), ...more });
  const { resources, total, last } = await answerTo(store, query);
  assert.equal([...idsIn(resources)].sort().join(" "), ids, text);
  assert.equal(total, resources.length, text);
  assert.equal(last, undefined);
  assert.deepEqual(await idsByOffset(store, { ...query, limit: 1 }), idsIn(resources), text);
}

export function searches(contractTest: ContractTest): void {
  contractTest("find what contains all of the words", async ({ store }) => {
    await store.commit([define(searchable), ...things]);
    await Promise.all(rows.map(([words, ids]) => assertSearch(store, words, ids)));
  });

  contractTest("find what was stored before its field was searchable", async ({ store }) => {
    await store.commit([create(), ...things]);
    await assertSearch(store, "burnt", "");
    await store.commit([define(searchable)]);
    await Promise.all(rows.map(([words, ids]) => assertSearch(store, words, ids)));
    await store.commit([define('{"searchable":["other"]}')]);
    await assertSearch(store, "burnt", "d");
    await store.commit([
      putJson("e", { other: "burnt" }),
      define("{}"),
      putJson("g", { other: "burnt" }),
    ]);
    await assertSearch(store, "burnt", "");
    await store.commit([define('{"searchable":["other"]}')]);
    await assertSearch(store, "burnt", "d e g");
  });

  contractTest(
    "find replaced and removed resources by their current state only",
    async (engine) => {
      const { store } = engine;
      const other = await engine.second();
      await store.commit([define(searchable), ...things]);
      await assertSearch(other, "burnt", "a b");
      await other.commit([
        putJson("a", { title: "cold" }),
        remove("b"),
        putJson("e", { body: "burnt" }),
      ]);
      await assertSearch(store, "burnt", "e");
      await assertSearch(store, "cream", "");
      await store.commit([
        put("b"),
        putJson("a", { title: "cold", n: 7 }),
        putJson("e", { body: "Burnt!" }),
      ]);
      await store.commit([
        { kind: "all", changes: [putJson("x", { title: "cold" }), remove("nothing")] },
      ]);
      await assertSearch(store, "cold", "a");
      for (const each of [other, await engine.reopen()]) {
        await assertSearch(each, "cold", "a");
        await assertSearch(each, "burnt", "e");
        await assertSearch(each, "bread", "c");
      }
    },
  );

  contractTest("are ordered by rank", async ({ store }) => {
    const noise = "and many other words that say nothing of it at all ".repeat(8);
    await store.commit([
      define(searchable),
      ...idsFrom(20).map((id) => putJson(id, { title: noise })),
      putJson("little", { title: `zebra ${noise}` }),
      putJson("much", { title: "zebra zebra zebra" }),
      putJson("less", { title: `zebra ${noise} ${noise} ${noise}` }),
    ]);
    const ids = await idsFor(store, { words: wordsLike("zebra") });
    assert.equal(ids, "much little less");
    const conditions = [where("title", "text", above(keyOf("text", "zebra a")))];
    assert.equal(
      await idsFor(store, { words: wordsLike("zebra"), conditions }),
      "much little less",
    );
  });

  contractTest("follow the weights of the fields", async ({ store }) => {
    const weighted = (weight: number) =>
      JSON.stringify({ searchable: ["body", { field: "title", weight }, { field: "note" }] });
    await store.commit([
      define(weighted(1)),
      putJson("body", { title: "one two three four", body: "zebra here" }),
      putJson("title", { title: "this is a zebra", body: "one two" }),
      putJson("note", { note: "not only a zebra" }),
    ]);
    const ids = () => idsFor(store, { words: wordsLike("zebra") });
    assert.equal(await ids(), "body title note");
    await store.commit([define(weighted(3))]);
    assert.equal(await ids(), "title body note");
    await store.commit([define(weighted(1))]);
    assert.equal(await ids(), "body title note");
    await store.commit([putJson("note", { note: "zebra" })]);
    assert.equal(await ids(), "note body title");
  });

  contractTest("are ordered like a plain implementation orders them", async ({ store }) => {
    const random = randomNumbers(newSeed("ranked searches"));
    const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
    const vocabulary = [
      "a",
      "ab",
      "abc",
      "abcd",
      "abcde",
      "b",
      "ba",
      "𝔘𐐨",
      "東京",
      "東",
      "x1",
      "9",
    ];
    const textOf = (length: number) =>
      Array.from({ length }, () => pick(vocabulary).normalize("NFKD").toLowerCase()).join(" ");
    const fieldsOf = () => ({
      title: textOf(Math.floor(random() * 4)),
      body: textOf(Math.floor(random() ** 3 * 40)),
    });
    await store.commit([
      define(JSON.stringify({ searchable: [{ field: "title", weight: 2.5 }, "body"] })),
    ]);
    const texts = new Map<string, ReturnType<typeof fieldsOf>>();
    const write = (id: string) => {
      texts.set(id, fieldsOf());
      return putJson(id, texts.get(id));
    };
    const ids = idsFrom(runs(60, 300));
    await store.commit(ids.map(write));
    await store.commit(ids.filter(() => random() < 0.3).map(write));
    const gone = ids.filter(() => random() < 0.1);
    await store.commit(gone.map((id) => remove(id)));
    for (const id of gone) texts.delete(id);
    const terms = [
      ...vocabulary,
      "a*",
      "ab*",
      "abc*",
      "abcd*",
      "b*",
      "東*",
      "東京*",
      "x*",
      "none",
    ].map((term) => term.normalize("NFKD").toLowerCase());
    const searches = [...terms, ...terms.map((term) => `${term} ${pick(terms)}`)].filter(
      (search) => new Set(search.split(" ")).size === search.split(" ").length,
    );
    for (const search of searches) {
      const ranked = ids.flatMap((id, place) => {
        const { title, body } = texts.get(id) ?? { title: "", body: "" };
        const fields = [
          { weight: 2.5, text: title },
          { weight: 1, text: body },
        ];
        const rank = plainRank(fields, search);
        return rank === undefined ? [] : [{ id, rank, place }];
      });
      ranked.sort((one, other) => other.rank - one.rank || one.place - other.place);
      const expected = ranked.map(({ id }) => id);
      const words = wordsLike(search);
      assert.equal(await idsFor(store, { words }), expected.join(" "), search);
      const { total } = await answerTo(store, ask({ words, limit: 1 }));
      assert.equal(total, expected.length, search);
      assert.deepEqual(await idsByOffset(store, ask({ words, limit: 25 })), expected, search);
    }
  });

  contractTest("of several words that many contain are exact", async ({ store }) => {
    const ids = idsFrom(1_100);
    const textOf = (index: number) =>
      `${index % 7 === 0 ? "seven " : ""}common shared${index} common${index % 10}`;
    await store.commit([
      define(searchable),
      ...ids.map((id, index) => putJson(id, { title: textOf(index) })),
    ]);
    for (const search of ["common shared*", "common comm*", "sev* common", "common7 shared7 co*"]) {
      const ranked = ids.flatMap((id, place) => {
        const rank = plainRank([{ weight: 1, text: textOf(place) }], search);
        return rank === undefined ? [] : [{ id, rank, place }];
      });
      ranked.sort((one, other) => other.rank - one.rank || one.place - other.place);
      const expected = ranked.map(({ id }) => id);
      const query = ask({ words: wordsLike(search), limit: 100 });
      for (const start of [0, 50, 1_090]) {
        const { resources, total } = await answerTo(store, { ...query, start });
        assert.deepEqual(idsIn(resources), expected.slice(start, start + 100), search);
        assert.equal(total, expected.length, search);
      }
    }
  });

  contractTest("work with conditions and a sort order", async ({ store }) => {
    await store.commit([define(searchable), ...things]);
    const words = wordsLike("b*");
    const large = where("n", "number", above(keyOf("number", 1)));
    await assertSearch(store, "b*", "b c", { conditions: [large] });
    await assertSearch(store, "b*", "a", { conditions: [is("n", "number", 1)] });
    await assertSearch(store, "b*", "a", { conditions: [is("title", "text", "Crème brûlée")] });
    const sortings = [by("n", "number", true)];
    await assertFinds(store, ["c", "b", "a"], { words, sortings });
    await assertFinds(store, ["c", "b"], { words, sortings, conditions: [large] });
    await assertFinds(store, ["b", "a", "c"], { words, sortings: [by("title", "text")] });
  });

  contractTest("of words that many contain are exact", async ({ store }) => {
    const ids = idsFrom(100);
    await store.commit([
      define(searchable),
      ...ids.map((id, index) => putJson(id, { title: `common ${id}`, n: index })),
    ]);
    const query = ask({ words: wordsLike("common"), limit: 30 });
    const found = await idsByOffset(store, query);
    assert.deepEqual(found.toSorted(), ids.toSorted());
    assert.equal((await answerTo(store, query)).total, ids.length);
    const uncounted = await answerTo(store, { ...query, isCounted: false });
    assert.equal(uncounted.total, undefined);
    assert.equal(uncounted.resources.length, 30);
    await assertSearch(store, "common", "id-7", { conditions: [is("n", "number", 7)] });
    await assertSearch(store, "7 common", "id-7", {
      conditions: [is("title", "any", "common id-7")],
    });
  });

  contractTest("find nothing in hidden fields, also in a searchable object", async (engine) => {
    const { store } = engine;
    const isHidden = (writeOnly: boolean) =>
      JSON.stringify({
        schema: {
          properties: {
            card: {
              $ref: "#/$defs/card",
            },
          },
          $defs: {
            card: {
              properties: {
                name: { type: "string" },
                pin: { type: "string", writeOnly },
                card: { $ref: "#/$defs/card" },
              },
            },
          },
        },
        searchable: ["card"],
      });
    const card = {
      name: "open",
      pin: "secret",
      other: "free",
      card: { name: "inner", pin: "deep" },
    };
    await store.commit([define(isHidden(false)), putJson("a", { card }), putJson("b", { card })]);
    await assertSearch(store, "secret", "a b");
    await store.commit([define(isHidden(true)), putJson("c", { card })]);
    for (const [words, ids] of [
      ["open", "a b c"],
      ["free inner", "a b c"],
      ["secret", ""],
      ["sec*", ""],
      ["open secret", ""],
      ["deep", ""],
    ] as const)
      await assertSearch(store, words, ids);
    await store.commit([putJson("b", { card: { pin: "other", name: "closed" } })]);
    await assertSearch(store, "other", "");
    await assertSearch(store, "closed", "b");
    await store.commit([define(isHidden(false))]);
    await assertSearch(store, "secret", "a c");
  });

  contractTest("of one owner are in an order that does not depend on others", async ({ store }) => {
    const definition = '{"searchable":["t"],"access":{"read":"owner"}}';
    const of = (owner: string, id: string, t: string) => ({ ...putJson(id, { t }), owner });
    await store.commit([
      define(definition),
      of("ann", "long", "sea sea ship and much that says nothing of it at all"),
      of("ann", "first", "sea sea ship"),
      of("ann", "second", "sea ship ship"),
    ]);
    const conditions = [is("", "text", "ann")];
    const words = wordsLike("sea ship");
    const before = await idsFor(store, { words, conditions });
    assert.equal(before.split(" ").at(-1), "long");
    for (const word of ["sea", "ship"]) {
      await store.commit(idsFrom(20).map((id) => of("bob", `${word}-${id}`, `${word} ${word}`)));
      assert.equal(await idsFor(store, { words, conditions }), before, word);
    }
  });
}
