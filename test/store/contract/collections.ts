// Collections: created once, each with exact counters.

import assert from "node:assert/strict";
import type { Change } from "../../../src/store/store.ts";
import {
  all,
  create,
  define,
  doneIn,
  kinds,
  once,
  put,
  remove,
  revisionOf,
  totalOf,
} from "./change-helpers.ts";
import type { ContractTest } from "./engine-under-test.ts";

export function collections(contractTest: ContractTest): void {
  contractTest(
    "an unknown collection does not exist, and nothing can be put into it",
    async ({ store }) => {
      const outcomes = await store.commit([
        put("a"),
        put("a", { expect: "nothing" }),
        put("a", { expect: 1 }),
        remove("a"),
      ]);
      assert.deepEqual(kinds(outcomes), ["missing", "missing", "missing", "missing"]);
      assert.deepEqual(await store.commit([all([put("a")])]), [
        { kind: "none", index: 0, outcome: { kind: "missing" } },
      ]);
      assert.equal(await store.collection("things"), undefined);
      assert.equal(await store.find("things", "a"), undefined);
      assert.equal(
        await store.slice("things", { offset: 0, limit: 1, order: "created" }),
        undefined,
      );
      assert.equal(await store.since("things", 0, { limit: 1 }), undefined);
      assert.deepEqual(await store.collections(), []);
    },
  );

  const first = (id: string, more: Parameters<typeof put>[1] = {}) =>
    ({ ...put(id, more), createsCollection: true }) as const;

  contractTest("a put that fails creates no collection", async ({ store }) => {
    const alone = await store.commit([first("a", { expect: 1 })]);
    assert.deepEqual(kinds(alone), ["missing"]);
    const [group] = await store.commit([
      all([first("a"), put("b", { expect: "nothing" }), put("b", { expect: "nothing" })]),
    ]);
    assert.equal(group?.kind, "none");
    const trial: Change = { kind: "all", changes: [first("a")], isTrial: true };
    const [tried] = await store.commit([trial]);
    assert.deepEqual(kinds(doneIn(tried)), ["created"]);
    assert.deepEqual(await store.collections(), []);
  });

  contractTest("a put creates its collection once", async ({ store }) => {
    const outcomes = await store.commit([
      first("a", { expect: 1 }),
      first("a"),
      first("b", { collection: "others" }),
      first("c"),
    ]);
    assert.deepEqual(kinds(outcomes), ["missing", "created", "created", "created"]);
    assert.deepEqual(kinds(await store.commit([first("d")])), ["created"]);
    assert.deepEqual([await totalOf(store), (await store.collection("others"))?.total], [3, 1]);
  });

  contractTest("a key is kept with the collection that its request creates", async ({ store }) => {
    const changes = [first("a"), first("b", { collection: "others" })];
    const [done] = await store.commit([all(changes, once("k"))]);
    const [again] = await store.commit([all(changes, once("k", { at: 101 }))]);
    assert.deepEqual(doneIn(again, true), doneIn(done));
    assert.deepEqual([await totalOf(store), (await store.collection("others"))?.total], [1, 1]);
  });

  contractTest("a collection is created once; a repetition does nothing", async ({ store }) => {
    assert.deepEqual(kinds(await store.commit([create("things", 7)])), ["done"]);
    const before = await store.collection("things");
    assert.ok(before);
    assert.deepEqual(
      { ...before, revision: 0 },
      {
        name: "things",
        revision: 0,
        total: 0,
        bytes: 0,
        version: 0,
        definition: "{}",
        createdAt: 7,
        updatedAt: 7,
      },
    );
    assert.deepEqual(kinds(await store.commit([create("things", 9)])), ["done"]);
    assert.deepEqual(await store.collection("things"), before);
  });

  contractTest(
    "all collections are listed by name, each with its own counters",
    async ({ store }) => {
      await store.commit([create("b"), create("a"), put("x", { collection: "b", at: 30 })]);
      const all = await store.collections();
      assert.deepEqual(
        all.map(({ name, total, updatedAt }) => [name, total, updatedAt]),
        [
          ["a", 0, 1],
          ["b", 1, 30],
        ],
      );
      assert.deepEqual(all[1], await store.collection("b"));
    },
  );

  contractTest("each write changes the revision, the total and the time", async ({ store }) => {
    await store.commit([create()]);
    let before = await store.collection("things");
    for (const [change, total, updatedAt] of [
      [put("a", { at: 10 }), 1, 10],
      [put("a", { at: 11 }), 1, 11],
      [remove("a"), 0, 20],
    ] as const) {
      const [outcome] = await store.commit([change]);
      const after = await store.collection("things");
      assert.ok(before && after && after.revision > before.revision);
      assert.equal(after.revision, revisionOf(outcome));
      assert.deepEqual([after.total, after.updatedAt], [total, updatedAt]);
      before = after;
    }
  });

  contractTest("a clock that is set back does not make a collection older", async ({ store }) => {
    await store.commit([create(), put("a", { at: 100 }), put("b", { at: 50 })]);
    assert.equal((await store.collection("things"))?.updatedAt, 100);
    assert.equal((await store.find("things", "b"))?.updatedAt, 50);
  });

  contractTest("a definition creates a collection, or replaces the definition", async (them) => {
    const { store } = them;
    const other = await them.second();
    assert.equal(await other.collection("things"), undefined);
    assert.deepEqual(kinds(await store.commit([define('{"a":1}', "things", 7)])), ["done"]);
    const first = await store.collection("things");
    assert.ok(first);
    assert.deepEqual(
      { ...first, revision: 0 },
      {
        name: "things",
        revision: 0,
        total: 0,
        bytes: 0,
        version: 4,
        definition: '{"a":1}',
        createdAt: 7,
        updatedAt: 7,
      },
    );
    await store.commit([create("things", 8), put("a", { at: 9 })]);
    const [defined] = await store.commit([define('{"a":2}', "things", 11)]);
    assert.equal(defined?.kind, "done");
    const second = await store.collection("things");
    assert.ok(second);
    assert.equal(second.revision, first.revision + 2);
    assert.deepEqual(
      [second.definition, second.total, second.createdAt, second.updatedAt],
      ['{"a":2}', 1, 7, 11],
    );
    for (const each of [store, other]) {
      assert.deepEqual(await each.collection("things"), second);
      assert.deepEqual(await each.collections(), [second]);
      const slice = await each.slice("things", { offset: 0, limit: 1, order: "created" });
      assert.deepEqual(slice?.collection, second);
    }
    assert.deepEqual(await (await them.reopen()).collection("things"), second);
  });

  contractTest("a definition can name the one that it replaces", async (them) => {
    const { store } = them;
    const other = await them.second();
    const replace = (replaces: string | null, definition: string) => ({
      ...define(definition),
      replaces,
    });
    assert.deepEqual(kinds(await store.commit([replace('{"a":0}', '{"a":1}')])), ["outdated"]);
    assert.equal(await store.collection("things"), undefined);
    const outcomes = await store.commit([
      replace("{}", '{"a":0}'),
      replace(null, '{"a":1}'),
      replace(null, '{"a":2}'),
      replace('{"a":1}', '{"a":3}'),
    ]);
    assert.deepEqual(kinds(outcomes), ["outdated", "done", "outdated", "done"]);
    const before = await store.collection("things");
    assert.equal(before?.definition, '{"a":3}');
    assert.deepEqual(kinds(await other.commit([replace('{"a":1}', '{"a":4}')])), ["outdated"]);
    assert.deepEqual(await store.collection("things"), before);
    await store.commit([create("open")]);
    const open = { ...define('{"a":1}', "open"), replaces: "{}" };
    assert.deepEqual(kinds(await store.commit([open, open])), ["done", "outdated"]);
  });

  contractTest("definitions that are set together are set all or none", async (them) => {
    const { store } = them;
    const set = (name: string, definition: string, replaces?: string) => ({
      ...define(definition, name),
      ...(replaces !== undefined && { replaces }),
      together: "set",
    });
    const fields = '{"n":1,"k":1}';
    await store.commit([create(), put("a", { fields }), put("b", { fields })]);
    const outcomes = await store.commit([
      put("before"),
      set("first", '{"indexed":["m"]}'),
      set("things", '{"unique":["n"]}'),
      set("last", "{}"),
      define("{}", "alone"),
    ]);
    assert.deepEqual(kinds(outcomes), ["created", "none", "none", "none", "done"]);
    for (const outcome of outcomes.slice(1, 4)) {
      assert.ok(outcome.kind === "none" && outcome.outcome.kind === "conflict");
      assert.deepEqual([outcome.index, outcome.outcome.field], [1, "n"]);
    }
    const namesIn = async (each: typeof store) =>
      (await each.collections()).map(({ name, definition }) => `${name} ${definition}`);
    assert.deepEqual(await namesIn(store), ["alone {}", "things {}"]);
    // What was undone is forgotten, also where the next definition has the same time.
    const refers = '{"references":{"r":{"collection":"things"}}}';
    const next = await store.commit([
      set("things", '{"indexed":["k"]}'),
      set("first", refers),
      set("alone", "{}", "other"),
      { ...define('{"unique":["z"]}'), together: "another set" },
      put("c", { fields: '{"z":1}' }),
      put("d", { fields: '{"z":1}' }),
      put("r", { collection: "first", fields: '{"r":"missing"}' }),
    ]);
    const undone = ["none", "none", "none"];
    assert.deepEqual(kinds(next), [...undone, "done", "created", "conflict", "missing"]);
    const last = await store.commit([set("things", "{}"), set("first", refers)]);
    assert.deepEqual(kinds(last), ["done", "done"]);
    const names = ["alone {}", `first ${refers}`, "things {}"];
    assert.deepEqual(await namesIn(await them.second()), names);
  });

  contractTest("one of two definitions that replace the same one is stored", async (them) => {
    const stores = [them.store, await them.second()];
    for (const replaces of [null, '{"a":1}']) {
      if (replaces !== null) await them.store.commit([define(replaces)]);
      const committed = await Promise.all(
        stores.map((store, index) => store.commit([{ ...define(`{"b":${index}}`), replaces }])),
      );
      assert.deepEqual(committed.map(([outcome]) => outcome?.kind).sort(), ["done", "outdated"]);
    }
  });

  contractTest(
    "a collection is deleted only at the revision that the change names",
    async (them) => {
      const other = await them.second();
      await them.store.commit([define("{}"), put("a")]);
      const { revision = 0 } = (await them.store.collection("things")) ?? {};
      const drop = { kind: "drop", collection: "things", isEmptyOnly: false } as const;
      await other.commit([put("b")]);
      assert.deepEqual(kinds(await them.store.commit([{ ...drop, revision }])), ["outdated"]);
      assert.equal((await them.store.collection("things"))?.total, 2);
      const now = (await them.store.collection("things"))?.revision ?? 0;
      assert.deepEqual(kinds(await them.store.commit([{ ...drop, revision: now }])), ["done"]);
      assert.equal(await other.collection("things"), undefined);
    },
  );

  contractTest("a definition is stored as it was sent, whatever its size", async (engine) => {
    const { store } = engine;
    const other = await engine.second();
    const texts = ['{"é":"\\u0000 ☃ 𝄞 \'"}', `{"long":"${"x".repeat(300_000)}"}`, "{}"];
    for (const text of texts) {
      await other.commit([define(text), put("a")]);
      assert.equal((await store.collection("things"))?.definition, text);
      // Another write leaves it as it is, for those who know it and for those who do not.
      await other.commit([put("b")]);
      assert.equal((await store.collection("things"))?.definition, text);
      assert.equal((await (await engine.second()).collection("things"))?.definition, text);
    }
  });

  contractTest("rules are another object only when they have changed", async (engine) => {
    const { store } = engine;
    const other = await engine.second();
    assert.equal(await store.rules("things"), undefined);
    await store.commit([create()]);
    const open = await store.rules("things");
    assert.equal(open?.definition, "{}");
    await store.commit([put("a")]);
    assert.equal(await store.rules("things"), open);
    await store.commit([define('{"n":1}')]);
    const rules = await store.rules("things");
    assert.equal(rules?.definition, '{"n":1}');
    assert.notEqual(rules.version, open?.version);
    await store.commit([put("a")]);
    assert.equal(await store.rules("things"), rules);
    assert.deepEqual(await other.rules("things"), rules);
  });

  contractTest("a change is applied only with the current rules", async (engine) => {
    const { store } = engine;
    await store.commit([create(), put("a")]);
    const open = (await store.rules("things"))?.version ?? -1;
    assert.deepEqual(kinds(await store.commit([{ ...put("a"), rules: open }])), ["replaced"]);
    await (await engine.second()).commit([define('{"n":1}')]);
    const before = await store.collection("things");
    const late = [put("a"), put("b"), remove("a")].map((change) => ({ ...change, rules: open }));
    assert.deepEqual(kinds(await store.commit(late)), ["outdated", "outdated", "outdated"]);
    assert.deepEqual(await store.commit([all([put("c"), { ...put("a"), rules: open }])]), [
      { kind: "none", index: 1, outcome: { kind: "outdated" } },
    ]);
    assert.deepEqual(await store.collection("things"), before);
    const now = (await store.rules("things"))?.version ?? -1;
    const timely = [put("a"), put("b"), remove("a")].map((change) => ({ ...change, rules: now }));
    assert.deepEqual(kinds(await store.commit(timely)), ["replaced", "created", "removed"]);
    const within = [define('{"n":2}'), { ...put("a"), rules: now }, put("a")];
    assert.deepEqual(kinds(await store.commit(within)), ["done", "outdated", "created"]);
  });

  contractTest(
    "the last definition of a batch applies, each with a revision",
    async ({ store }) => {
      await store.commit([create()]);
      const before = await store.collection("things");
      await store.commit([define('{"n":1}'), put("a"), define('{"n":2}'), create()]);
      const after = await store.collection("things");
      assert.deepEqual(
        [after?.definition, after?.revision],
        ['{"n":2}', (before?.revision ?? 0) + 3],
      );
      assert.equal(await totalOf(store), 1);
    },
  );
}
