// Changes that were decided by the state of other collections: they are applied to that state only.

import assert from "node:assert/strict";
import type { Put, ReadState, ResourceChange, Store } from "../../../src/store/store.ts";
import { all, create, once, operate, put, remove } from "./change-helpers.ts";
import type { ContractTest } from "./engine-under-test.ts";

const member = (id: string) => put(id, { collection: "members" });

const revisionOf = async (store: Store, name: string) =>
  (await store.collection(name))?.revision ?? -1;

/** What a change that is decided now names. */
const read = async (store: Store, ...names: string[]): Promise<readonly ReadState[]> =>
  Promise.all(
    names.map(async (name) => ({ collection: name, revision: await revisionOf(store, name) })),
  );

const after = <C extends ResourceChange>(change: C, unchanged: readonly ReadState[]): C => ({
  ...change,
  unchanged,
});

const newPut = (id: string): Put => ({ ...put(id, { expect: "nothing" }), isNewId: true });

export function unchangedCollections(contractTest: ContractTest): void {
  contractTest("let a change pass, and prevent it after any write", async ({ store }) => {
    await store.commit([create(), create("members"), member("m"), put("a", { fields: '{"n":1}' })]);
    const before = await read(store, "members");
    const kinds = async (unchanged: readonly ReadState[]) => {
      const changes = [
        after(newPut("b"), unchanged),
        after(put("a", { fields: '{"n":2}' }), unchanged),
        after(operate("a", { increment: { n: 1 } }), unchanged),
        after(remove("b"), unchanged),
      ];
      return (await store.commit(changes)).map(({ kind }) => kind);
    };
    assert.deepEqual(await kinds(before), ["created", "replaced", "replaced", "removed"]);
    await store.commit([remove("m", "anything", "members")]);
    const stored = await store.collection("things");
    assert.deepEqual(await kinds(before), ["stale", "stale", "stale", "stale"]);
    assert.deepEqual(await store.collection("things"), stored);
    assert.deepEqual(await kinds(await read(store, "members")), [
      ...["created", "replaced", "replaced", "removed"],
    ]);
  });

  contractTest(
    "prevent a change after a resource of the server's own was written",
    async (engine) => {
      const own = (id: string) => put(id, { collection: "-own" });
      const { store } = engine;
      await store.commit([create(), create("-own"), own("a"), own("b")]);
      const states = async (id: string) => {
        const revision = (await store.find("-own", id))?.revision ?? -1;
        return [{ collection: "-own", id, revision }] as const;
      };
      const [a, none] = [await states("a"), await states("c")];
      const kinds = async () => {
        const changes = [after(newPut("x"), a), after(put("x"), a), after(remove("x"), none)];
        return (await store.commit(changes)).map(({ kind }) => kind);
      };
      assert.deepEqual(await kinds(), ["created", "replaced", "removed"]);
      await store.commit([own("b")]);
      assert.deepEqual(await kinds(), ["created", "replaced", "removed"]);
      await (await engine.second()).commit([own("a"), own("c"), put("x")]);
      assert.deepEqual(await kinds(), ["stale", "stale", "stale"]);
      await store.commit([remove("a", "anything", "-own")]);
      assert.deepEqual(await kinds(), ["stale", "stale", "stale"]);
    },
  );

  contractTest("prevent a change also one by one, in the order of a commit", async ({ store }) => {
    await store.commit([create(), create("members"), member("m")]);
    const before = await read(store, "members");
    const outcomes = await store.commit([
      after(newPut("a"), before),
      remove("m", "anything", "members"),
      after(newPut("b"), before),
      newPut("c"),
    ]);
    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      ["created", "removed", "stale", "created"],
    );
  });

  contractTest("can be missing, and must stay so", async ({ store }) => {
    await store.commit([create()]);
    const before = await read(store, "members");
    assert.deepEqual(before, [{ collection: "members", revision: -1 }]);
    const [first] = await store.commit([after(newPut("a"), before)]);
    assert.equal(first?.kind, "created");
    const [, second] = await store.commit([create("members"), after(newPut("b"), before)]);
    assert.equal(second?.kind, "stale");
    await store.commit([{ kind: "drop", collection: "members", isEmptyOnly: false }]);
    const [third, other] = await store.commit([
      after(newPut("c"), before),
      after(newPut("d"), [{ collection: "members", revision: 1 }]),
    ]);
    assert.deepEqual([third?.kind, other?.kind], ["created", "stale"]);
  });

  contractTest("can be single resources, which others do not count for", async ({ store }) => {
    await store.commit([create(), create("members"), member("m")]);
    const revision = (await store.find("members", "m"))?.revision ?? -1;
    const one = { collection: "members", id: "m", revision };
    const none = { collection: "members", id: "n", revision: -1 };
    await store.commit([member("o")]);
    const [passed] = await store.commit([after(newPut("a"), [one, none])]);
    assert.equal(passed?.kind, "created");
    const outcomes = await store.commit([
      member("n"),
      after(newPut("b"), [none]),
      after(put("a"), [one]),
      remove("m", "anything", "members"),
      after(put("a"), [one]),
      after(put("a"), [{ ...none, collection: "nowhere" }]),
    ]);
    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      ["created", "stale", "replaced", "removed", "stale", "replaced"],
    );
  });

  contractTest("are compared before a group, which can change them itself", async ({ store }) => {
    await store.commit([create(), create("members"), member("m")]);
    const before = await read(store, "members", "things");
    const [done] = await store.commit([
      all([member("n"), after(put("a"), before), after(put("b"), before)]),
    ]);
    assert.equal(done?.kind, "all");
    const [failed] = await store.commit([all([put("c"), after(put("d"), before)])]);
    assert.deepEqual(failed, { kind: "none", index: 1, outcome: { kind: "stale" } });
    assert.equal(await store.find("things", "c"), undefined);
    const [tried] = await store.commit([
      { kind: "all", changes: [after(put("d"), before)], isTrial: true },
    ]);
    assert.deepEqual(tried?.kind === "all" && tried.outcomes, [{ kind: "stale" }]);
  });

  contractTest("are compared before changes that pass each on its own", async ({ store }) => {
    await store.commit([create(), put("a")]);
    const before = await read(store, "things");
    const each = (...changes: ResourceChange[]) =>
      ({ kind: "all", changes, isEach: true }) as const;
    const fresh = { ...put("a", { expect: "nothing" }) };
    const [done] = await store.commit([
      each(after(newPut("b"), before), after(fresh, before), after(put("c"), before)),
    ]);
    assert.deepEqual(done?.kind === "all" && done.outcomes.map(({ kind }) => kind), [
      "created",
      "taken",
      "created",
    ]);
    const [late] = await store.commit([each(put("d"), after(put("e"), before))]);
    assert.deepEqual(late?.kind === "all" && late.outcomes.map(({ kind }) => kind), [
      ...["stale", "stale"],
    ]);
    assert.equal(await store.find("things", "d"), undefined);
  });

  contractTest("can be definitions, of which the version counts", async ({ store }) => {
    await store.commit([create()]);
    const none = { collection: "rules", version: 0 };
    const define = { kind: "define", collection: "rules", definition: "{}", at: 5 } as const;
    const [passed, , prevented] = await store.commit([
      after(newPut("a"), [none]),
      define,
      after(newPut("b"), [none]),
    ]);
    assert.deepEqual([passed?.kind, prevented?.kind], ["created", "outdated"]);
    const version = (await store.rules("rules"))?.version ?? -1;
    await store.commit([put("r", { collection: "rules" })]);
    const [same] = await store.commit([after(newPut("c"), [{ collection: "rules", version }])]);
    assert.equal(same?.kind, "created");
    await store.commit([{ ...define, definition: '{"indexed":["a"]}' }]);
    const [other] = await store.commit([
      all([after(newPut("d"), [{ collection: "rules", version }])]),
    ]);
    assert.deepEqual(other, { kind: "none", index: 0, outcome: { kind: "outdated" } });
  });

  contractTest("do not prevent the replay of what was applied", async ({ store }) => {
    await store.commit([create(), create("members")]);
    const change = after(newPut("a"), await read(store, "members"));
    const [first] = await store.commit([all([change], once("k"))]);
    await store.commit([member("m")]);
    const [again] = await store.commit([all([change], once("k"))]);
    assert.deepEqual([first?.kind, again?.kind], ["all", "all"]);
    assert.ok(again?.kind === "all" && again.isReplay);
  });
}
