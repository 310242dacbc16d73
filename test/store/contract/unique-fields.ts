// Unique fields: no two resources have the same value, also with concurrent writers.

import assert from "node:assert/strict";
import { Outage } from "../../../src/model/outage.ts";
import { keyOf, someValue, type ValueKind } from "../../../src/model/query/sort-key.ts";
import type { Outcome } from "../../../src/store/store.ts";
import {
  all,
  create,
  define,
  doneIn,
  idsFrom,
  kinds,
  lookAt,
  put,
  remove,
  written,
} from "./change-helpers.ts";
import type { ContractTest } from "./engine-under-test.ts";
import { assertFinds, is, putJson, where } from "./query-helpers.ts";

const unique = JSON.stringify({
  schema: { properties: { email: { type: "string" }, n: { type: "number" } } },
  unique: ["email", "n"],
});

const mail = (id: string, email: unknown) => putJson(id, { email });
/** The first resources with the same values are tested with the building of indexes. */
const withoutClashes = (outcomes: readonly Outcome[]) =>
  outcomes.map((outcome) => ("clashes" in outcome ? conflict(outcome.field) : outcome));

const conflict = (field = "email") => ({ kind: "conflict", field });

export function uniqueFields(contractTest: ContractTest): void {
  contractTest("one resource has a value, within a batch and across batches", async (engine) => {
    const { store } = engine;
    const other = await engine.second();
    const outcomes = await store.commit([define(unique), mail("a", "x"), mail("b", "x")]);
    assert.deepEqual(kinds(outcomes), ["done", "created", "conflict"]);
    assert.deepEqual(outcomes[2], conflict());
    const before = await lookAt(store);
    assert.deepEqual(await other.commit([mail("c", "x")]), [conflict()]);
    assert.deepEqual(await store.commit([{ ...mail("c", "x"), expect: "nothing" }]), [conflict()]);
    assert.deepEqual(await lookAt(store), before);
    assert.equal(await other.find("things", "b"), undefined);
    await assertFinds(other, ["a"], { conditions: [is("email", "text", "x")] });
    const more = await other.commit([putJson("b", { email: "y", n: 1 }), putJson("c", { n: 1 })]);
    assert.deepEqual([more[0]?.kind, more[1]], ["created", conflict("n")]);
  });

  contractTest("a resource keeps its own value, and may not take another's", async ({ store }) => {
    await store.commit([define(unique), mail("a", "x"), mail("b", "y")]);
    const outcomes = await store.commit([
      mail("a", "x"),
      putJson("a", { email: "x", more: 1 }),
      mail("b", "x"),
      mail("a", "z"),
      mail("b", "x"),
    ]);
    assert.deepEqual(kinds(outcomes), ["replaced", "replaced", "conflict", "replaced", "replaced"]);
    assert.deepEqual(await store.find("things", "b"), written(outcomes[4]));
    await assertFinds(store, ["b"], { conditions: [is("email", "text", "x")] });
    await assertFinds(store, [], { conditions: [is("email", "text", "y")] });
  });

  contractTest("a value is free again when its resource no longer has it", async ({ store }) => {
    await store.commit([define(unique), mail("a", "x"), mail("b", "y")]);
    const within = await store.commit([
      remove("a"),
      mail("c", "x"),
      mail("b", "w"),
      mail("d", "y"),
    ]);
    assert.deepEqual(kinds(within), ["removed", "created", "replaced", "created"]);
    await store.commit([remove("c")]);
    const across = await store.commit([mail("a", "x"), mail("c", "x")]);
    assert.deepEqual(kinds(across), ["created", "conflict"]);
  });

  contractTest("a missing value never conflicts", async ({ store }) => {
    const nothing = [{}, {}, { email: null }, { email: null }, { email: {} }, { email: {} }];
    const outcomes = await store.commit([
      define(unique),
      ...nothing.map((fields, index) => putJson(`id-${index}`, fields)),
      mail("empty", ""),
      mail("second", ""),
    ]);
    assert.deepEqual(kinds(outcomes.slice(1, 7)), Array(6).fill("created"));
    assert.deepEqual(kinds(outcomes.slice(7)), ["created", "conflict"]);
  });

  contractTest("values are the same when they compare equal", async ({ store }) => {
    const definition = {
      schema: {
        properties: { n: { type: "number" }, when: { type: "string", format: "date-time" } },
      },
      unique: ["n", "when", "any"],
    };
    const outcomes = await store.commit([
      define(JSON.stringify(definition)),
      put("a", { fields: '{"n":1.0}' }),
      put("b", { fields: '{"n":10e-1}' }),
      putJson("c", { when: "2024-01-01T00:00:00Z" }),
      putJson("d", { when: "2024-01-01T01:00:00+01:00" }),
      putJson("e", { any: 1 }),
      putJson("f", { any: "1" }),
      putJson("g", { any: true }),
      putJson("h", { any: ["x", "y"] }),
      putJson("i", { any: ["y", "z"] }),
      putJson("j", { any: "x" }),
    ]);
    assert.deepEqual(kinds(outcomes.slice(1)), [
      ...["created", "conflict", "created", "conflict"],
      ...["created", "created", "created", "created", "conflict", "conflict"],
    ]);
    assert.deepEqual(outcomes[2], conflict("n"));
    assert.deepEqual(outcomes[4], conflict("when"));
    assert.deepEqual(outcomes[9], conflict("any"));
  });

  contractTest("values of several fields are unique together", async (engine) => {
    const { store } = engine;
    const definition = JSON.stringify({
      schema: {
        properties: { tenant: { type: "string" }, name: { type: "string" }, n: { type: "number" } },
      },
      unique: [["tenant", "name", "n"]],
    });
    const row = (id: string, tenant: unknown, name: unknown, n: unknown = 1) =>
      putJson(id, { tenant, name, n });
    const refused = conflict('["tenant","name","n"]');
    const outcomes = await store.commit([
      define(definition),
      row("a", "x", "y"),
      row("b", "x", "z"),
      row("c", "xy", ""),
      row("d", "x", "y"),
      row("d", "x", "y", 1.0),
      row("d", "x", "y", 2),
      row("b", "x", "y"),
      row("a", "x", "w"),
      row("b", "x", "y"),
    ]);
    assert.deepEqual(kinds(outcomes.slice(1)), [
      ...["created", "created", "created", "conflict", "conflict", "created"],
      ...["conflict", "replaced", "replaced"],
    ]);
    assert.deepEqual(outcomes[4], refused);
    const other = await engine.second();
    assert.deepEqual(await other.commit([row("e", "x", "w")]), [refused]);
    assert.deepEqual(kinds(await other.commit([remove("a"), row("e", "x", "w")])), [
      ...["removed", "created"],
    ]);
  });

  contractTest("a missing value among several never conflicts", async ({ store }) => {
    const properties = { a: { type: "string" }, b: { type: "string" } };
    const definition = JSON.stringify({ schema: { properties }, unique: [["a", "b"]] });
    const missing = [{}, { a: "x" }, { b: "x" }, { a: null, b: "x" }, { a: "x", b: {} }];
    const rows = [...missing, ...missing, { a: "", b: "" }, { a: "\0\u0001\u0002", b: "\u0002" }];
    const changes = rows.map((fields, index) => putJson(`id-${index}`, fields));
    await store.commit([create()]);
    const outcomes = await store.commit([define(definition), ...changes]);
    assert.deepEqual(kinds(outcomes), ["done", ...rows.map(() => "created")]);
    // The rows are there already when the definition comes again.
    await store.commit([define("{}")]);
    assert.deepEqual(kinds(await store.commit([define(definition)])), ["done"]);
    const again = [
      putJson("e", { a: "", b: "" }),
      putJson("f", { a: "\0\u0001\u0002", b: "\u0002" }),
    ];
    assert.deepEqual(
      await store.commit(again),
      again.map(() => conflict('["a","b"]')),
    );
    await store.commit([define("{}"), ...again]);
    const [outcome] = await store.commit([define(definition)]);
    assert.ok(outcome?.kind === "conflict" && outcome.field === '["a","b"]');
  });

  contractTest("other errors are reported before a conflict", async ({ store }) => {
    await store.commit([define(unique), mail("a", "x"), mail("b", "y")]);
    const outcomes = await store.commit([
      { ...mail("b", "x"), expect: "nothing" },
      { ...mail("b", "x"), expect: 999 },
      { ...mail("c", "x"), expect: 999 },
      { ...mail("b", "x"), rules: 987_654 },
    ]);
    assert.deepEqual(kinds(outcomes), ["taken", "stale", "missing", "outdated"]);
  });

  contractTest("an atomic group with a conflict has no effect", async ({ store }) => {
    await store.commit([define(unique), mail("a", "x"), mail("b", "y")]);
    const before = await lookAt(store);
    for (const [changes, index] of [
      [[mail("c", "z"), mail("d", "x")], 1],
      [[mail("c", "z"), mail("d", "z")], 1],
      [[remove("a"), mail("c", "x"), mail("d", "y"), mail("e", "w")], 2],
      [[mail("c", "x")], 0],
    ] as const) {
      const outcomes = await store.commit([all(changes), all(changes)]);
      const none = { kind: "none", index, outcome: conflict() };
      assert.deepEqual(outcomes, [none, none]);
      assert.deepEqual(await lookAt(store), before);
    }
    // Nothing of what was undone is in the way.
    const swap = all([remove("a"), mail("c", "x"), mail("b", "z"), mail("d", "y")]);
    const [unit, ...rest] = await store.commit([swap, mail("e", "x"), mail("f", "w")]);
    assert.deepEqual(kinds(doneIn(unit)), ["removed", "created", "replaced", "created"]);
    assert.deepEqual(kinds(rest), ["conflict", "created"]);
    const conditions = [where("email", "text", someValue)];
    await assertFinds(store, ["b", "c", "d", "f"], { conditions });
  });

  contractTest("of many that want a value at once, one gets it", async (engine) => {
    const stores = [engine.store, await engine.second()];
    await engine.store.commit([define(unique)]);
    for (const round of idsFrom(5, "round")) {
      const commits = idsFrom(10, round).flatMap((id) =>
        stores.map((store, index) => store.commit([mail(`${id}-${index}`, round)])),
      );
      const outcomes = kinds((await Promise.all(commits)).flat());
      assert.equal(outcomes.filter((kind) => kind === "created").length, 1);
      assert.equal(outcomes.filter((kind) => kind === "conflict").length, 19);
    }
  });

  contractTest(
    "a definition is rejected where values are not unique, and changes nothing",
    async (engine) => {
      const { store } = engine;
      await store.commit([create(), mail("a", "x"), mail("b", "y"), mail("c", "x"), put("d")]);
      const plain = '{"indexed":["email"],"searchable":["email"]}';
      for (const definition of ["{}", plain]) {
        await store.commit([define(definition)]);
        const rules = await store.rules("things");
        const before = await lookAt(store);
        assert.deepEqual(withoutClashes(await store.commit([define(unique)])), [conflict()]);
        assert.deepEqual(await lookAt(store), before);
        assert.equal(await store.rules("things"), rules);
        await assertFinds(store, ["a", "c"], { conditions: [is("email", "any", "x")] });
      }
      const outcomes = await store.commit([
        { ...mail("c", "x"), rules: (await store.rules("things"))?.version ?? -1 },
        define(unique),
        mail("e", "x"),
        mail("c", "z"),
        remove("e"),
        define(unique),
        mail("e", "x"),
      ]);
      assert.deepEqual(kinds(outcomes), [
        ...["replaced", "conflict", "created", "replaced", "removed", "done", "conflict"],
      ]);
      assert.deepEqual(kinds(await (await engine.second()).commit([mail("f", "z")])), ["conflict"]);
    },
  );

  contractTest(
    "a field may have duplicates again when the definition no longer says unique",
    async ({ store }) => {
      await store.commit([define(unique), mail("a", "x")]);
      const outcomes = await store.commit([
        define('{"indexed":["email"]}'),
        mail("b", "x"),
        define("{}"),
        mail("c", "x"),
      ]);
      assert.deepEqual(kinds(outcomes), ["done", "created", "done", "created"]);
      assert.deepEqual(withoutClashes(await store.commit([define(unique)])), [conflict()]);
    },
  );

  contractTest("a resource is found by its unique value", async (engine) => {
    const { store } = engine;
    const other = await engine.second();
    const entry = (field: string, kind: ValueKind, value: unknown) => ({
      field,
      key: keyOf(kind, value),
    });
    const idOf = async (...of: Parameters<typeof entry>) =>
      (await other.findUnique("things", entry(...of)))?.id;
    assert.equal(await idOf("email", "text", "x"), undefined);
    await store.commit([define(unique), putJson("a", { email: "x", n: 7 }), mail("b", "y")]);
    const both = await Promise.all([
      ...["x", "y", "z", "x"].map((email) => idOf("email", "text", email)),
      idOf("n", "number", 7),
      idOf("n", "number", 8),
    ]);
    assert.deepEqual(both, ["a", "b", undefined, "a", "a", undefined]);
    await store.commit([mail("a", "z"), remove("b"), mail("c", "y")]);
    assert.deepEqual(
      await other.findUnique("things", entry("email", "text", "z")),
      await other.find("things", "a"),
    );
    assert.equal(await idOf("email", "text", "x"), undefined);
    assert.equal(await idOf("email", "text", "y"), "c");
    assert.equal(await idOf("n", "number", 7), undefined);
    await store.commit([define("{}")]);
    await assert.rejects(async () => idOf("email", "text", "y"), Outage);
  });
}
