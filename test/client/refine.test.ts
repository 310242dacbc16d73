// The data provider for Refine against a real server: every method, every operator, files, and conflicts that overwrite nothing.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, Conflict } from "../../client/index.ts";
import {
  type AdminRecord,
  dataProvider,
  RecordError,
  type RefineProvider,
} from "../../client/refine/index.ts";
import fc from "../fast-check.ts";
import { fieldsOfOne, matches, schema, type Where } from "../random-where.ts";
import { isLong } from "../seeds.ts";
import { fillShop, picture, startShop, type TestShop } from "./shop.ts";

let shop: TestShop;
let provider: RefineProvider;
before(async () => {
  shop = await startShop();
  await fillShop(shop.client);
  provider = dataProvider(shop.client);
});
after(() => shop.app.stop());

const resource = "products";
const products = () => shop.client.collection(resource);

let count = 0;
const product = async (fields: object = {}): Promise<AdminRecord> => {
  const variables = { sku: `S-${++count}`, name: "Mug", price: 100 + count, ...fields };
  return (await provider.create<AdminRecord, object>({ resource, variables })).data;
};

const failed = (promise: Promise<unknown>): Promise<RecordError> =>
  promise.then(
    () => assert.fail("it should have failed"),
    (error: unknown) => (error instanceof RecordError ? error : Promise.reject(error)),
  );

const update = async (id: string, variables: object, meta?: Readonly<Record<string, unknown>>) =>
  (await provider.update<AdminRecord, object>({ resource, id, variables, ...(meta && { meta }) }))
    .data;

