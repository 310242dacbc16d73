// The data provider for react-admin against a real server: every method, every filter, files, and conflicts that overwrite nothing.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, Conflict } from "../../client/index.ts";
import {
  type AdminRecord,
  dataProvider,
  type ReactAdminProvider,
  RecordError,
} from "../../client/react-admin/index.ts";
import fc from "../fast-check.ts";
import { fieldsOfOne, matches, schema, type Where } from "../random-where.ts";
import { isLong } from "../seeds.ts";
import { picture, startShop, type TestShop } from "./shop.ts";

let shop: TestShop;
let provider: ReactAdminProvider;
before(async () => {
  shop = await startShop();
  provider = dataProvider(shop.client);
});
after(() => shop.app.stop());

const page = (filter: object = {}, more: object = {}) => ({
  ...{ pagination: { page: 1, perPage: 10 }, sort: { field: "id", order: "ASC" as const }, filter },
  ...more,
});

let count = 0;
const product = async (fields: object = {}): Promise<AdminRecord> => {
  const data = { sku: `S-${++count}`, name: "Mug", price: 8, ...fields };
  return (await provider.create<AdminRecord>("products", { data })).data;
};

const failed = (promise: Promise<unknown>): Promise<RecordError> =>
  promise.then(
    () => assert.fail("it should have failed"),
    (error: unknown) => (error instanceof RecordError ? error : Promise.reject(error)),
  );

/** What TanStack Query does with records. */
const copy = <T>(record: T): T => structuredClone(record);

