// Queries: every condition on every kind of value, with indexes and without.

import assert from "node:assert/strict";
import type { Condition, Predicate } from "../../../src/model/query/predicate.ts";
import {
  above,
  below,
  equalTo,
  from,
  keyOf,
  noValue,
  someValue,
  upTo,
  type ValueKind,
} from "../../../src/model/query/sort-key.ts";
import { isShort } from "../../short-run.ts";
import { create, define, put, remove } from "./change-helpers.ts";
import type { ContractTest } from "./engine-under-test.ts";
import { answerTo, ask, assertFinds, by, is, like, not, putJson, where } from "./query-helpers.ts";

const schema = {
  properties: {
    text: { type: "string" },
    number: { type: ["number", "null"] },
    flag: { type: "boolean" },
    when: { type: "string", format: "date-time" },
    deep: { type: "object", properties: { n: { type: "integer" } } },
  },
};
const fields = ["text", "number", "flag", "when", "list", "deep.n", "list[].a"];
const indexed = JSON.stringify({ schema, indexed: fields });

const things = [
  putJson("a", {
    text: "apple",
    number: -5,
    flag: true,
    when: "2024-01-01T00:00:00Z",
    list: ["x", "y", "x"],
    deep: { n: 1 },
  }),
  putJson("b", {
    text: "Banana",
    number: 0,
    flag: false,
    when: "2024-01-01T01:00:00+02:00",
    list: ["y"],
    deep: { n: 2 },
  }),
  putJson("c", { text: "", number: 1e300, flag: null, when: "2025-06-01", list: [], deep: {} }),
  put("d", { fields: '{"text":"été","number":-0,"list":"x","deep":{"n":10}}' }),
  putJson("e", {}),
  putJson("f", { text: "𝄞", number: 10, list: [1, true, { a: 1, b: 2 }, { a: 3, b: 4 }], deep: 7 }),
  putJson("g", { text: "ﬀ", number: 9.5, list: [["x"]], deep: { n: 3 }, "deep.n": 99 }),
];

const keyed = (kind: ValueKind) => (value: unknown) => keyOf(kind, value);
const text = keyed("text");
const number = keyed("number");
const time = keyed("time");