describe("the data provider for Refine", () => {
  it("creates, reads, changes and deletes, one and many", async () => {
    const made = await product({ stock: null });
    const { id } = made;
    assert.deepEqual((await provider.getOne({ resource, id })).data, made);
    assert.equal((await update(id, { price: 9, tags: ["x"] })).price, 9);
    assert.deepEqual((await provider.deleteOne({ resource, id })).data, { id });
    assert.equal((await failed(provider.getOne({ resource, id }))).statusCode, 404);
    const variables = [1, 2].map((n) => ({ sku: `M-${n}`, name: "Many", price: n }));
    const { data } = await provider.createMany<AdminRecord, object>({ resource, variables });
    const ids = data.map((one) => one.id);
    const changed = await provider.updateMany<AdminRecord, object>({
      ...{ resource, ids, variables: { stock: 4 } },
    });
    assert.deepEqual(
      changed.data.map(({ stock }) => stock),
      [4, 4],
    );
    assert.deepEqual((await provider.getMany({ resource, ids })).data, changed.data);
    await products().update(ids[0] ?? "", { stock: 5 });
    const conflict = await failed(provider.deleteMany({ resource, ids }));
    assert.match(conflict.message, /^Somebody else has changed one of these/);
    await provider.getMany({ resource, ids });
    assert.deepEqual(
      (await provider.deleteMany({ resource, ids })).data,
      ids.map((id) => ({ id })),
    );
  });

  it("lists in pages, or everything", async () => {
    const filters = [{ field: "supplier", operator: "eq", value: "clay" }];
    const sorters = [{ field: "price", order: "desc" as const }];
    const pagination = { currentPage: 2, pageSize: 10, mode: "server" as const };
    const page = await provider.getList<AdminRecord>({ resource, filters, sorters, pagination });
    assert.deepEqual([page.total, page.data[0]?.price, page.data.length], [25, 15, 10]);
    for (const mode of ["off", "client"] as const) {
      const all = await provider.getList({ resource, filters, sorters, pagination: { mode } });
      assert.deepEqual([all.total, all.data.length], [25, 25]);
    }
    const words = [{ field: "q", operator: "contains", value: "jug" }];
    const found = await provider.getList({ resource, filters: words });
    assert.equal(found.total, 5);
    const whole = await provider.getList({ resource, filters: words, pagination: { mode: "off" } });
    assert.equal(whole.total, 5);
    const meta = { total: "none", where: { price: { lte: 3 } }, fields: ["name"] };
    const uncounted = await provider.getList<AdminRecord>({
      ...{ resource, filters, meta, pagination: { pageSize: 2 } },
    });
    assert.deepEqual(
      [uncounted.total, Object.keys(uncounted.data[0] ?? {})],
      [3, ["id", "name", "_etag"]],
    );
    const across = await provider.getList({
      resource: "orders",
      filters: [{ field: "customer.country", operator: "eq", value: "DE" }],
    });
    assert.equal(across.total, 2);
    const abort = new AbortController();
    abort.abort(new Error("enough"));
    const queryContext = { signal: abort.signal };
    await assert.rejects(provider.getList({ resource, meta: { queryContext } }), /enough/);
  });

  it("overwrites nothing that somebody else has changed, and sends only what has changed", async () => {
    const { id, _etag } = await product();
    const { data: form } = await provider.getOne<AdminRecord>({ resource, id });
    await products().update(id, { price: 11 });
    // The hidden field of the form says which state it began with; without it, the last one that was read.
    for (const tag of [{ _etag }, {}]) {
      const conflict = await failed(update(id, { name: "Cup", price: form.price, ...tag }));
      assert.deepEqual([conflict.statusCode, conflict.errors], [412, {}]);
      assert.match(conflict.message, /^Somebody else has changed this/);
      assert.ok(conflict.cause instanceof Conflict);
      assert.deepEqual([conflict.current?.price, conflict.current?.name], [11, "Mug"]);
    }
    await failed(provider.deleteOne({ resource, id, meta: { etag: _etag } }));
    const { current } = await failed(update(id, { name: "Cup", _etag }));
    // My changes over theirs: the price of the form is the former one, and is not sent.
    const mine = await update(
      id,
      { name: "Cup", price: form.price, _etag },
      { etag: current?._etag },
    );
    assert.deepEqual([mine.name, mine.price], ["Cup", 11]);
    assert.equal((await update(id, { price: 12, _etag }, { etag: "*" })).price, 12);
  });

  it("tells what is wrong with each field", async () => {
    const wrong = await failed(product({ price: -1, name: "" }));
    assert.equal(wrong.statusCode, 400);
    assert.deepEqual(Object.keys(wrong.errors).sort(), ["name", "price"]);
  });

  it("sends files as inputs hold them", async () => {
    const list = Object.assign([picture("a.gif")], { item: () => null });
    const fileList = { ...list, item: list.item, [Symbol.iterator]: () => list.values() };
    const made = await product({
      ...{ photo: fileList, papers: [picture("1.gif"), { originFileObj: picture("2.gif") }] },
    });
    assert.equal((made.photo as { name: string }).name, "a.gif");
    assert.equal((await fetch((made.photo as { src: string }).src)).status, 200);
    assert.equal((made.papers as object[]).length, 2);
    const none = { item: () => null, [Symbol.iterator]: () => [].values() };
    const kept = await update(made.id, { ...made, photo: none, name: "Cup" });
    assert.deepEqual([kept.name, (kept.photo as { name: string }).name], ["Cup", "a.gif"]);
  });

  it("sends any other request to its server only", async () => {
    assert.equal(provider.getApiUrl(), shop.app.url);
    const url = `${shop.app.url}/products`;
    const query = { aggregate: "count", by: "supplier" };
    const { data } = await provider.custom<{ data: object[] }>({ url, method: "get", query });
    assert.ok(data.data.length >= 2);
    const payload = { name: "Zoe" };
    const made = await provider.custom<AdminRecord>({ url: "/customers", method: "post", payload });
    assert.equal(made.data.name, "Zoe");
    const gone = await provider.custom({ url: `/customers/${made.data.id}`, method: "delete" });
    assert.deepEqual(gone.data, {});
    for (const other of ["https://example.org/", "//example.org/x"])
      await assert.rejects(provider.custom({ url: other, method: "get" }), /sends requests to/);
    const refused = dataProvider(new Client(shop.app.url, { token: "rst_wrong" }));
    assert.equal((await failed(refused.getList({ resource }))).statusCode, 401);
  });
});

interface CrudFilter {
  readonly field?: string;
  readonly operator: string;
  readonly value: unknown;
}

/** A filter, and the same as a plain reading of conditions. */
type Pair = readonly [filter: CrudFilter, isMatch: (row: object) => boolean];

const texts = fc.constantFrom("a", "A", "as", "ß", "é", "S");
const numbers = fc.constantFrom(-2.5, 0, 1, 2, 3);
const of: Readonly<Record<string, fc.Arbitrary<string | number>>> = {
  t: texts,
  n: numbers,
  l: texts,
};

const test = (where: Where) => (row: object) => matches(row, where);