describe("the data provider for react-admin", () => {
  it("creates, reads, changes and deletes", async () => {
    const made = await product({ stock: null, tags: ["a"], createdAt: "x", _expanded: {} });
    assert.match(made._etag ?? "", /^".+"$/);
    assert.equal("stock" in made, false);
    const { data: same } = await provider.getOne<AdminRecord>("products", { id: made.id });
    assert.deepEqual(same, made);
    const previousData = copy(same);
    const data = { ...previousData, price: 9, tags: null };
    const { data: changed } = await provider.update<AdminRecord>("products", {
      ...{ id: made.id, data, previousData },
    });
    assert.deepEqual([changed.price, changed.tags, changed.name], [9, undefined, "Mug"]);
    const { data: gone } = await provider.delete<AdminRecord>("products", {
      ...{ id: made.id, previousData: copy(changed) },
    });
    assert.equal(gone.id, made.id);
    const missing = await failed(provider.getOne("products", { id: made.id }));
    assert.deepEqual([missing.status, missing.cause.kind], [404, "not-found"]);
    await provider.delete("products", { id: made.id });
    const own = { data: { id: "eva", name: "Eva" } };
    assert.equal((await provider.create<AdminRecord>("customers", own)).data.id, "eva");
    const taken = await failed(provider.create("customers", own));
    assert.deepEqual(taken.body.errors, { id: "There is one with this id already." });
  });

  it("lists pages in order, with a total, and finds words", async () => {
    for (const price of [101, 103, 102]) await product({ name: "Listed lamp", price });
    const first = await provider.getList<AdminRecord>("products", {
      ...page({ price_gt: 100 }, { sort: { field: "price", order: "DESC" } }),
      pagination: { page: 1, perPage: 2 },
    });
    assert.deepEqual([first.data.map(({ price }) => price), first.total], [[103, 102], 3]);
    const found = await provider.getList("products", page({ q: "lamp" }));
    assert.equal(found.total, 3);
    const counted = await provider.getList("products", {
      ...page({ q: "lamp" }, { meta: { total: "none" } }),
      pagination: { page: 2, perPage: 1 },
    });
    const { total, pageInfo } = counted;
    assert.deepEqual([total, pageInfo], [undefined, { hasNextPage: true, hasPreviousPage: true }]);
    assert.equal((await provider.getList("products", {})).data.length > 0, true);
  });

  it("follows references both ways", async () => {
    const { data: ada } = await provider.create<AdminRecord>("customers", {
      data: { name: "Ada", country: "DE" },
    });
    const pen = await product();
    const order = { status: "open", placed: "2026-03-02T10:00:00Z", total: 3, customer: ada.id };
    const lines = [{ product: pen.id, quantity: 1 }];
    for (const total of [3, 5])
      await provider.create("orders", { data: { ...order, lines, total } });
    const orders = await provider.getManyReference<AdminRecord>("orders", {
      ...{ target: "customer", id: ada.id, ...page({ total_gt: 3 }) },
    });
    assert.deepEqual([orders.total, orders.data[0]?.total], [1, 5]);
    const sold = await provider.getManyReference("orders", {
      ...{ target: "lines[].product", id: pen.id, ...page() },
    });
    assert.equal(sold.total, 2);
    const inGermany = await provider.getList<AdminRecord>("orders", {
      ...page({ customer: { country: "DE" } }, { meta: { expand: ["customer"] } }),
      sort: { field: "customer.name", order: "ASC" },
    });
    assert.equal(inGermany.total, 2);
    const shown = inGermany.data.map(({ _expanded }) => _expanded as { customer: AdminRecord });
    assert.deepEqual(
      shown.map(({ customer }) => customer.name),
      ["Ada", "Ada"],
    );
    const ids = [pen.id, "nothing", ...Array.from({ length: 120 }, (_, n) => `no-${n}`), pen.id];
    const pens = await provider.getMany<AdminRecord>("products", { ids });
    assert.deepEqual(pens.data, [pen, pen]);
    const restricted = await failed(provider.delete("customers", { id: ada.id }));
    assert.equal(restricted.status, 409);
    const many = await failed(provider.deleteMany("customers", { ids: [ada.id] }));
    assert.match(
      many.message,
      /^The batch was rejected\. Other resources refer to this one: [^\n]*$/,
    );
  });

  it("sends only what has changed", async () => {
    const sent: unknown[] = [];
    const watching = async (input: string | URL | Request, init?: RequestInit) => {
      if (init?.method === "PATCH") sent.push(JSON.parse(String(init.body)));
      return fetch(input, init);
    };
    const client = new Client(shop.app.url, {
      ...{ token: shop.app.admin, fetch: watching as typeof fetch },
    });
    const own = dataProvider(client);
    const { data: made } = await own.create<AdminRecord>("notes", {
      data: { a: { x: 1, y: [1, { z: null }], id: 3 }, b: 1, c: null },
    });
    assert.deepEqual(made.a, { x: 1, y: [1, {}], id: 3 });
    const data = { ...copy(made), a: { x: 2, y: [1, {}] }, b: 1, d: new Date(0), e: null };
    await own.update("notes", { id: made.id, data, previousData: made });
    assert.deepEqual(sent, [{ a: { id: null, x: 2 }, d: "1970-01-01T00:00:00.000Z" }]);
    const { data: read } = await own.getOne<AdminRecord>("notes", { id: made.id });
    assert.deepEqual(read.a, { x: 2, y: [1, {}] });
  });

  it("overwrites nothing that somebody else has changed", async () => {
    const seen = copy(await product());
    await shop.client.collection("products").update(seen.id, { price: 11 });
    const { id } = seen;
    const save = (data: object) =>
      provider.update<AdminRecord>("products", { id, data, previousData: seen });
    const conflict = await failed(save({ ...seen, name: "Cup" }));
    assert.equal(conflict.status, 412);
    assert.match(conflict.message, /^Somebody else has changed this/);
    assert.equal(conflict.body.errors, undefined);
    assert.ok(conflict.cause instanceof Conflict);
    assert.deepEqual([conflict.current?.price, conflict.current?.name], [11, "Mug"]);
    await failed(provider.delete("products", { id, previousData: seen }));
    const mine = await save({ ...seen, name: "Cup", _etag: conflict.current?._etag });
    assert.deepEqual([mine.data.name, mine.data.price], ["Cup", 11]);
    const anyway = { id, data: { price: 12 }, previousData: seen, meta: { etag: "*" } };
    assert.equal((await provider.update<AdminRecord>("products", anyway)).data.price, 12);
  });

  it("changes and deletes many, all or none", async () => {
    const [one, two] = [await product(), await product()];
    const ids = [one.id, two.id];
    await provider.updateMany("products", { ids, data: { stock: 7, tags: null } });
    const { data } = await provider.getMany<AdminRecord>("products", { ids });
    assert.deepEqual(
      data.map(({ stock }) => stock),
      [7, 7],
    );
    await shop.client.collection("products").update(two.id, { stock: 8 });
    const conflict = await failed(provider.deleteMany("products", { ids }));
    assert.deepEqual([conflict.status, conflict.body.errors], [412, undefined]);
    assert.match(conflict.message, /^Somebody else/);
    await failed(provider.updateMany("products", { ids, data: { stock: 9 } }));
    assert.equal(await shop.client.collection("products").count({ where: { stock: 7 } }), 1);
    await provider.getMany("products", { ids });
    assert.deepEqual(await provider.deleteMany("products", { ids }), { data: ids });
    assert.deepEqual((await provider.getMany("products", { ids })).data, []);
  });

  it("tells what is wrong with each field", async () => {
    const data = {
      sku: "x",
      price: -1,
      photo: { rawFile: new File(["x"], "x.txt"), src: "", title: "" },
    };
    const wrong = await failed(provider.create("products", { data }));
    assert.equal(wrong.status, 400);
    assert.match(wrong.message, /^name [^;]+; price [^;]+; photo [^;]+$|price must/);
    assert.deepEqual(Object.keys(wrong.body.errors ?? {}).sort(), ["name", "photo", "price"]);
    const order = { customer: "nobody", status: "open", placed: "x", total: 1 };
    const lines = [{ product: "p", quantity: 0 }];
    const nested = await failed(provider.create("orders", { data: { ...order, lines } }));
    assert.ok(nested.errors["lines.0.quantity"], JSON.stringify(nested.errors));
    const refused = dataProvider(new Client(shop.app.url, { token: "rst_wrong" }));
    assert.equal((await failed(refused.getList("products", page()))).status, 401);
  });

  it("makes no link of a member that only looks like a file", async () => {
    const fake = { name: "a.pdf", type: "application/pdf", size: 1, sha256: "x" };
    for (const url of ["javascript:alert(1)", " javascript:alert(1)", "data:text/html,x", ""]) {
      const paper = { ...fake, url };
      const { data } = await provider.create<AdminRecord>("albums", { data: { paper } });
      assert.deepEqual(data.paper, paper);
    }
  });

  it("sends files with the other fields, keeps those of a list, and shows where they can be loaded", async () => {
    const data = { rawFile: picture("a b.gif"), src: "blob:x", title: "a b.gif" };
    const made = await product({ photo: data, papers: [{ rawFile: picture("1.gif") }] });
    const photo = made.photo as { readonly src: string; readonly title: string };
    assert.equal(photo.title, "a b.gif");
    const loaded = await fetch(photo.src);
    assert.deepEqual([loaded.status, loaded.headers.get("content-type")], [200, "image/gif"]);
    const again = (await provider.getOne<AdminRecord>("products", { id: made.id })).data;
    assert.deepEqual(again, made, "the address stays, as long as it is valid");

    const papers = [{ rawFile: picture("2.gif") }, ...(made.papers as object[])];
    const { data: more } = await provider.update<AdminRecord>("products", {
      ...{ id: made.id, data: { ...copy(made), papers, name: "Cup" }, previousData: made },
    });
    assert.equal(more.name, "Cup");
    assert.deepEqual(
      (more.papers as { name: string }[]).map(({ name }) => name),
      ["2.gif", "1.gif"],
    );
    const stale = provider.update("products", {
      ...{ id: made.id, data: { ...made, photo: data }, previousData: made },
    });
    assert.equal((await failed(stale)).status, 412);
    const fewer = { ...copy(more), papers: (more.papers as object[]).slice(1), photo: null };
    const { data: last } = await provider.update<AdminRecord>("products", {
      ...{ id: made.id, data: fewer, previousData: more },
    });
    assert.deepEqual([last.photo, (last.papers as object[]).length], [undefined, 1]);
    await assert.rejects(
      provider.updateMany("products", { ids: [made.id], data: { photo: data } }),
      /one resource at a time/,
    );
    const plain = await provider.create<AdminRecord>("albums", { data: { cover: data } });
    const { src } = plain.data.cover as { src: string };
    assert.equal(src, `${shop.app.url}/albums/${plain.data.id}/cover`);
    const forged = { ...(plain.data.cover as object), url: `https://evil.example/albums/x/cover` };
    const other = await provider.create<AdminRecord>("albums", { data: { cover: forged } });
    assert.equal("src" in (other.data.cover as object), false);
    const asked = dataProvider(shop.client, { fileUrl: ({ name }) => `file:${name}` });
    const { data: shown } = await asked.getOne<AdminRecord>("albums", { id: plain.data.id });
    assert.equal((shown.cover as { src: string }).src, "file:a b.gif");
  });

  it("stops when its signal is aborted", async () => {
    const abort = new AbortController();
    abort.abort(new Error("enough"));
    const aborted = { ...page(), signal: abort.signal };
    await assert.rejects(provider.getList("products", aborted), { message: "enough" });
  });
});