const rows: readonly (readonly [ids: string, ...Predicate[]])[] = [
  ["a", is("text", "text", "apple")],
  ["c", is("text", "text", "")],
  ["", is("text", "text", "banana")],
  ["", is("text", "text", "appl")],
  ["a d", where("text", "text", equalTo(text("apple")), equalTo(text("été")))],
  ["a b c", where("text", "text", below(text("b")))],
  ["b c", where("text", "text", below(text("apple")))],
  ["a b c", where("text", "text", upTo(text("apple")))],
  ["d f g", where("text", "text", above(text("apple")))],
  ["a d f g", where("text", "text", from(text("apple")))],
  ["f", where("text", "text", above(text("ﬀ")))],
  ["b c d e f g", not(is("text", "text", "apple"))],
  ["e", where("text", "text", noValue)],
  ["a b c d f g", where("text", "text", someValue)],
  ["a b c d f g", not(where("text", "text", noValue))],
  ["a", where("number", "number", below(number(0)))],
  ["a b d", where("number", "number", upTo(number(0)))],
  ["b d", is("number", "number", 0)],
  ["b d", is("number", "number", -0)],
  ["c", is("number", "number", 1e300)],
  ["c f", where("number", "number", above(number(9.5)))],
  ["c f g", where("number", "number", from(number(9.5)))],
  ["a b d f g", where("number", "number", { from: number(-10), to: upTo(number(10)).to })],
  ["e", where("number", "number", noValue)],
  ["a f", where("number", "number", equalTo(number(-5)), equalTo(number(10)))],
  ["a c e f g", not(is("number", "number", 0))],
  ["b", is("flag", "boolean", false)],
  ["a b", where("flag", "boolean", someValue)],
  ["c d e f g", where("flag", "boolean", noValue)],
  ["b", is("when", "time", "2023-12-31T23:00:00Z")],
  ["b", where("when", "time", below(time("2024-01-01")))],
  ["a c", where("when", "time", from(time("2024-01-01")))],
  ["a d", is("list", "any", "x")],
  ["a b d", where("list", "any", equalTo(keyOf("any", "x")), equalTo(keyOf("any", "y")))],
  ["a b d", where("list", "any", from(keyOf("any", "x")))],
  ["f", is("list", "any", 1)],
  ["f", is("list", "any", true)],
  ["c d e f g", not(is("list", "any", "y"))],
  ["b", is("deep.n", "number", 2)],
  ["b d g", where("deep.n", "number", above(number(1)))],
  ["c e f", where("deep.n", "number", noValue)],
  ["d", is("number", "number", 0), is("list", "any", "x")],
  ["a", where("text", "text", someValue), where("number", "number", below(number(0)))],
  ["", is("text", "text", "apple"), is("number", "number", 0)],
  ["b d", is("number", "number", 0), not(is("list", "any", "z"))],
  ["a", like("text", "a*e")],
  ["b", like("text", "*nan*")],
  ["c d e f g", not(like("text", "*a*"))],
  ["a", like("text", "*p*"), is("flag", "boolean", true)],
  // Engines limit how deep an expression nests.
  ["", like("text", "*a".repeat(2_000))],
  ["a", like("text", `${"*".repeat(2_000)}p*p*`)],
  ["a b", { anyOf: [is("text", "text", "apple"), like("text", "B*")] }],
  [
    "b",
    { anyOf: [is("number", "number", 0), is("flag", "boolean", true)] },
    is("list", "any", "y"),
    not(is("list", "any", "x")),
  ],
  ["", { anyOf: [] }],
  ["a b c d e f g", { allOf: [] }],
  ["b", { allOf: [is("number", "number", 0), { not: is("text", "text", "été") }] }],
  ["c d e f g", { not: { anyOf: [is("list", "any", "y"), is("list", "any", "z")] } }],
  ["", where("number", "number")],
  ["", where("number", "number"), is("list", "any", "x")],
  ["a b c d e f g", not(where("number", "number"))],
  ["f", is("list[].a", "number", 3)],
  ["a b c d e g", not(is("list[].a", "number", 3))],
  ["a b c d e g", where("list[].a", "any", noValue)],
  ["a b", is("list[]", "any", "y")],
  ["f", is("list[].a", "number", 1), is("list[].b", "number", 4)],
  ["f", { field: "list", some: { allOf: [is("a", "number", 1), is("b", "number", 2)] } }],
  ["", { field: "list", some: { allOf: [is("a", "number", 1), is("b", "number", 4)] } }],
  ["a g", { field: "list", some: is("", "any", "x") }],
  ["f", { field: "list", some: { not: where("", "text", someValue) } }, is("deep", "any", 7)],
  // As another kind than the one that its index is of.
  ["a", is("when", "text", "2024-01-01T00:00:00Z")],
  ["", where("when", "any", below(time("2024-01-01")))],
  ["a b", where("list", "text", noValue), is("list", "any", "y")],
];