const anOperator = (field: string): fc.Arbitrary<Pair> => {
  const value = of[field] ?? texts;
  const pair = (operator: string, given: unknown, where: Where): Pair => [
    { field, operator, value: given },
    test(where),
  ];
  const opposite = ([filter, isMatch]: Pair, operator: string): Pair => [
    { ...filter, operator },
    (row) => !isMatch(row),
  ];
  const both = (operator: string, where: (given: string | number) => Where) =>
    fc
      .tuple(value, fc.boolean())
      .map(([given, isOpposite]) =>
        isOpposite
          ? opposite(pair(operator, given, where(given)), `n${operator === "eq" ? "e" : operator}`)
          : pair(operator, given, where(given)),
      );
  const lists = (operator: string, where: (given: readonly (string | number)[]) => Where) =>
    fc
      .tuple(fc.array(value, { minLength: 1, maxLength: 3 }), fc.boolean())
      .map(([given, isOpposite]) =>
        isOpposite
          ? opposite(pair(operator, given, where(given)), `n${operator}`)
          : pair(operator, given, where(given)),
      );
  const ofText =
    field === "n"
      ? []
      : [
          both("contains", (one) => ({ [field]: { icontains: one } })),
          both("containss", (one) => ({ [field]: { contains: one } })),
          both("startswiths", (one) => ({ [field]: { startsWith: one } })),
          both("endswiths", (one) => ({ [field]: { like: `*${one}` } })),
        ];
  const order = ["lt", "lte", "gt", "gte"].map((name) =>
    value.map((one) => pair(name, one, { [field]: { [name]: one } })),
  );
  return fc.oneof(
    both("eq", (one) => ({ [field]: one })),
    value.map((one) => pair("eqs", one, { [field]: one })),
    value.map((one) => opposite(pair("eqs", one, { [field]: one }), "nes")),
    ...order,
    ...ofText,
    lists("in", (list) => ({ [field]: { in: list } })),
    lists("ina", (list) => ({ $and: list.map((one) => ({ [field]: one })) })),
    fc
      .tuple(value, value)
      .map(([gte, lte]) => pair("between", [gte, lte], { [field]: { gte, lte } })),
    fc
      .tuple(value, value)
      .map(([gte, lte]) =>
        opposite(pair("between", [gte, lte], { [field]: { gte, lte } }), "nbetween"),
      ),
    fc.constant(pair("null", true, { [field]: { exists: false } })),
    fc.constant(pair("nnull", true, { [field]: { exists: true } })),
    fc.constant(pair("null", false, { [field]: { exists: true } })),
    fc.constantFrom(pair("eq", undefined, {}), pair("contains", "", {}), pair("in", [], {})),
  );
};

const flat = fc.oneof(...Object.keys(of).map(anOperator));

const groupOf = (inner: fc.Arbitrary<Pair>): fc.Arbitrary<Pair> =>
  fc
    .tuple(fc.constantFrom("and", "or"), fc.array(inner, { minLength: 1, maxLength: 3 }))
    .map(([operator, pairs]): Pair => {
      // A filter without a value is none.
      const given = pairs.filter(([{ value }]) => hasValue(value));
      const isMatch = (row: object) =>
        given.length === 0 ||
        (operator === "and" ? given.every(([, is]) => is(row)) : given.some(([, is]) => is(row)));
      return [{ operator, value: pairs.map(([filter]) => filter) }, isMatch];
    });

const hasValue = (value: unknown): boolean =>
  Array.isArray(value) ? value.some(hasValueOrFilter) : value !== undefined && value !== "";

const hasValueOrFilter = (one: unknown): boolean =>
  typeof one === "object" && one !== null ? hasValue((one as CrudFilter).value) : hasValue(one);

const nested = fc.oneof({ weight: 3, arbitrary: flat }, groupOf(fc.oneof(flat, groupOf(flat))));

describe("the filters of Refine", () => {
  it("find what a plain filter finds", async () => {
    await shop.client.send({ method: "PUT", path: "/-/collections/rows", body: { schema } });
    const drawn = fc.sample(fieldsOfOne, { numRuns: 40, seed: 7 });
    const rows = await shop.client.batch(
      drawn.map((fields) => shop.client.collection("rows").in.create(fields)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(nested, { maxLength: 3 }), async (pairs) => {
        const expected = rows.filter((row) => pairs.every(([, isMatch]) => isMatch(row)));
        const { data } = await provider.getList<AdminRecord>({
          ...{ resource: "rows", filters: pairs.map(([filter]) => filter) },
          pagination: { pageSize: 100 },
        });
        assert.deepEqual(data.map(({ id }) => id).sort(), expected.map(({ id }) => id).sort());
      }),
      { numRuns: isLong ? 1_000 : 50 },
    );
  });

  it("refuse what the server cannot say", async () => {
    const list = (operator: string, value: unknown = "a") =>
      provider.getList({ resource: "rows", filters: [{ field: "t", operator, value }] });
    for (const operator of ["startswith", "nstartswith", "endswith", "nendswith"])
      await assert.rejects(
        list(operator),
        new RegExp(`no operator ${operator}\\. Use ${operator}s`),
      );
    await assert.rejects(list("near"), /has no operator near/);
    await assert.rejects(list("endswiths", "a*"), /ends with/);
  });
});