/** A filter, and the same as conditions. */
type Pair = readonly [filter: Record<string, unknown>, where: Where];

const texts = fc.constantFrom("a", "A", "as", "ß", "s*", "é");
const numbers = fc.constantFrom(-2.5, 0, 1, 2, 3);
const of: Readonly<Record<string, fc.Arbitrary<string | number>>> = {
  t: texts,
  n: numbers,
  l: texts,
};

const anOperator = (field: string): fc.Arbitrary<Pair> => {
  const value = of[field] ?? texts;
  const some = fc.array(value, { minLength: 1, maxLength: 3 });
  const ofText = ["like", "startsWith", "contains", "icontains", "ieq"];
  const names = ["eq", "ne", "lt", "lte", "gt", "gte", ...(field === "n" ? [] : ofText)];
  return fc.oneof(
    value.map((one): Pair => [{ [field]: one }, { [field]: { eq: one } }]),
    fc
      .tuple(fc.constantFrom(...names), value)
      .map(([name, one]): Pair => [{ [`${field}_${name}`]: one }, { [field]: { [name]: one } }]),
    fc
      .tuple(fc.constantFrom(...names), value)
      .map(([name, one]): Pair => [{ [field]: { [name]: one } }, { [field]: { [name]: one } }]),
    some.map((list): Pair => [{ [field]: list }, { [field]: { in: list } }]),
    some.map((list): Pair => [{ [`${field}_in`]: list }, { [field]: { in: list } }]),
    some.map((list): Pair => [{ [`${field}_ne`]: list }, { $not: { [field]: { in: list } } }]),
    fc.boolean().map((is): Pair => [{ [`${field}_exists`]: is }, { [field]: { exists: is } }]),
    fc.constant<Pair>([{ [field]: null }, { [field]: { exists: false } }]),
    fc.constant<Pair>([{ [`${field}_ne`]: null }, { [field]: { exists: true } }]),
    fc.constantFrom<Pair>(
      [{ [field]: "" }, {}],
      [{ [field]: undefined }, {}],
      [{ [field]: [] }, {}],
    ),
    some.map(
      (list): Pair => [
        { where: { $or: list.map((one) => ({ [field]: one })) } },
        { [field]: { in: list } },
      ],
    ),
  );
};

