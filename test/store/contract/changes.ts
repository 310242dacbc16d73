// Changes: every expectation and outcome; a rejected change has no effect.

import assert from "node:assert/strict";
import {
  all,
  create,
  idsFrom,
  idsOf,
  kinds,
  put,
  remove,
  revisionOf,
  totalOf,
  written,
} from "./change-helpers.ts";
import type { ContractTest } from "./engine-under-test.ts";

export function changes(contractTest: ContractTest): void {
  const expectations = [
    { kind: "put", there: false, expect: "anything", outcome: "created" },
    { kind: "put", there: false, expect: "nothing", outcome: "created" },
    { kind: "put", there: false, expect: "a revision", outcome: "missing" },
    { kind: "put", there: true, expect: "anything", outcome: "replaced" },
    { kind: "put", there: true, expect: "nothing", outcome: "taken" },
    { kind: "put", there: true, expect: "its revision", outcome: "replaced" },
    { kind: "put", there: true, expect: "an older revision", outcome: "stale" },
    { kind: "put", there: true, expect: "a later revision", outcome: "stale" },
    { kind: "remove", there: false, expect: "anything", outcome: "missing" },
    { kind: "remove", there: false, expect: "a revision", outcome: "missing" },
    { kind: "remove", there: true, expect: "anything", outcome: "removed" },
    { kind: "remove", there: true, expect: "its revision", outcome: "removed" },
    { kind: "remove", there: true, expect: "an older revision", outcome: "stale" },
    { kind: "remove", there: true, expect: "a later revision", outcome: "stale" },
  ] as const;

  contractTest(
    "each expectation has its outcome, and a rejected change has no effect",
    async ({ store }) => {
      for (const [row, { kind, there, expect, outcome }] of expectations.entries()) {
        const collection = `row-${row}`;
        const text = `${kind} where ${there ? "something" : "nothing"} is, expecting ${expect}`;
        const placed = there ? [put("a", { collection }), put("a", { collection })] : [];
        await store.commit([create(collection), put("other", { collection }), ...placed]);
        const before = await store.find(collection, "a");
        const collectionBefore = await store.collection(collection);
        const revision = before?.revision ?? 1;
        const expected = {
          anything: "anything",
          nothing: "nothing",
          "a revision": revision,
          "its revision": revision,
          "an older revision": revision - 1,
          "a later revision": revision + 1,
        } as const;
        const wanted = expected[expect];
        const change =
          kind === "put"
            ? put("a", { collection, expect: wanted, fields: '{"new":1}', at: 99 })
            : remove("a", wanted === "nothing" ? "anything" : wanted, collection);
        const [result] = await store.commit([change]);
        assert.equal(result?.kind, outcome, text);
        const after = await store.find(collection, "a");
        if (outcome === "created" || outcome === "replaced") {
          assert.deepEqual(after, written(result), text);
          assert.deepEqual([after?.fields, after?.updatedAt], ['{"new":1}', 99], text);
          assert.equal(after?.createdAt, outcome === "created" ? 99 : before?.createdAt, text);
        } else if (outcome === "removed") {
          assert.equal(after, undefined, text);
        } else {
          assert.deepEqual(after, before, text);
          assert.deepEqual(await store.collection(collection), collectionBefore, text);
        }
      }
    },
  );

  contractTest("the changes of a batch are applied one by one, in order", async ({ store }) => {
    const outcomes = await store.commit([
      create(),
      put("a", { expect: "nothing" }),
      put("a", { expect: "nothing" }),
      put("a"),
      put("b", { expect: 1_000 }),
      remove("a"),
      remove("a"),
      put("a", { expect: "nothing", at: 77 }),
      put("c", { collection: "unknown" }),
    ]);
    assert.deepEqual(kinds(outcomes), [
      "done",
      "created",
      "taken",
      "replaced",
      "missing",
      "removed",
      "missing",
      "created",
      "missing",
    ]);
    assert.equal((await store.find("things", "a"))?.createdAt, 77);
    assert.equal(await totalOf(store), 1);
  });

  contractTest("one batch may change several collections", async ({ store }) => {
    const [, , one, two] = await store.commit([
      create("one"),
      create("two"),
      put("a", { collection: "one", fields: '{"in":1}' }),
      put("a", { collection: "two", fields: '{"in":2}' }),
    ]);
    assert.deepEqual(await store.find("one", "a"), written(one));
    assert.deepEqual(await store.find("two", "a"), written(two));
  });

  contractTest("no changes have no outcomes", async ({ store }) => {
    assert.deepEqual(await store.commit([]), []);
  });

  contractTest("what is put is returned unchanged", async ({ store }) => {
    const texts = [
      "{}",
      '{"a":1.10,"b":12345678901234567890,"c":1e400}',
      '{"é":"\\u0000 ☃ 𝄞 \'\\" \\\\"}',
      `{"long":"${"x".repeat(1_000_000)}"}`,
    ];
    await store.commit([create(), ...texts.map((fields, index) => put(`id-${index}`, { fields }))]);
    for (const [index, fields] of texts.entries())
      assert.equal((await store.find("things", `id-${index}`))?.fields, fields);
  });

  contractTest("ids are case-sensitive, and are never patterns", async ({ store }) => {
    await store.commit([create(), put("a"), put("A"), put("a~b"), put("a.b"), put("a-b")]);
    assert.equal(await totalOf(store), 5);
    assert.equal((await store.find("things", "A"))?.fields, '{"of":"A"}');
    assert.equal(await store.find("things", "a_b"), undefined);
    assert.equal(await store.find("things", "a%"), undefined);
  });

  contractTest("generated ids are new, and are there for what follows", async ({ store }) => {
    const add = (id: string, collection = "things") =>
      ({ ...put(id, { collection, expect: "nothing" }), isNewId: true }) as const;
    await store.commit([create(), create("others")]);
    const many = idsFrom(21);
    const outcomes = await store.commit([
      ...many.map((id) => add(id)),
      add("other", "others"),
      ...[put("id-3", { fields: '{"later":1}' }), remove("id-20"), add("x"), add("y")],
      ...[put("z", { expect: "nothing" }), put("x", { expect: "nothing" })],
      all([add("undone"), put("x", { expect: "nothing" })]),
      all([add("done"), put("done")]),
    ]);
    assert.deepEqual(kinds(outcomes), [
      ...new Array<string>(22).fill("created"),
      ...["replaced", "removed", "created", "created", "created", "taken", "none", "all"],
    ]);
    const there = [...many.slice(0, 20), "x", "y", "z", "done"];
    assert.deepEqual(await idsOf(store), there);
    assert.equal(await totalOf(store), there.length);
    assert.equal((await store.find("others", "other"))?.revision, 2);
    assert.equal((await store.find("things", "id-3"))?.fields, '{"later":1}');
    for (const [index, id] of many.slice(4, 20).entries())
      assert.deepEqual(await store.find("things", id), written(outcomes[index + 4]));
  });

  contractTest("an impossible id is not found", async ({ store }) => {
    await store.commit([create(), put("a")]);
    for (const id of ["", "a\0", "\0", "\uffff", "a\n", "é", "a".repeat(5_000)]) {
      assert.equal(await store.find("things", id), undefined);
      const gone = await store.commit([remove(id), { kind: "revoke-token", id, at: 1 }]);
      assert.deepEqual(kinds(gone), ["missing", "missing"]);
    }
  });

  contractTest("revisions only increase and are never reused", async (engine) => {
    const { store } = engine;
    const outcomes = await store.commit([
      create(),
      put("a"),
      put("b"),
      put("a"),
      remove("b"),
      put("b"),
      remove("b"),
    ]);
    // The newest state is gone, and so may be every trace of its revision.
    const again = await (await engine.reopen()).commit([put("b"), remove("b"), put("c")]);
    const revisions = [...outcomes.slice(1), ...again].map(revisionOf);
    assert.deepEqual(
      revisions,
      [...new Set(revisions)].sort((one, other) => one - other),
    );
  });
}
