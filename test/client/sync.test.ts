// Local copies: what is shown, sent and decided, with a real server and a network that fails on purpose.

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { Client, type ClientOptions, etagOf, Problem } from "../../client/index.ts";
import {
  type Copy,
  memory,
  Sync,
  type SyncOptions,
  type SyncStorage,
} from "../../client/sync/index.ts";
import { startApp, type TestApp } from "../http/app.ts";

interface Order {
  readonly id: string;
  readonly item: string;
  readonly status?: string;
  readonly count?: number;
  readonly customer?: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

interface Shop {
  readonly orders: {
    readonly resource: Order;
    readonly draft: Omit<Order, "id" | "createdAt" | "updatedAt">;
  };
  readonly customers: {
    readonly resource: { readonly id: string; readonly name: string };
    readonly draft: { readonly name: string };
  };
}

let app: TestApp;
before(async () => {
  app = await startApp();
});
after(() => app.stop());

const client = (options: ClientOptions = {}) =>
  new Client<Shop>(app.url, { token: app.admin, ...options });
const orders = () => client().collection("orders");

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const sync of opened.splice(0)) await sync.close();
});

/** Rounds only when they are asked for. */
async function open(api = client(), options: SyncOptions = {}): Promise<Sync<Shop>> {
  const sync = await Sync.open(api, { everyMs: 3_600_000, waitMs: 1, ...options });
  opened.push(sync);
  return sync;
}

const text = { type: "string" };
const object = (properties: object, ...required: string[]) => ({
  schema: { type: "object", properties, required },
});
const definitions = {
  customers: object({ name: text }, "name"),
  orders: {
    ...object({ item: text, status: text, count: { type: "number" }, customer: text }, "item"),
    ...{ references: { customer: { collection: "customers" } }, unique: ["item"] },
  },
};

/** Deletes the collections, and creates them again. */
async function fresh(): Promise<void> {
  const change = async (name: string, method: string, body?: object) =>
    app.request(`/-/collections/${name}`, {
      ...{ method, headers: { "content-type": "application/json" } },
      ...(body && { body: JSON.stringify(body) }),
    });
  for (const name of ["orders", "customers"]) await change(`${name}?confirm=${name}`, "DELETE");
  for (const [name, definition] of Object.entries(definitions))
    assert.ok((await change(name, "PUT", definition)).ok);
}

const items = (copy: Copy<Shop["orders"]>) => copy.all().map(({ item }) => item);

type Fault = "before" | "after" | "ok" | number;

/** A network that fails as often as the list says, before or after the server has worked. */
function failing(...faults: Fault[]) {
  const sent: string[] = [];
  const network = async (input: string | URL | Request, init?: RequestInit) => {
    const fault = faults.shift() ?? "ok";
    if (fault === "before") throw new TypeError("cut");
    if (typeof fault === "number") return new Response("{}", { status: fault });
    const response = await fetch(input, init);
    sent.push(`${init?.method} ${response.status}`);
    if (fault === "after") throw new TypeError("cut");
    return response;
  };
  return { fetch: network as typeof fetch, faults, sent };
}

const isClean = (sync: Sync<Shop>) =>
  assert.deepEqual([sync.pending, sync.conflicts, sync.status], [[], [], "idle"]);

const theConflict = (sync: Sync<Shop>) => {
  const [conflict, ...others] = sync.conflicts;
  assert.equal(others.length, 0);
  if (conflict?.collection !== "orders") assert.fail("there is no conflict of an order");
  return conflict;
};

beforeEach(fresh);