const randomFilter = fc.array(fc.oneof(...Object.keys(of).map(anOperator)), { maxLength: 4 });

describe("the filters of react-admin", () => {
  it("find what a plain filter finds", async () => {
    await shop.client.send({ method: "PUT", path: "/-/collections/rows", body: { schema } });
    const drawn = fc.sample(fieldsOfOne, { numRuns: 40, seed: 7 });
    const rows = await shop.client.batch(
      drawn.map((fields) => shop.client.collection("rows").in.create(fields)),
    );
    await fc.assert(
      fc.asyncProperty(randomFilter, async (pairs) => {
        // A later filter of the same name replaces an earlier one, as in any object.
        const byName = new Map(
          pairs.flatMap((pair) => Object.keys(pair[0]).map((name) => [name, pair])),
        );
        const filter = Object.assign({}, ...[...byName.values()].map(([one]) => one));
        const expected = rows.filter((row) =>
          [...byName.values()].every(([, where]) => matches(row, where)),
        );
        const { data } = await provider.getList("rows", {
          ...page(filter, { sort: { field: "createdAt", order: "ASC" } }),
          pagination: { page: 1, perPage: 100 },
        });
        assert.deepEqual(data.map(({ id }) => id).sort(), expected.map(({ id }) => id).sort());
      }),
      { numRuns: isLong ? 1_000 : 50 },
    );
  });
});
