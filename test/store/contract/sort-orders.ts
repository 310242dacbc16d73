// Sort orders: by any fields, both directions, by offset and by position.

import assert from "node:assert/strict";
import type { Position, Query } from "../../../src/model/query/query.ts";
import {
  above,
  beginningWith,
  equalTo,
  keyOf,
  noValue,
  someValue,
  upTo,
} from "../../../src/model/query/sort-key.ts";
import { define, idsFrom, put, remove } from "./change-helpers.ts";
import type { ContractTest } from "./engine-under-test.ts";
import { answerTo, ask, assertFinds, by, idsIn, is, putJson, where } from "./query-helpers.ts";

const schema = { properties: { n: { type: "number" }, name: { type: "string" } } };
const indexed = JSON.stringify({ schema, indexed: ["n", "name", "tag"] });
const bare = JSON.stringify({ schema });

const things = [
  putJson("a", { n: 2, name: "x", tag: "t" }),
  putJson("b", { n: -1, name: "y", tag: ["t", "u"] }),
  putJson("c", { name: "x" }),
  putJson("d", { n: 2, name: "z", tag: "t" }),
  putJson("e", { n: 10 }),
  putJson("f", { n: 2, name: "x", tag: 1 }),
];

/** In the order of code points. UTF-16 has the last two before U+E000. */
const texts = ["a", "\ud7ff", "\ue000", "\ue000a", "\uffff", "\u{10000}", "\u{10ffff}"];

const number = (value: number): string => keyOf("number", value);
const upward = by("n", "number");
const downward = by("n", "number", true);
const two = is("n", "number", 2);
const some = where("n", "number", someValue);
const edges = where("n", "number", noValue, upTo(number(0)), above(number(2)));
const either = where("n", "number", equalTo(number(-1)), equalTo(number(2)));

const rows: readonly (readonly [ids: string, Partial<Query>])[] = [
  ["c b a d f e", { sortings: [upward] }],
  ["e a d f b c", { sortings: [downward] }],
  ["c b f d a e", { sortings: [upward], isNewestFirst: true }],
  ["e f d a b c", { sortings: [downward], isNewestFirst: true }],
  ["b a d f e", { sortings: [upward], conditions: [some] }],
  ["e f d a b", { sortings: [downward], conditions: [some], isNewestFirst: true }],
  ["a d f", { sortings: [downward], conditions: [two] }],
  ["f d a", { sortings: [upward], conditions: [two], isNewestFirst: true }],
  ["c b e", { sortings: [upward], conditions: [edges] }],
  ["e b c", { sortings: [downward], conditions: [edges] }],
  ["b a d f", { sortings: [upward], conditions: [either] }],
  ["f d a b", { sortings: [downward], conditions: [either], isNewestFirst: true }],
  ["e a c f b d", { sortings: [by("name", "text")] }],
  ["e c a f b d", { sortings: [by("name", "text"), upward] }],
  ["d b f a c e", { sortings: [by("name", "text", true), downward], isNewestFirst: true }],
  ["c b a f d e", { sortings: [upward, by("name", "text")] }],
  ["a f d", { sortings: [by("name", "text")], conditions: [two] }],
  ["d b a", { sortings: [by("name", "text", true)], conditions: [is("tag", "any", "t")] }],
  // An array and what is not there come first, then numbers, then texts.
  ["b c e f a d", { sortings: [by("tag", "any")] }],
  ["b a d", { sortings: [by("tag", "any")], conditions: [is("tag", "any", "t")] }],
  ["a d b", { sortings: [by("tag", "any", true)], conditions: [is("tag", "any", "t")] }],
];

/** More than are looked at one by one, with many ties. */
const many = idsFrom(150);
const tieOf = (index: number): number => (index * 7) % 5;

