// The bytes of files: added up by owner, and limited, also when many are written at the same time.

import assert from "node:assert/strict";
import type { StoredFile } from "../../../src/model/file.ts";
import type { Outcome, Put, Store } from "../../../src/store/store.ts";
import { all, create, idsFrom, kinds, lookAt, put, remove } from "./change-helpers.ts";
import { type ContractTest, testFileQuotas } from "./engine-under-test.ts";
import { putJson } from "./query-helpers.ts";

const { perSubject, total } = testFileQuotas;

const file = (key: string, size: number): StoredFile => ({
  ...{ slot: "file", name: "a", type: "b", sha256: "0".repeat(64) },
  ...{ key, size },
});

/** A put of a resource of an owner with files of these sizes. */
const attach = (
  id: string,
  owner: string,
  sizes: readonly number[],
  more: Partial<Put> = {},
): Put =>
  putJson(
    id,
    {},
    {
      files: JSON.stringify(sizes.map((size, index) => file(`${id}/${index}/${size}`, size))),
      owner,
      ...more,
    },
  );

const bytesOf = (store: Store): Promise<readonly number[]> =>
  Promise.all([store.fileBytes("ann"), store.fileBytes("bob"), store.fileBytes()]);

const over = (of: "subject" | "all", limit: number, used: number): Outcome => ({
  ...{ kind: "over-quota", of, limit, used },
  ...(of === "subject" && { owner: "ann" }),
});

export function fileQuotas(contractTest: ContractTest): void {
  contractTest("the bytes of files follow every change", async (engine) => {
    const { store } = engine;
    assert.deepEqual(await bytesOf(store), [0, 0, 0]);
    await store.commit([create(), create("more"), attach("a", "ann", [1, 2]), put("b")]);
    await store.commit([attach("a", "ann", [10], { collection: "more" })]);
    await store.commit([putJson("c", {}, { files: JSON.stringify([file("c", 5)]) })]);
    assert.deepEqual(await bytesOf(store), [13, 0, 18]);
    await store.commit([attach("a", "ann", [1, 4])]);
    assert.deepEqual(await bytesOf(store), [15, 0, 20]);
    await store.commit([attach("a", "ann", [1, 4], { setOwner: "bob" })]);
    assert.deepEqual(await bytesOf(store), [10, 5, 20]);
    await store.commit([put("c"), attach("d", "bob", [100]), remove("d")]);
    assert.deepEqual(await bytesOf(store), [10, 5, 15]);
    await store.commit([all([attach("d", "bob", [100]), remove("none")])]);
    const other = await engine.second();
    assert.deepEqual(await bytesOf(other), [10, 5, 15]);
    await store.commit([{ kind: "drop", collection: "more", isEmptyOnly: false }, remove("a")]);
    assert.deepEqual(await bytesOf(await engine.reopen()), [0, 0, 0]);
  });

  contractTest(
    "an owner has at most its quota, and gets back what is removed",
    async ({ store }) => {
      await store.commit([create(), attach("a", "ann", [perSubject - 10])]);
      const before = await lookAt(store);
      const outcomes = await store.commit([
        attach("b", "ann", [11]),
        attach("a", "ann", [perSubject - 10, 11]),
        all([attach("b", "ann", [5]), attach("c", "ann", [6])]),
      ]);
      const refused = over("subject", perSubject, perSubject - 10);
      assert.deepEqual(outcomes, [
        refused,
        refused,
        { kind: "none", index: 1, outcome: over("subject", perSubject, perSubject - 5) },
      ]);
      assert.deepEqual(await lookAt(store), before);
      const accepted = await store.commit([
        ...[attach("b", "ann", [10]), attach("c", "bob", [11]), put("d")],
        // As much as before, less, and what another has given back.
        ...[
          attach("a", "ann", [perSubject - 10]),
          attach("a", "ann", [3]),
          attach("f", "ann", [100]),
        ],
        all([remove("a"), remove("b"), attach("e", "ann", [perSubject - 100])]),
      ]);
      assert.deepEqual(kinds(accepted), [
        ...["created", "created", "created", "replaced", "replaced", "created", "all"],
      ]);
      const [moved] = await store.commit([attach("c", "bob", [11], { setOwner: "ann" })]);
      assert.deepEqual(moved, over("subject", perSubject, perSubject));
      assert.deepEqual(await bytesOf(store), [perSubject, 11, perSubject + 11]);
    },
  );

  contractTest("all together have at most their quota", async ({ store }) => {
    const owners = idsFrom(total / perSubject);
    await store.commit([create(), ...owners.map((id) => attach(id, id, [perSubject]))]);
    const [extra] = await store.commit([attach("x", "ann", [1])]);
    assert.deepEqual(extra, over("all", total, total));
    await store.commit([remove(owners[0] ?? "")]);
    const [fits, more] = await store.commit([attach("x", "ann", [perSubject]), put("y")]);
    assert.deepEqual(kinds([fits, more].flatMap((each) => each ?? [])), ["created", "created"]);
    assert.equal(await store.fileBytes(), total);
  });

  contractTest("many at the same time do not exceed a quota", async (engine) => {
    const stores = [engine.store, await engine.second()];
    await engine.store.commit([create("c0"), create("c1"), create("c2")]);
    const size = perSubject / 8;
    const writes = idsFrom(64).map((id, index) =>
      stores[index % 2]?.commit([attach(id, "ann", [size], { collection: `c${index % 3}` })]),
    );
    const outcomes = (await Promise.all(writes)).flatMap((each) => each ?? []);
    assert.equal(outcomes.filter(({ kind }) => kind === "created").length, 8);
    assert.equal(outcomes.filter(({ kind }) => kind === "over-quota").length, 56);
    assert.equal(await engine.store.fileBytes("ann"), perSubject);
  });
}
