// Operations: they compute with the state at the commit, whoever else writes.

import assert from "node:assert/strict";
import type { Outcome } from "../../../src/store/store.ts";
import {
  all,
  create,
  define,
  doneIn,
  feedSince,
  kinds,
  lookAt,
  once,
  operate,
  put,
  remove,
  written,
} from "./change-helpers.ts";
import type { ContractTest } from "./engine-under-test.ts";
import { assertFinds, is } from "./query-helpers.ts";

const fieldsOf = (outcome: Outcome | undefined): string => written(outcome).fields;

const stock = JSON.stringify({
  schema: {
    properties: {
      stock: { type: "integer", minimum: 0 },
      sku: { type: "string", default: "none" },
    },
  },
  indexed: ["stock"],
  unique: ["sku"],
});

export function operations(contractTest: ContractTest): void {
  contractTest("are applied to the state that the changes before them leave", async (engine) => {
    const { store } = engine;
    const outcomes = await store.commit([
      create(),
      put("a", { fields: '{"n":1.5,"tags":["x"]}' }),
      operate("a", { increment: { n: 0.1 } }),
      operate("a", { append: { tags: ["y"] }, remove: { tags: ["x"] } }),
      put("a", { fields: '{"n":0.2}' }),
      operate("a", { increment: { n: 0.1 } }),
    ]);
    assert.equal(fieldsOf(outcomes[2]), '{"n":1.6,"tags":["x"]}');
    assert.equal(fieldsOf(outcomes[3]), '{"n":1.6,"tags":["y"]}');
    assert.equal(fieldsOf(outcomes[5]), '{"n":0.3}');
    const other = await engine.second();
    assert.deepEqual(await other.find("things", "a"), written(outcomes[5]));
    const [next] = await other.commit([operate("a", { increment: { n: 1 } })]);
    assert.deepEqual(await store.find("things", "a"), written(next));
    assert.equal(fieldsOf(next), '{"n":1.3}');
    assert.equal((await feedSince(store, 0, 10))?.entries.length, 1);
  });

  contractTest("fail on their own, and leave everything as it is", async ({ store }) => {
    await store.commit([define(stock), put("a", { fields: '{"stock":1,"sku":"A"}' })]);
    const before = await lookAt(store);
    const outcomes = await store.commit([
      operate("missing", { increment: { stock: 1 } }),
      operate("a", { increment: { stock: -2 } }),
      operate("a", { increment: { sku: 1 } }),
      operate("a", { increment: { stock: 1 } }, { expect: 99 }),
      operate("a", { increment: { stock: 1 } }, { rules: 99 }),
      operate("a", { increment: { stock: 1 } }, { owner: "ada" }),
      operate("a", { append: { more: ["x"] } }, { maxBytes: 20 }),
      { ...operate("a", { increment: { stock: 1 } }), collection: "none" },
    ]);
    assert.deepEqual(kinds(outcomes), [
      "missing",
      "invalid",
      "inapplicable",
      "stale",
      "outdated",
      "stale",
      "invalid",
      "missing",
    ]);
    const [, invalid, inapplicable] = outcomes;
    assert.deepEqual(invalid, {
      kind: "invalid",
      errors: [{ pointer: "/stock", detail: "must be at least 0" }],
    });
    assert.ok(inapplicable?.kind === "inapplicable");
    assert.equal(inapplicable.errors[0]?.pointer, "/increment/sku");
    assert.deepEqual(await lookAt(store), before);
  });

  contractTest("take only what there is, from many callers at once", async (engine) => {
    const { store } = engine;
    const other = await engine.second();
    await store.commit([define(stock), put("a", { fields: '{"stock":50,"sku":"A"}' })]);
    const one = operate("a", { increment: { stock: -1 } });
    const sold = await Promise.all(
      Array.from({ length: 80 }, (_, index) => (index % 2 === 0 ? store : other).commit([one])),
    );
    const done = sold.flat().filter(({ kind }) => kind === "replaced");
    assert.equal(done.length, 50);
    assert.equal(sold.flat().filter(({ kind }) => kind === "invalid").length, 30);
    assert.equal((await other.find("things", "a"))?.fields, '{"stock":0,"sku":"A"}');
    await assertFinds(store, ["a"], { conditions: [is("stock", "number", 0)] });
    await assertFinds(store, [], { conditions: [is("stock", "number", 1)] });
  });

  contractTest("are part of a group that happens as a whole", async ({ store }) => {
    await store.commit([define(stock), put("a", { fields: '{"stock":1,"sku":"A"}' })]);
    const before = await lookAt(store);
    const take = operate("a", { increment: { stock: -1 } });
    const [none] = await store.commit([all([take, put("b", { fields: '{"sku":"B"}' }), take])]);
    assert.ok(none?.kind === "none" && none.index === 2 && none.outcome.kind === "invalid");
    assert.deepEqual(await lookAt(store), before);
    const [group] = await store.commit([all([take, remove("missing", "anything"), take])]);
    assert.equal(group?.kind, "none");
    const [whole] = await store.commit([all([take, put("b", { fields: '{"sku":"B"}' })])]);
    assert.equal(fieldsOf(doneIn(whole)[0]), '{"stock":0,"sku":"A"}');
  });

  contractTest("with a key count once", async ({ store }) => {
    await store.commit([define(stock), put("a", { fields: '{"stock":3,"sku":"A"}' })]);
    const change = all([operate("a", { increment: { stock: -1 } })], once("k"));
    const [first] = await store.commit([change]);
    const [again, third] = await store.commit([change, change]);
    assert.deepEqual(doneIn(again, true), doneIn(first));
    assert.deepEqual(doneIn(third, true), doneIn(first));
    assert.equal((await store.find("things", "a"))?.fields, '{"stock":2,"sku":"A"}');
    await store.commit([remove("a")]);
    assert.deepEqual(await store.commit([change]), [{ kind: "gone" }]);
  });

  contractTest("do not change unique values, which a put has to", async ({ store }) => {
    await store.commit([
      create(),
      put("a", { fields: '{"stock":1}' }),
      define(stock),
      put("b", { fields: '{"stock":1,"sku":"none"}' }),
    ]);
    const outcomes = await store.commit([
      operate("b", { max: { sku: "z" } }),
      // The default of the schema would be a new value.
      operate("a", { increment: { stock: 1 } }),
      operate("b", { increment: { stock: 1 } }),
    ]);
    assert.deepEqual(kinds(outcomes), ["stale", "stale", "replaced"]);
  });

  contractTest("keep the owner, the files and the time of creation", async ({ store }) => {
    const files = JSON.stringify([
      {
        slot: "photo",
        name: "p.png",
        type: "image/png",
        size: 3,
        sha256: "0".repeat(64),
        key: "k",
      },
    ]);
    const [, created] = await store.commit([
      create(),
      { ...put("a", { fields: '{"n":1}' }), owner: "ada", files },
    ]);
    const [changed, onFile] = await store.commit([
      operate("a", { increment: { n: 1 } }, { owner: "ada" }),
      operate("a", { append: { photo: [1] } }),
    ]);
    const { revision, ...before } = written(created);
    assert.deepEqual(written(changed), {
      ...before,
      revision: revision + 1,
      updatedAt: 40,
      fields: '{"n":2}',
      sharesDate: true,
    });
    assert.equal(onFile?.kind, "inapplicable");
  });
}
