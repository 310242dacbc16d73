// References: what a resource refers to exists, and nothing is deleted that a resource refers to.

import assert from "node:assert/strict";
import type { Put, Store } from "../../../src/store/store.ts";
import { all, define, kinds, put, remove } from "./change-helpers.ts";
import type { ContractTest } from "./engine-under-test.ts";

const reference = (collection: string) => ({ collection });
const orders = JSON.stringify({
  references: { customer: reference("customers"), "lines[].product": reference("products") },
});
const plain = "{}";

const order = (id: string, fields: unknown): Put =>
  put(id, { collection: "orders", fields: JSON.stringify(fields) });
const customer = (id: string): Put => put(id, { collection: "customers", fields: plain });
const product = (id: string): Put => put(id, { collection: "products", fields: plain });
const dangling = (collection: string, id: string) => ({
  kind: "dangling",
  target: { collection, id },
});
const referenced = { kind: "referenced", by: "orders", isKnown: true };
const removeFrom = (collection: string, id: string) => remove(id, "anything", collection);

async function prepare(store: Store): Promise<void> {
  await store.commit([
    define(plain, "customers"),
    define(plain, "products"),
    define(orders, "orders"),
    ...[customer("a"), customer("b"), product("p")],
  ]);
}

export function references(contractTest: ContractTest): void {
  contractTest("a put names resources that exist", async (engine) => {
    const { store } = engine;
    await prepare(store);
    const other = await engine.second();
    const outcomes = await other.commit([
      order("1", { customer: "a" }),
      order("2", { customer: "x" }),
      order("3", { lines: [{ product: "p" }, { product: "q" }] }),
      order("4", { customer: null, lines: [{}, 1] }),
      order("1", { customer: "b", lines: [{ product: "p" }] }),
    ]);
    assert.deepEqual(kinds(outcomes), ["created", "dangling", "dangling", "created", "replaced"]);
    assert.deepEqual(outcomes[1], dangling("customers", "x"));
    assert.deepEqual(outcomes[2], dangling("products", "q"));
    assert.equal(await store.find("orders", "2"), undefined);
    assert.equal((await store.collection("orders"))?.total, 2);
  });

  contractTest("what a resource refers to is not deleted", async (engine) => {
    const { store } = engine;
    await prepare(store);
    await store.commit([order("1", { customer: "a", lines: [{ product: "p" }] })]);
    const other = await engine.second();
    const refused = await other.commit([
      removeFrom("customers", "a"),
      removeFrom("products", "p"),
      removeFrom("customers", "b"),
    ]);
    assert.deepEqual(refused.slice(0, 2), [referenced, referenced]);
    assert.equal(refused[2]?.kind, "removed");
    const freed = await store.commit([
      order("1", { customer: "a" }),
      removeFrom("products", "p"),
      removeFrom("orders", "1"),
      removeFrom("customers", "a"),
    ]);
    assert.deepEqual(kinds(freed), ["replaced", "removed", "removed", "removed"]);
  });

  contractTest("the references of a group hold after all of its changes", async ({ store }) => {
    await prepare(store);
    const [early] = await store.commit([all([order("1", { customer: "c" }), customer("c")])]);
    assert.equal(early?.kind, "all");
    const [together] = await store.commit([
      all([removeFrom("customers", "c"), removeFrom("orders", "1")]),
    ]);
    assert.equal(together?.kind, "all");
    const before = await store.collection("customers");
    const [broken] = await store.commit([
      all([removeFrom("customers", "a"), order("2", { customer: "a" })]),
    ]);
    assert.equal(broken?.kind, "none");
    assert.deepEqual(await store.collection("customers"), before);
    assert.ok(await store.find("customers", "a"));
    const [moved] = await store.commit([
      all([
        order("3", { customer: "a" }),
        order("3", { customer: "b" }),
        removeFrom("customers", "a"),
      ]),
    ]);
    assert.equal(moved?.kind, "all");
  });

  contractTest("what is deleted in a batch is not referred to later in it", async ({ store }) => {
    await prepare(store);
    await store.commit([order("1", { customer: "a" })]);
    const outcomes = await store.commit([
      all([removeFrom("customers", "a"), removeFrom("orders", "1")]),
      order("1", { customer: "a" }),
    ]);
    assert.deepEqual(kinds(outcomes), ["all", "dangling"]);
    assert.equal(await store.find("orders", "1"), undefined);
  });

  contractTest("resources of one collection can refer to each other", async ({ store }) => {
    const parts = JSON.stringify({ references: { parent: reference("parts") } });
    const part = (id: string, parent: string) =>
      put(id, { collection: "parts", fields: JSON.stringify({ parent }) });
    const outcomes = await store.commit([
      define(parts, "parts"),
      part("self", "self"),
      all([part("x", "y"), part("y", "x")]),
      removeFrom("parts", "x"),
      removeFrom("parts", "self"),
      all([removeFrom("parts", "x"), removeFrom("parts", "y")]),
    ]);
    assert.deepEqual(kinds(outcomes), ["done", "created", "all", "referenced", "removed", "all"]);
  });

  contractTest("a collection that others refer to is not deleted", async (engine) => {
    const { store } = engine;
    await prepare(store);
    const drop = (collection: string) =>
      ({ kind: "drop", collection, isEmptyOnly: false }) as const;
    const other = await engine.second();
    assert.deepEqual(await other.commit([drop("customers")]), [referenced]);
    assert.deepEqual(kinds(await other.commit([define(plain, "orders"), drop("customers")])), [
      ...["done", "done"],
    ]);
    assert.deepEqual(kinds(await store.commit([drop("orders"), drop("products")])), [
      ...["done", "done"],
    ]);
  });

  contractTest("references hold whatever else a new definition changes", async ({ store }) => {
    await prepare(store);
    await store.commit([order("1", { customer: "a", note: "first", n: 1 })]);
    const others = [
      { searchable: ["note"] },
      { searchable: ["other"] },
      { indexed: ["n"] },
      { searchable: ["note"], unique: ["n"] },
      {},
    ];
    for (const other of others) {
      const definition = JSON.stringify({ ...JSON.parse(orders), ...other });
      const outcomes = await store.commit([
        define(definition, "orders"),
        removeFrom("customers", "a"),
        order("2", { customer: "x" }),
      ]);
      assert.deepEqual(kinds(outcomes), ["done", "referenced", "dangling"], definition);
    }
  });

  contractTest("a definition applies to resources that exist", async ({ store }) => {
    await store.commit([
      define(plain, "customers"),
      define(plain, "orders"),
      ...[customer("a"), customer("b")],
      ...[order("1", { customer: "a" }), order("2", { customer: "gone" })],
    ]);
    const definition = JSON.stringify({ references: { customer: reference("customers") } });
    const outcomes = await store.commit([
      define(definition, "orders"),
      removeFrom("customers", "a"),
      removeFrom("customers", "b"),
      order("2", { customer: "gone", n: 1 }),
      order("2", { customer: "b" }),
    ]);
    assert.deepEqual(kinds(outcomes), ["done", "referenced", "removed", "replaced", "dangling"]);
  });

  contractTest("no writer leaves a reference to nothing", async (engine) => {
    const { store } = engine;
    await prepare(store);
    const other = await engine.second();
    for (let round = 0; round < 20; round++) {
      const id = `c${round}`;
      await store.commit([customer(id)]);
      const [[written], [removed]] = await Promise.all([
        store.commit([order(`o${round}`, { customer: id })]),
        other.commit([removeFrom("customers", id)]),
      ]);
      const isOrdered = (await store.find("orders", `o${round}`)) !== undefined;
      const isCustomer = (await store.find("customers", id)) !== undefined;
      assert.equal(isOrdered, written?.kind === "created");
      assert.equal(isCustomer, removed?.kind !== "removed");
      assert.ok(isCustomer || !isOrdered, `round ${round}: ${written?.kind}, ${removed?.kind}`);
      assert.ok(isCustomer === isOrdered, "one of both is done");
    }
  });
}
