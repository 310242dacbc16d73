// Atomic groups: all changes or none, and no effect of a failed one.

import assert from "node:assert/strict";
import type { Change, Put, Remove } from "../../../src/store/store.ts";
import {
  all,
  create,
  define,
  doneIn,
  idsFrom,
  idsOf,
  kinds,
  lookAt,
  put,
  remove,
  totalOf,
  written,
} from "./change-helpers.ts";
import type { ContractTest } from "./engine-under-test.ts";

interface Row {
  readonly text: string;
  readonly changes: readonly (Put | Remove)[];
  /** What becomes of each, or of the one that fails. */
  readonly done?: readonly string[];
  readonly failed?: readonly [index: number, kind: string];
}

/** On a collection that was created (its first revision) and then got `a` and `b`. */
const rows: readonly Row[] = [
  { text: "nothing at all", changes: [], done: [] },
  { text: "one", changes: [put("c")], done: ["created"] },
  {
    text: "several",
    changes: [put("c"), remove("a"), put("b")],
    done: ["created", "removed", "replaced"],
  },
  { text: "put, then removed", changes: [put("c"), remove("c")], done: ["created", "removed"] },
  {
    text: "removed, then put",
    changes: [remove("a"), put("a", { expect: "nothing" })],
    done: ["removed", "created"],
  },
  { text: "the same twice", changes: [put("c"), put("c")], done: ["created", "replaced"] },
  { text: "one that fails", changes: [remove("c")], failed: [0, "missing"] },
  {
    text: "taken at the end",
    changes: [put("c"), put("a", { expect: "nothing" })],
    failed: [1, "taken"],
  },
  {
    text: "taken by the one before",
    changes: [put("c"), put("c", { expect: "nothing" })],
    failed: [1, "taken"],
  },
  {
    text: "missing since the one before",
    changes: [remove("a"), remove("a")],
    failed: [1, "missing"],
  },
  {
    text: "stale since the one before",
    changes: [put("a"), put("a", { expect: 2 })],
    failed: [1, "stale"],
  },
  {
    text: "stale in the middle",
    changes: [put("a"), put("b", { expect: 999 }), put("c")],
    failed: [1, "stale"],
  },
  { text: "fails at the first", changes: [remove("c"), put("d")], failed: [0, "missing"] },
  {
    text: "an unknown collection",
    changes: [put("c"), put("c", { collection: "nowhere" })],
    failed: [1, "missing"],
  },
];