export function sortOrders(contractTest: ContractTest): void {
  contractTest("are the same with an index and without one", async ({ store }) => {
    for (const [collection, definition] of [
      ["bare", bare],
      ["indexed", indexed],
    ] as const) {
      const placed = things.map((thing) => ({ ...thing, collection }));
      await store.commit([define(definition, collection), ...placed]);
      for (const [ids, query] of rows) {
        const text = `${collection}: ${JSON.stringify(query)}`;
        const limits = [1, 2, 4];
        await assertFinds(store, ids.split(" "), query, { collection, limits, text });
      }
    }
  });

  contractTest("of texts are those of their code points", async ({ store }) => {
    const ids = idsFrom(texts.length);
    const shuffled = [3, 0, 5, 1, 6, 2, 4].map((index) =>
      putJson(`id-${index}`, { name: texts[index] }),
    );
    const sortings = [by("name", "text")];
    const key = keyOf("text", "\ue000");
    for (const [collection, definition] of [
      ["bare", bare],
      ["indexed", indexed],
    ] as const) {
      const placed = shuffled.map((thing) => ({ ...thing, collection }));
      await store.commit([define(definition, collection), ...placed]);
      await assertFinds(store, ids, { sortings }, { collection });
      const conditions = [where("name", "text", above(key))];
      await assertFinds(store, ids.slice(3), { conditions, sortings }, { collection });
      const others = [where("name", "text", upTo(key))];
      await assertFinds(store, ids.slice(0, 3), { conditions: others, sortings }, { collection });
    }
  });

  contractTest("of texts have a prefix together", async ({ store }) => {
    for (const [collection, definition] of [
      ["bare", bare],
      ["indexed", indexed],
    ] as const) {
      const placed = texts.map((name, index) => putJson(`id-${index}`, { name }, { collection }));
      await store.commit([define(definition, collection), ...placed]);
      for (const prefix of texts) {
        const ids = idsFrom(texts.length).filter((_, index) => texts[index]?.startsWith(prefix));
        const conditions = [where("name", "text", beginningWith(prefix))];
        await assertFinds(store, ids, { conditions }, { collection });
      }
    }
  });

  contractTest("by an index are exact in a large collection", async ({ store }) => {
    const changes = many.map((id, index) => putJson(id, { n: tieOf(index), name: id }));
    await store.commit([define(indexed), ...changes]);
    await store.commit([remove("id-3"), remove("id-10"), put("id-3", { fields: '{"n":4}' })]);
    const alive = [...many.keys()].filter((index) => index !== 3 && index !== 10);
    const standing = [...alive.map((index) => [`id-${index}`, tieOf(index)] as const)];
    standing.push(["id-3", 4]);
    const limits = [37];
    for (const isDescending of [false, true])
      for (const isNewestFirst of [false, true])
        for (const [spans, holds] of [
          [[], () => true],
          [[equalTo(number(4))], (n: number) => n === 4],
          [[upTo(number(1)), above(number(3))], (n: number) => n <= 1 || n > 3],
        ] as const) {
          const ordered = isNewestFirst ? standing.toReversed() : standing;
          const expected = ordered
            .filter(([, n]) => holds(n))
            .sort(([, one], [, other]) => (isDescending ? other - one : one - other))
            .map(([id]) => id);
          const conditions = spans.length > 0 ? [where("n", "number", ...spans)] : [];
          const sortings = [by("n", "number", isDescending)];
          await assertFinds(store, expected, { conditions, sortings, isNewestFirst }, { limits });
        }
  });

  contractTest("of creation among many with one value are exact", async ({ store }) => {
    const changes = many.map((id, index) => putJson(id, { tag: [index % 2, "all"] }));
    await store.commit([define(indexed), ...changes]);
    const limits = [37];
    await assertFinds(store, many, { conditions: [is("tag", "any", "all")] }, { limits });
    const odd = many.filter((_, index) => index % 2 === 1).reverse();
    const query = { conditions: [is("tag", "any", 1)], isNewestFirst: true };
    await assertFinds(store, odd, query, { limits });
  });

  contractTest("continue from a position, whatever has changed since", async ({ store }) => {
    for (const [collection, definition] of [
      ["bare", bare],
      ["indexed", indexed],
    ] as const) {
      const keepIn = (id: string, n: number) => putJson(id, { n }, { collection });
      const before = [10, 20, 30, 40, 50, 60].map((n) => keepIn(`at-${n}`, n));
      await store.commit([define(definition, collection), ...before]);
      const query = ask({ sortings: [upward], limit: 2 });
      const next = async (start: number | Position | undefined) => {
        assert.ok(start !== undefined);
        return answerTo(store, { ...query, start }, collection);
      };
      const first = await next(0);
      assert.deepEqual(idsIn(first.resources), ["at-10", "at-20"]);
      await store.commit([
        // The one at the position, one before it, one added before and one added right after it.
        remove("at-20", "anything", collection),
        remove("at-10", "anything", collection),
        keepIn("early", 15),
        keepIn("tie", 20),
      ]);
      const second = await next(first.last);
      assert.deepEqual(idsIn(second.resources), ["tie", "at-30"]);
      assert.equal(second.total, 6);
      await store.commit([keepIn("at-50", 5), keepIn("at-40", 61), keepIn("later", 60)]);
      const third = await next(second.last);
      assert.deepEqual(idsIn(third.resources), ["at-60", "later"]);
      const fourth = await next(third.last);
      assert.deepEqual(idsIn(fourth.resources), ["at-40"]);
      assert.equal(fourth.last, undefined);
    }
  });

  contractTest("of creation continue from a position, too", async ({ store }) => {
    await store.commit([define(indexed), ...things]);
    for (const conditions of [[], [is("tag", "any", "t")]]) {
      const { last } = await answerTo(store, ask({ conditions, limit: 1 }));
      assert.ok(last);
      await store.commit([remove("a"), putJson("g", { tag: "t" })]);
      const rest = await answerTo(store, ask({ conditions, start: last }));
      const expected = conditions.length === 0 ? ["b", "c", "d", "e", "f", "g"] : ["b", "d", "g"];
      assert.deepEqual(idsIn(rest.resources), expected);
      await store.commit([remove("g"), ...["a", "b", "c", "d", "e", "f"].map((id) => remove(id))]);
      await store.commit(things);
    }
  });
}