describe("a local copy", () => {
  it("shows writes at once, sends them in order, and follows the feed", async () => {
    const sync = await open();
    const all = sync.copy("orders");
    assert.equal(all.state, "loading");
    await all.ready();
    const customer = await sync.create("customers", { name: "Ada" });
    const order = await sync.create("orders", { item: "Mug", customer: customer.id });
    assert.deepEqual(items(all), ["Mug"]);
    assert.match(order.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.ok(customer.id < order.id);
    await sync.update("orders", order, { count: 2 });
    assert.equal(all.get(order.id)?.count, 2);
    await sync.now();
    isClean(sync);
    const there = await orders().get(order.id);
    assert.deepEqual(all.all(), [there]);
    assert.equal(etagOf(all.get(order.id) ?? {}), etagOf(there));
    await orders().update(there, { count: 3 });
    await sync.now();
    assert.equal(all.get(order.id)?.count, 3);
    await orders().remove(order.id);
    await sync.now();
    assert.deepEqual(all.all(), []);
  });

  it("is the same snapshot until something changes, and unchanged resources are the same objects", async () => {
    const first = await orders().create({ item: "Mug" });
    const second = await orders().create({ item: "Cup" });
    const sync = await open();
    const all = sync.copy("orders");
    assert.equal(sync.copy("orders"), all);
    await all.ready();
    const before = all.all();
    await sync.now();
    await sync.create("customers", { name: "Ada" });
    await sync.now();
    assert.equal(all.all(), before);
    let calls = 0;
    const end = all.subscribe(() => calls++);
    await sync.update("orders", first.id, { count: 1 });
    assert.notEqual(all.all(), before);
    assert.equal(all.all(), all.all());
    assert.equal(all.get(second.id), before[1]);
    assert.equal(calls, 1);
    end();
    await sync.now();
    assert.equal(all.get(second.id), before[1]);
    assert.equal(calls, 1);
  });

  it("never loses sight of what was written, nor shows an older state", async () => {
    const sync = await open();
    const all = sync.copy("orders");
    await all.ready();
    const order = await sync.create("orders", { item: "Mug", count: 1 });
    const seen: (number | undefined)[] = [];
    all.subscribe(() => seen.push(all.get(order.id)?.count));
    await sync.now();
    await sync.update("orders", order, { count: 2 });
    await sync.now();
    assert.deepEqual([...new Set(seen)], [1, 2]);
  });

  it("of a query has what matches, and before it is sent what the program says", async () => {
    await orders().create({ item: "Mug", status: "open" });
    const sync = await open();
    const where = { status: "open" };
    const isOpen = sync.copy("orders", { where });
    const all = sync.copy("orders");
    const paid = sync.copy("orders", {
      where: { status: "paid" },
      matches: ({ status }) => status === "paid",
    });
    await Promise.all([isOpen.ready(), all.ready(), paid.ready()]);
    const cup = await sync.create("orders", { item: "Cup", status: "new" });
    assert.deepEqual(
      [items(isOpen), items(all), items(paid)],
      [["Mug", "Cup"], ["Mug", "Cup"], []],
    );
    await sync.now();
    assert.deepEqual([items(isOpen), items(all)], [["Mug"], ["Mug", "Cup"]]);
    await sync.update("orders", cup.id, { status: "paid" });
    await sync.now();
    assert.deepEqual([items(isOpen), items(all), items(paid)], [["Mug"], ["Mug", "Cup"], ["Cup"]]);
    await sync.forget(all);
    await sync.forget(paid);
    await orders().update(cup.id, { status: "open" });
    await sync.now();
    assert.deepEqual(items(isOpen), ["Mug", "Cup"]);
    assert.deepEqual(items(sync.copy("orders")), []);
  });

  it("keeps what was written while the first copy was read out of copies that it does not match", async () => {
    const network = failing();
    const sync = await open(client(network));
    network.faults.push("ok", "before");
    const isOpen = sync.copy("orders", { where: { status: "open" } });
    await sync.create("orders", { item: "Mug", status: "paid" });
    await sync.create("orders", { item: "Cup", status: "open" });
    await isOpen.ready();
    await sync.now();
    assert.deepEqual(items(isOpen), ["Cup"]);
  });

  it("says why it cannot be read, while others go on", async () => {
    const sync = await open();
    const wrong = sync.copy("orders", { where: { nothing: 1 } as never });
    const all = sync.copy("customers");
    await assert.rejects(
      wrong.ready(),
      (error) => error instanceof Problem && error.status === 400,
    );
    assert.equal(wrong.problem?.kind, "invalid-parameter");
    assert.equal((await all.ready()).state, "ready");
  });

  it("of a collection that does not exist is empty", async () => {
    const sync = await Sync.open(new Client(app.url, { token: app.admin }), { everyMs: 3_600_000 });
    opened.push(sync);
    const none = await sync.copy("later").ready();
    assert.deepEqual(none.all(), []);
    await app.post("later", { a: 1 });
    await sync.now();
    assert.equal(none.all().length, 1);
    await app.request("/-/collections/later?confirm=later", { method: "DELETE" });
    await sync.now();
    assert.equal(none.all().length, 0);
  });

  it("is there at once in the next session, and drops copies that nobody asks for", async () => {
    const storage = memory();
    const first = await open(client(), { storage });
    await orders().create({ item: "Mug" });
    const old = await first.copy("orders", { where: { item: "Mug" } }).ready();
    await first.copy("orders").ready();
    await first.close();
    await assert.rejects(first.create("orders", { item: "Cup" }), /closed/);
    const records = await storage.load();
    const copy = records.find(([key]) => key === old.key)?.[1];
    await storage.save([[old.key, { ...copy, readAt: 0 }]]);
    const { fetch } = failing(...Array<Fault>(9).fill("before"));
    const second = await open(client({ fetch }), { storage });
    assert.deepEqual(items(second.copy("orders")), ["Mug"]);
    assert.equal(second.copy("orders").state, "ready");
    await second.close();
    const third = await open(client(), { storage });
    third.copy("orders");
    await third.now();
    assert.deepEqual((await storage.load()).map(([key]) => key.split("/")[0]).sort(), [
      "copy",
      "row",
    ]);
  });
});

describe("a pending write", () => {
  it("waits for the network, also in the next session, and is sent once", async () => {
    const storage = memory();
    const { fetch, faults } = failing();
    faults.push(...Array<Fault>(50).fill("before"));
    const sync = await open(client({ fetch }), { storage });
    const mug = await sync.create("orders", { item: "Mug" });
    await sync.now();
    assert.equal(sync.status, "offline");
    assert.ok(sync.error instanceof Problem);
    await sync.update("orders", mug, { count: 1 });
    await sync.close();
    faults.length = 0;
    const again = await open(client({ fetch }), { storage });
    assert.equal(again.pending.length, 2);
    await again.now();
    isClean(again);
    assert.equal((await orders().get(mug.id)).count, 1);
  });

  it("is done once, whatever answer is lost", async () => {
    const network = failing();
    const sync = await open(client(network));
    const all = await sync.copy("orders").ready();
    const lost = async () => {
      await sync.now();
      network.faults.push("after", "after", 503, 429);
    };
    await lost();
    const mug = await sync.create("orders", { item: "Mug" });
    await lost();
    await sync.update("orders", mug, { count: 1 });
    await lost();
    await sync.replace("orders", mug.id, { item: "Cup" });
    for (let round = 0; round < 9; round++) await sync.now();
    isClean(sync);
    assert.deepEqual(items(all), ["Cup"]);
    await lost();
    await sync.remove("orders", mug.id);
    for (let round = 0; round < 9; round++) await sync.now();
    isClean(sync);
    assert.deepEqual(all.all(), []);
  });

  it("that was done, and whose resource was removed since, is done", async () => {
    const network = failing();
    const sync = await open(client(network));
    await sync.now();
    network.faults.push("after", ...Array<Fault>(20).fill("before"));
    const mug = await sync.create("orders", { item: "Mug" });
    await sync.now();
    await orders().remove(mug.id);
    network.faults.length = 0;
    await sync.now();
    isClean(sync);
    assert.ok(network.sent.includes("POST 410"));
    assert.equal(await orders().find(mug.id), undefined);
  });

  it("that was done with another token is done, if its state is there", async () => {
    let token = app.admin;
    const network = failing();
    const sync = await open(client({ ...network, token: () => token }), { waitMs: 3_600_000 });
    const all = await sync.copy("orders").ready();
    const lose = async (write: () => Promise<unknown>) => {
      network.faults.push("after", 401);
      await write();
      await sync.now();
      while (network.faults.length > 0) await sync.now();
      assert.equal(sync.status, "unauthorized");
      token = token === app.admin ? await app.token("*:*") : app.admin;
      await sync.now();
      isClean(sync);
    };
    const { id } = await orders().create({ item: "Mug" });
    await sync.now();
    await lose(() => sync.create("orders", { item: "Pot" }));
    await lose(() => sync.update("orders", id, { count: 7 }));
    await lose(() => sync.replace("orders", id, { item: "Cup" }));
    assert.deepEqual(items(all).sort(), ["Cup", "Pot"]);
    await lose(() => sync.remove("orders", id));
    assert.deepEqual(items(all), ["Pot"]);
  });

  it("that has created is done, also when somebody else has changed it since", async () => {
    let token = app.admin;
    const network = failing();
    const sync = await open(client({ ...network, token: () => token }), { waitMs: 3_600_000 });
    const all = await sync.copy("orders").ready();
    await sync.now();
    network.faults.push("after", 401);
    const mug = await sync.create("orders", { item: "Mug" });
    while (network.faults.length > 0) await sync.now();
    await orders().update(mug.id, { count: 9 });
    token = await app.token("*:*");
    await sync.now();
    isClean(sync);
    assert.equal(all.get(mug.id)?.count, 9);
  });

  it("stays pending while the answer is one that passes", async () => {
    for (const status of [408, 429, 500, 503, 507]) {
      const network = failing();
      const sync = await open(client(network), { waitMs: 3_600_000 });
      await sync.now();
      network.faults.push(status);
      await sync.create("orders", { item: `Mug ${status}` });
      await sync.now();
      while (network.faults.length > 0) await sync.now();
      await sync.now();
      isClean(sync);
    }
    assert.equal(await app.total("orders"), 5);
  });

  it("waits for a new token", async () => {
    let token = "rst_old";
    const sync = await open(client({ token: () => token }));
    await sync.create("orders", { item: "Mug" });
    await sync.now();
    assert.equal(sync.status, "unauthorized");
    token = app.admin;
    await sync.now();
    isClean(sync);
  });

  it("that cannot be stored is rejected, and nothing is shown or sent", async () => {
    const storage = memory();
    const { save } = storage;
    let isFull = false;
    const full: SyncStorage = {
      ...storage,
      save: (records) => (isFull ? Promise.reject(new Error("QuotaExceeded")) : save(records)),
    };
    const sync = await open(client(), { storage: full });
    const all = await sync.copy("orders").ready();
    isFull = true;
    all.subscribe(() =>
      assert.deepEqual(
        all.all().filter(({ item }) => item === "Mug"),
        [],
      ),
    );
    await assert.rejects(sync.create("orders", { item: "Mug" }), /Quota/);
    assert.deepEqual([all.all(), sync.pending], [[], []]);
    await orders().create({ item: "Cup" });
    await sync.now();
    assert.equal(sync.status, "offline");
    assert.match(String(sync.error), /Quota/);
    assert.deepEqual(items(all), []);
    isFull = false;
    await sync.now();
    assert.deepEqual([items(all), sync.status, sync.error], [["Cup"], "idle", undefined]);
  });

  it("needs a resource that is known", async () => {
    const sync = await open();
    const mug = await orders().create({ item: "Mug" });
    await assert.rejects(sync.update("orders", mug.id, { count: 1 }), /No copy has orders/);
    await sync.update("orders", mug, { count: 1 });
    await sync.now();
    isClean(sync);
    assert.equal((await orders().get(mug.id)).count, 1);
  });

  it("follows those before it, sent or not, without waiting for them", async () => {
    const sync = await open();
    const mug = await orders().create({ item: "Mug" });
    const all = await sync.copy("orders").ready();
    const first = sync.update("orders", mug, { count: 1 });
    const second = sync.update("orders", mug, { status: "open" });
    await Promise.all([first, second]);
    await sync.now();
    await sync.update("orders", mug, { item: "Cup" });
    await sync.now();
    isClean(sync);
    const { item, count, status } = all.get(mug.id) ?? mug;
    assert.deepEqual([item, count, status], ["Cup", 1, "open"]);
  });

  it("of several changes happens or not", async () => {
    const sync = await open();
    const all = await sync.copy("orders").ready();
    const { order } = await sync.together((write) => {
      const customer = write.create("customers", { name: "Ada" });
      const order = write.create("orders", { item: "Mug", customer: customer.id });
      write.update("orders", order, { count: 5 });
      return { customer, order };
    });
    assert.equal(sync.pending.length, 1);
    await sync.now();
    isClean(sync);
    assert.equal((await orders().get(order.id)).count, 5);
    await sync.together((write) => {
      write.update("orders", order.id, { count: 6 });
      write.create("orders", { item: "Mug" });
    });
    await sync.now();
    const conflict = theConflict(sync);
    assert.deepEqual([conflict.write.kind, conflict.problem.status], ["create", 409]);
    assert.equal((await orders().get(order.id)).count, 5);
    await sync.resolve(conflict, { item: "Cup" });
    await sync.now();
    isClean(sync);
    assert.deepEqual(items(all), ["Mug", "Cup"]);
    assert.equal(all.get(order.id)?.count, 6);
    await assert.rejects(
      sync.together((write) => {
        write.remove("orders", order.id);
        throw new Error("no");
      }),
      /no/,
    );
    await sync.together(() => undefined);
    const late = sync.together(async (write) => {
      await Promise.resolve();
      write.remove("orders", order.id);
    });
    await assert.rejects(late, TypeError);
    assert.deepEqual(sync.pending, []);
  });

  it("that removes with others leaves out what somebody else has removed", async () => {
    const sync = await open();
    const made = await Promise.all(["Mug", "Cup"].map((item) => orders().create({ item })));
    await sync.copy("orders").ready();
    await orders().remove(made[0]?.id ?? "");
    await sync.together((write) => {
      for (const one of made) write.remove("orders", one);
    });
    await sync.now();
    isClean(sync);
    assert.equal(await app.total("orders"), 0);
  });
});

describe("a conflict", () => {
  /** A write that somebody else was faster than, one behind it, and one to another resource. */
  async function conflicting() {
    const mug = await orders().create({ item: "Mug", count: 1 });
    const pot = await orders().create({ item: "Pot" });
    const sync = await open();
    const all = await sync.copy("orders").ready();
    const theirs = await orders().update(mug, { count: 10 });
    await sync.update("orders", mug.id, { count: 2 });
    await sync.update("orders", mug.id, { status: "open" });
    await sync.update("orders", pot.id, { count: 3 });
    await sync.now();
    return { sync, all, mug, pot, theirs };
  }

  it("has both versions; what is behind it waits, and others go on", async () => {
    const { sync, all, mug, pot, theirs } = await conflicting();
    const { base, current, problem, write } = theConflict(sync);
    assert.deepEqual([base, current], [mug, theirs]);
    assert.deepEqual([problem.status, problem.kind], [412, "precondition-failed"]);
    assert.deepEqual([write.kind, write.body], ["update", { count: 2 }]);
    assert.equal(sync.pending.length, 2);
    assert.equal(sync.status, "idle");
    assert.equal(sync.conflicts, sync.conflicts);
    assert.equal((await orders().get(pot.id)).count, 3);
    assert.equal(all.get(mug.id)?.count, 2);
  });

  it("has both versions also where no copy has the resource", async () => {
    const mug = await orders().create({ item: "Mug", count: 1 });
    const sync = await open();
    await orders().update(mug, { count: 10 });
    await sync.update("orders", mug, { count: 2 });
    await sync.now();
    const { base, current } = theConflict(sync);
    assert.deepEqual([base?.count, current?.count], [1, 10]);
    await sync.resolve(theConflict(sync), "mine");
    await sync.now();
    isClean(sync);
    assert.equal((await orders().get(mug.id)).count, 2);
  });

  it("can be decided for mine", async () => {
    const { sync, mug } = await conflicting();
    await sync.resolve(theConflict(sync), "mine");
    await sync.now();
    isClean(sync);
    const { count, status } = await orders().get(mug.id);
    assert.deepEqual([count, status], [2, "open"]);
  });

  it("can be decided for theirs, with what is behind it", async () => {
    const { sync, all, mug, theirs } = await conflicting();
    await sync.resolve(theConflict(sync), "theirs");
    isClean(sync);
    assert.deepEqual(all.get(mug.id), theirs);
    assert.deepEqual(await orders().get(mug.id), theirs);
  });

  it("can be decided by a patch, and then what is behind it is asked about", async () => {
    const { sync, mug } = await conflicting();
    const conflict = theConflict(sync);
    await sync.resolve(conflict, { count: 12 });
    await sync.resolve(conflict, "theirs");
    await sync.now();
    const next = theConflict(sync);
    assert.deepEqual([next.current?.count, next.write.body], [12, { status: "open" }]);
    await sync.resolve(next, "mine");
    await sync.now();
    isClean(sync);
    const { count, status } = await orders().get(mug.id);
    assert.deepEqual([count, status], [12, "open"]);
  });

  it("comes again when the state has changed since it was shown", async () => {
    const { sync, mug } = await conflicting();
    const shown = theConflict(sync);
    await orders().update(mug.id, { count: 20 });
    await sync.resolve(shown, "mine");
    await sync.now();
    assert.equal(theConflict(sync).current?.count, 20);
  });

  it("of a resource that is gone has no current state, and mine creates it again", async () => {
    const sync = await open();
    const mug = await orders().create({ item: "Mug", count: 1 });
    const all = await sync.copy("orders").ready();
    await orders().remove(mug.id);
    await sync.update("orders", mug.id, { count: 2 });
    await sync.now();
    const conflict = theConflict(sync);
    assert.deepEqual([conflict.current, conflict.problem.status], [undefined, 404]);
    assert.deepEqual(conflict.base, mug);
    await sync.resolve(conflict, "mine");
    await sync.now();
    isClean(sync);
    const { item, count } = all.get(mug.id) ?? {};
    assert.deepEqual([item, count], ["Mug", 2]);
    await orders().remove(mug.id);
    await sync.remove("orders", mug.id);
    await sync.now();
    isClean(sync);
    assert.deepEqual(all.all(), []);
  });

  it("is every refusal: an invalid body, a missing right, a unique field, a missing reference", async () => {
    const token = await app.token("*:read", "orders:*");
    const sync = await open(client({ token }));
    await sync.copy("orders").ready();
    await orders().create({ item: "Mug" });
    await sync.create("orders", { item: 5 } as never);
    await sync.create("orders", { item: "Mug" });
    await sync.create("orders", { item: "Cup", customer: "nobody" });
    await sync.create("customers", { name: "Ada" });
    await sync.create("orders", { item: "Pot" });
    await sync.now();
    const statuses = sync.conflicts.map(({ problem }) => problem.status);
    assert.deepEqual(statuses, [400, 409, 400, 403]);
    assert.match(sync.conflicts[0]?.problem.errors[0]?.pointer ?? "", /item/);
    assert.equal(sync.pending.length, 4);
    const [wrong] = sync.conflicts;
    if (wrong?.collection !== "orders") assert.fail();
    await sync.resolve(wrong, { item: "Five" });
    for (const conflict of sync.conflicts) await sync.resolve(conflict, "theirs");
    await sync.now();
    isClean(sync);
    assert.deepEqual(items(sync.copy("orders")).sort(), ["Five", "Mug", "Pot"]);
  });

  it("outlives the program", async () => {
    const storage = memory();
    const mug = await orders().create({ item: "Mug", count: 1 });
    const first = await open(client(), { storage });
    await first.copy("orders").ready();
    await orders().update(mug.id, { count: 5 });
    await first.update("orders", mug.id, { count: 2 });
    await first.now();
    await first.close();
    const second = await open(client(), { storage });
    const { base, current, problem } = theConflict(second);
    assert.deepEqual([base?.count, current?.count, problem.status], [1, 5, 412]);
    await second.resolve(theConflict(second), "mine");
    await second.now();
    isClean(second);
    assert.equal((await orders().get(mug.id)).count, 2);
  });
});

describe("a copy of a caller who sees a part", () => {
  beforeEach(fresh);

  /** Ann sees what is not hidden. `meanwhile` runs after a write and before the next read. */
  async function openAsAnn(meanwhile?: (id: string) => Promise<unknown>): Promise<Sync<Shop>> {
    const shown = { name: "shown", to: "token", where: { status: { ne: "hidden" } } };
    const { orders: definition } = definitions;
    const body = JSON.stringify({ ...definition, access: { read: [shown] } });
    const headers = { "content-type": "application/json" };
    await app.request("/-/collections/orders", { method: "PUT", headers, body });
    const token = await app.token("orders:*");
    const network = async (input: string | URL | Request, init?: RequestInit) => {
      const response = await fetch(input, init);
      if (!`${input}`.endsWith("/-/batch")) return response;
      const { results } = (await response.clone().json()) as { results: { body: Order }[] };
      await meanwhile?.(results[0]?.body.id ?? "");
      return response;
    };
    return open(client({ token, fetch: network as typeof fetch }));
  }

  it("loses what was created and does not match", async () => {
    const sync = await openAsAnn();
    const copy = sync.copy("orders", { where: { status: "open" } });
    await sync.now();
    await sync.create("orders", { item: "pen", status: "closed" });
    assert.deepEqual(items(copy), ["pen"]);
    await sync.now();
    isClean(sync);
    assert.deepEqual(items(copy), []);
  });

  for (const where of [undefined, { status: "open" }])
    it(`loses what was created, and hidden at once by others ${where ? "with" : "without"} a filter`, async () => {
      const sync = await openAsAnn((id) => orders().update(id, { status: "hidden" }));
      const copy = sync.copy("orders", where && { where });
      await sync.now();
      await sync.create("orders", { item: "pen", status: "open" });
      assert.deepEqual(items(copy), ["pen"]);
      await sync.now();
      isClean(sync);
      assert.deepEqual(items(copy), []);
    });
});