export function atomicGroups(contractTest: ContractTest): void {
  contractTest(
    "all changes are applied, or the failed one is reported and nothing is",
    async ({ store }) => {
      for (const [index, { text, changes, done, failed }] of rows.entries()) {
        const collection = `row-${index}`;
        const placed = changes.map((change) =>
          change.collection === "things" ? { ...change, collection } : change,
        );
        await store.commit([
          create(collection),
          put("a", { collection }),
          put("b", { collection }),
        ]);
        const before = await lookAt(store, collection);
        const [outcome] = await store.commit([all(placed)]);
        if (done) assert.deepEqual(kinds(doneIn(outcome)), done, text);
        else {
          const [at, kind] = failed ?? [];
          assert.deepEqual(outcome, { kind: "none", index: at, outcome: { kind } }, text);
          assert.deepEqual(await lookAt(store, collection), before, text);
        }
        assert.equal(await store.collection("nowhere"), undefined);
      }
    },
  );

  contractTest("a group does what its changes would do one by one", async ({ store }) => {
    const changes = (collection: string): readonly (Put | Remove)[] => [
      put("a", { collection }),
      put("b", { collection, fields: '{"n":1}', at: 11 }),
      put("a", { collection, expect: 2, at: 12 }),
      remove("b", "anything", collection),
      put("b", { collection, expect: "nothing", at: 13 }),
    ];
    const [, ...single] = await store.commit([create("one"), ...changes("one")]);
    const [, unit] = await store.commit([create("two"), all(changes("two"))]);
    assert.deepEqual(doneIn(unit), single);
    const nameless = async (name: string) =>
      JSON.parse(JSON.stringify(await lookAt(store, name)).replaceAll(`"${name}"`, '""'));
    assert.deepEqual(await nameless("two"), await nameless("one"));
  });

  contractTest("a group may span collections, and fails in all of them", async ({ store }) => {
    await store.commit([create("one"), create("two"), put("x", { collection: "two" })]);
    const span = (expect: "anything" | "nothing") =>
      all([put("a", { collection: "one" }), put("x", { collection: "two", expect })]);
    const look = async () => [await lookAt(store, "one"), await lookAt(store, "two")];
    const before = await look();
    assert.deepEqual(kinds(await store.commit([span("nothing")])), ["none"]);
    assert.deepEqual(await look(), before);
    const [outcome] = await store.commit([span("anything")]);
    const [one, two] = doneIn(outcome);
    assert.deepEqual(await store.find("one", "a"), written(one));
    assert.deepEqual(await store.find("two", "x"), written(two));
  });

  contractTest(
    "the rest of the batch is as if a failed group were not there",
    async ({ store }) => {
      const batch = (collection: string, failing: readonly Change[]): readonly Change[] => [
        create(collection),
        put("a", { collection }),
        put("b", { collection }),
        remove("a", "anything", collection),
        ...failing,
        all([put("c", { collection }), put("d", { collection })]),
        ...failing,
        put("a", { collection }),
        remove("c", "anything", collection),
      ];
      const failing = all([
        put("e", { collection: "one" }),
        put("a", { collection: "one", at: 1_000 }),
        remove("b", "anything", "one"),
        put("f", { collection: "one" }),
        put("f", { collection: "one", expect: "nothing" }),
      ]);
      const outcomes = await store.commit(batch("one", [failing]));
      assert.deepEqual(outcomes[4], { kind: "none", index: 4, outcome: { kind: "taken" } });
      const others = outcomes.filter(({ kind }) => kind !== "none");
      assert.deepEqual(others, await store.commit(batch("two", [])));
      assert.equal(others.length, outcomes.length - 2);
      const nameless = async (name: string) =>
        JSON.parse(JSON.stringify(await lookAt(store, name)).replaceAll(`"${name}"`, '""'));
      assert.deepEqual(await nameless("one"), await nameless("two"));
    },
  );

  contractTest("a large group that fails at its end leaves every page exact", async ({ store }) => {
    const ids = idsFrom(2_000);
    await store.commit([create(), ...ids.map((id) => put(id, { fields: "{}" }))]);
    const changes = [
      ...ids.slice(0, 700).map((id) => remove(id)),
      ...idsFrom(700, "new").map((id) => put(id, { fields: "{}" })),
    ];
    const before = await lookAt(store);
    const [outcome] = await store.commit([all([...changes, remove("nobody")])]);
    assert.deepEqual(outcome, { kind: "none", index: 1_400, outcome: { kind: "missing" } });
    assert.deepEqual(await lookAt(store), before);
    const [done] = await store.commit([all(changes)]);
    assert.equal(doneIn(done).length, 1_400);
    assert.equal(await totalOf(store), 2_000);
    assert.deepEqual(await idsOf(store, 1_299, 2), ["id-1999", "new-0"]);
  });

  contractTest("a trial returns what would become of each, and changes nothing", async (engine) => {
    const { store } = engine;
    const definition = '{"schema":{"properties":{"u":{"type":"string"}}},"unique":["u"]}';
    for (const rules of ["{}", definition]) {
      await store.commit([define(rules), put("a", { fields: '{"u":"a"}' }), put("b")]);
      const before = await lookAt(store);
      const changes = [
        put("c", { expect: "nothing", fields: '{"u":"c"}' }),
        put("c", { expect: "nothing" }),
        put("a", { fields: '{"u":"d"}' }),
        remove("b"),
        remove("b"),
        put("e", { fields: '{"u":"c"}' }),
        put("f", { collection: "elsewhere" }),
      ];
      const [outcome, next] = await store.commit([
        { kind: "all", changes, isTrial: true },
        put("b", { expect: "nothing" }),
      ]);
      const fifth = rules === "{}" ? "created" : "conflict";
      assert.deepEqual(kinds(doneIn(outcome)), [
        ...["created", "taken", "replaced", "removed", "missing", fifth, "missing"],
      ]);
      assert.equal(next?.kind, "taken");
      assert.deepEqual(await lookAt(store), before);
      assert.equal(await (await engine.second()).find("things", "c"), undefined);
    }
  });
}