export function queries(contractTest: ContractTest): void {
  contractTest("have the same result with an index and without one", async ({ store }) => {
    for (const [collection, definition] of [
      ["bare", "{}"],
      ["indexed", indexed],
    ] as const) {
      const placed = things.map((thing) => ({ ...thing, collection }));
      await store.commit([define(definition, collection), ...placed]);
      for (const [ids, ...conditions] of rows) {
        const expected = ids === "" ? [] : ids.split(" ");
        const text = `${collection}: ${JSON.stringify(conditions)}`;
        const reversed = { conditions, isNewestFirst: true };
        await assertFinds(store, expected, { conditions }, { collection, text });
        // The other direction is another scan, not another condition.
        if (!isShort || collection === "indexed")
          await assertFinds(store, expected.toReversed(), reversed, { collection, text });
      }
    }
  });

  contractTest("may use the server's members", async ({ store }) => {
    await store.commit([
      create(),
      ...["a", "b", "c"].map((id, index) => put(id, { at: 1_000 * (index + 1) })),
      put("b", { at: 9_000 }),
    ]);
    const at = (ms: number): string => time(new Date(ms).toISOString());
    for (const definition of ["{}", '{"indexed":["id","createdAt","updatedAt"]}']) {
      await store.commit([define(definition)]);
      const finds = async (ids: string, ...conditions: readonly Condition[]) =>
        assertFinds(store, ids === "" ? [] : ids.split(" "), { conditions });
      await finds("b", is("id", "text", "b"));
      await finds("", is("id", "text", "x"));
      await finds("", is("id", "text", "x".repeat(300)));
      await finds("a c", where("id", "text", equalTo(text("a")), equalTo(text("c"))));
      await finds("b c", where("id", "text", from(text("b"))));
      await finds("a c", not(is("id", "text", "b")));
      await finds("", is("id", "text", "b"), is("id", "text", "a"));
      await finds("b c", where("createdAt", "time", from(at(2_000))));
      await finds("b", where("updatedAt", "time", above(at(3_000))));
      await finds("a", is("updatedAt", "time", 1_000));
      await assertFinds(store, ["b", "c", "a"], { sortings: [by("updatedAt", "time", true)] });
      await assertFinds(store, ["c", "b", "a"], { sortings: [by("id", "text", true)] });
    }
  });

  contractTest("without a condition return everything, as a slice does", async ({ store }) => {
    await store.commit([create()]);
    await assertFinds(store, [], {});
    await store.commit([...things, remove("a"), remove("d"), put("a")]);
    const expected = ["b", "c", "e", "f", "g", "a"];
    const limits = [1, 2, 3, 6, 7];
    await assertFinds(store, expected, {}, { limits });
    await assertFinds(store, expected.toReversed(), { isNewestFirst: true }, { limits });
  });

  contractTest("of an unknown collection return undefined", async ({ store }) => {
    assert.equal(await store.query("things", ask()), undefined);
    assert.equal(await store.query("things", ask({ conditions: [is("a", "any", 1)] })), undefined);
  });

  contractTest(
    "find replaced and removed resources by their current state only",
    async (engine) => {
      const { store } = engine;
      const other = await engine.second();
      await store.commit([define(indexed), ...things]);
      const zero = { conditions: [is("number", "number", 0)] };
      const y = { conditions: [is("list", "any", "y")] };
      await assertFinds(other, ["b", "d"], zero);
      await other.commit([putJson("b", { number: 7, list: ["y"] }), putJson("e", { number: 0 })]);
      await assertFinds(store, ["d", "e"], zero);
      await assertFinds(store, ["a", "b"], y);
      await store.commit([
        remove("d"),
        putJson("a", {}),
        remove("b"),
        putJson("b", { number: -0 }),
      ]);
      await assertFinds(store, ["e", "b"], zero);
      for (const each of [other, await engine.reopen()]) {
        await assertFinds(each, ["e", "b"], zero);
        await assertFinds(each, [], y);
      }
    },
  );

  contractTest("find a text of any length with any characters", async ({ store }) => {
    const long = "x".repeat(10_000);
    const texts = ["\0", "\u0001", "\u0001\u0001", "\u{10ffff}", "'\"%_\\*", long, `${long}y`];
    const ids = texts.map((_, index) => `id-${index}`);
    await store.commit([
      define('{"unique":["text"]}'),
      ...texts.map((text, index) => putJson(`id-${index}`, { text })),
    ]);
    for (const [index, text] of texts.entries())
      await assertFinds(store, [`id-${index}`], { conditions: [is("text", "any", text)] });
    await assertFinds(store, ids, { conditions: [where("text", "any", someValue)] });
    const { total } = await answerTo(store, ask({ conditions: [is("text", "any", "x")] }));
    assert.equal(total, 0);
  });
}
