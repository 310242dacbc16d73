// Indexes: queries stay right when definitions change; queries without an index are limited.

import assert from "node:assert/strict";
import { kindOf } from "../../../src/model/field-kind.ts";
import type { Candidate, Query } from "../../../src/model/query/query.ts";
import {
  above,
  keyOf,
  noValue,
  someValue,
  type ValueKind,
} from "../../../src/model/query/sort-key.ts";
import type { Resource } from "../../../src/model/resource.ts";
import type { Store } from "../../../src/store/store.ts";
import { isLong, runs } from "../../seeds.ts";
import { create, define, idsFrom, kinds, remove } from "./change-helpers.ts";
import { type ContractTest, testMaxCounted } from "./engine-under-test.ts";
import {
  answerTo,
  ask,
  assertFinds,
  by,
  eachInTurn,
  idsByOffset,
  idsByPosition,
  idsIn,
  is,
  like,
  putJson,
  where,
  wordsLike,
} from "./query-helpers.ts";
import { select } from "./select.ts";

const property = (type: string, format?: string) => ({ properties: { v: { type, format } } });

/** Each takes the place of the one before it. */
const definitions = [
  {},
  { indexed: ["v"] },
  { indexed: ["v", "w"] },
  { indexed: ["w"], unique: ["v"] },
  { indexed: ["w"], schema: property("string") },
  { indexed: ["v"], schema: property("string") },
  { indexed: ["v"], schema: property("string", "date-time") },
  { indexed: ["v", "w", "createdAt"], schema: property("number") },
  { unique: ["v"], schema: property("number"), access: { read: "owner" }, searchable: ["w"] },
  { indexed: [["v", "-createdAt"], "v"], unique: [["v", "createdAt"]], schema: property("number") },
  { unique: ["v", "id"], schema: property("boolean"), searchable: ["w", "v"] },
  {},
];

const values = ["2024-01-02", "2024-01-01T12:00:00Z", "x", 5, -1, true, ["x5", 55], null];

async function all(store: Store): Promise<readonly Resource[]> {
  const slice = await store.slice("things", { offset: 0, limit: 1_000, order: "created" });
  return slice?.resources ?? [];
}

/** Asserts that the store finds what is found by looking at every one, as a whole and in pages of either kind. */
async function assertRight(
  store: Store,
  query: Query,
  candidates: readonly Candidate[],
): Promise<void> {
  const text = JSON.stringify(query);
  const expected = select(candidates, query);
  const ids = idsIn(expected.resources);
  const paged = { ...query, limit: Math.ceil(ids.length / 3) + 1 };
  const { resources, total } = await answerTo(store, query);
  assert.deepEqual([resources, total], [expected.resources, expected.total], text);
  await eachInTurn(
    async () => assert.deepEqual(await idsByOffset(store, paged), ids, text),
    async () => assert.deepEqual(await idsByPosition(store, paged), ids, text),
  );
}

/** Asserts that all these queries, side by side, find what is found by looking at every one. */
async function assertAllRight(store: Store, queries: readonly Query[]): Promise<void> {
  const candidates = (await all(store)).map((resource, seq) => ({ seq, resource }));
  await Promise.all(queries.map((query) => assertRight(store, query, candidates)));
}

function queriesOn(field: string, kind: ValueKind): readonly Query[] {
  const conditions = [
    ...values.map((value) => is(field, kind, value)),
    where(field, kind, noValue),
    where(field, kind, someValue),
    where(field, kind, above(keyOf(kind, values[1]))),
  ];
  const sortings = [by(field, kind), by(field, kind, true)];
  return [
    ...conditions.map((condition) => ask({ conditions: [condition] })),
    ...sortings.map((sorting) => ask({ sortings: [sorting] })),
    ...sortings.map((sorting) =>
      ask({ sortings: [sorting], conditions: conditions.slice(-2, -1) }),
    ),
  ];
}

export function indexes(contractTest: ContractTest): void {
  contractTest("are added, changed and removed, and every query stays right", async (engine) => {
    const { store } = engine;
    const other = await engine.second();
    await store.commit([
      create(),
      ...values.map((v, index) => putJson(`id-${index}`, { v, w: "some words" }, { owner: "ann" })),
    ]);
    for (const [index, definition] of definitions.entries()) {
      const outcomes = await store.commit([
        putJson("before", { v: `before ${index}`, w: index }),
        define(JSON.stringify(definition)),
        putJson("after", { v: `after ${index}`, w: index }),
        remove(`id-${index - 1}`),
        putJson(`new-${index}`, { v: 100 + index, w: "other words" }),
      ]);
      assert.deepEqual(
        outcomes.filter(({ kind }) => kind === "conflict"),
        [],
      );
      const kind = kindOf("schema" in definition ? definition.schema : undefined, "v");
      // A short run asks one of the two in turn.
      const asked = isLong ? [store, other] : [index % 2 === 0 ? store : other];
      for (const each of asked) await assertAllRight(each, queriesOn("v", kind));
      await assertAllRight(other, queriesOn("w", "any"));
    }
  });

  contractTest("of one value after another are right across batches", async ({ store }) => {
    await store.commit([define('{"unique":["v"],"indexed":["w"]}')]);
    for (let round = 0; round < runs(8, 12); round++) {
      const id = `id-${round % 5}`;
      const outcomes = await store.commit([
        putJson(id, { v: round, w: [round % 3, "all"] }),
        putJson(`id-${(round + 2) % 5}`, { v: round, w: "nothing" }),
        ...(round % 4 === 3 ? [remove(id)] : []),
      ]);
      assert.equal(outcomes[1]?.kind, "conflict");
      const one = ask({ conditions: [is("w", "any", "all")] });
      await assertAllRight(store, [...queriesOn("v", "any"), ...queriesOn("w", "any"), one]);
    }
  });

  contractTest("queries without one check every resource", async ({ store }) => {
    const schema = { properties: { n: { type: "number" }, rare: { type: "number" } } };
    const definition = { schema, indexed: ["n", "rare"], searchable: ["title"] };
    const ids = idsFrom(testMaxCounted + 1);
    const last = ids.length - 1;
    await store.commit([
      define(JSON.stringify(definition)),
      ...ids.map((id, index) => putJson(id, { n: 1, rare: index, other: index, title: "common" })),
    ]);
    const one = is("other", "number", 7);
    const large = where("rare", "number", above(keyOf("number", last - 3)));
    const broad: readonly (readonly [Partial<Query>, readonly string[], number?])[] = [
      [{ conditions: [one] }, ["id-7"], 1],
      [{ conditions: [like("title", "*x*")] }, [], 0],
      [{ conditions: [is("n", "number", 1), one] }, ["id-7"], 1],
      [{ sortings: [by("other", "number")] }, ids.slice(0, 5)],
      [{ sortings: [by("other", "number")], conditions: [is("n", "number", 1)] }, ids.slice(0, 5)],
      [{ sortings: [by("other", "number")], words: wordsLike("common") }, ids.slice(0, 5)],
      [{ conditions: [one], words: wordsLike("common") }, ["id-7"], 1],
    ];
    for (const [more, expected, atLeast = testMaxCounted] of broad) {
      const answer = await answerTo(store, ask({ ...more, limit: 5 }));
      assert.deepEqual(idsIn(answer.resources), expected);
      const isAll = (more.conditions ?? more.words) === undefined;
      assert.equal(answer.total, isAll ? ids.length : undefined);
      assert.equal(answer.totalAtLeast, isAll ? undefined : atLeast);
    }
    // What one index narrows down is found all the same.
    const newest = ids.slice(-3).reverse();
    const sortings = [by("other", "number", true)];
    await assertFinds(store, newest, { conditions: [large], sortings });
    await assertFinds(store, ["id-7"], { conditions: [one, is("rare", "number", 7)] });
    await assertFinds(store, [], { conditions: [one, is("rare", "number", 8)] });
    await assertFinds(store, ["id-7"], { conditions: [one, is("id", "text", "id-7")] });
    await assertFinds(store, newest, { conditions: [large], sortings, words: wordsLike("common") });
    const rare = await answerTo(store, ask({ conditions: [large], words: wordsLike("common") }));
    assert.deepEqual(idsIn(rare.resources).toSorted(), newest.toSorted());
    assert.deepEqual(kinds(await store.commit([remove("id-0")])), ["removed"]);
    await assertFinds(store, ["id-7"], { conditions: [one] });
  });
}
