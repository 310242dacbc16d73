// The shop of a new user: thousands of products, customers, and orders with lines. Every query is compared with a plain filter.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { runs } from "../seeds.ts";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { type ListBody, QueryClient } from "./query-client.ts";

interface Product {
  readonly sku: string;
  readonly name: string;
  readonly price: number;
  readonly stock: number;
  readonly category: string;
  readonly note: string;
  readonly deletedAt?: string;
}

interface Order {
  readonly customer: string;
  readonly status: string;
  readonly placed: string;
  readonly lines: readonly { readonly sku: string; readonly quantity: number }[];
}

const categories = ["tools", "toys", "food"];
const statuses = ["open", "paid", "sent"];
/** More than a scan reads in one chunk, also of the goods in stock. */
const productCount = runs(6_500, 20_000);
const orderCount = 500;
const pick = <T>(values: readonly T[], index: number): T => values[index % values.length] as T;

const products = Array.from(
  { length: productCount },
  (_, i): Product => ({
    sku: `s${i}`,
    name: `n${(i * 7919) % 1000}`,
    price: (i % 5000) / 10,
    stock: i % 3,
    category: pick(categories, i),
    note: `w${i % 700} w${i % 13} common`,
    ...(i % 100 === 0 && { deletedAt: "2026-01-01T00:00:00Z" }),
  }),
);
const orders = Array.from(
  { length: orderCount },
  (_, i): Order => ({
    customer: `c${i % 50}`,
    status: pick(statuses, i),
    placed: new Date(Date.UTC(2026, (i >> 2) % 12, 1 + (i % 28))).toISOString(),
    lines: [
      { sku: `s${i % 40}`, quantity: i % 5 },
      { sku: `s${(i * 7) % 40}`, quantity: 1 + (i % 3) },
    ],
  }),
);

const text = { type: "string" };
const definitions = {
  products: {
    schema: {
      properties: {
        ...{ sku: text, name: text, category: text, note: text },
        price: { type: "number" },
        stock: { type: "integer" },
        deletedAt: { type: "string", format: "date-time" },
      },
    },
    unique: ["sku"],
    indexed: ["price", "stock", "category", "name", "deletedAt", ["category", "-price"]],
    searchable: ["note"],
  },
  customers: { schema: { properties: { name: text, country: text } }, indexed: ["country"] },
  orders: {
    schema: {
      properties: {
        ...{ customer: text, status: text, placed: { type: "string", format: "date-time" } },
        lines: {
          type: "array",
          items: { properties: { sku: text, quantity: { type: "integer" } } },
        },
      },
    },
    indexed: ["customer", "lines[].sku", ["status", "-placed"]],
  },
};

type Test = (product: Product) => boolean;
const any: Test = () => true;

/** The queries of a new user, and the same in plain code. */
const queries: readonly (readonly [query: string, test: Test, sort?: keyof Product | "-price"])[] =
  [
    ["price[gte]=100&price[lt]=101", ({ price }) => price >= 100 && price < 101],
    ["stock[gt]=0", ({ stock }) => stock > 0],
    ["stock[gt]=0&sort=price", ({ stock }) => stock > 0, "price"],
    ["sort=price,name", any, "price"],
    ["sort=-price,sku", any, "-price"],
    ["category[ne]=tools", ({ category }) => category !== "tools"],
    ["deletedAt[exists]=false", ({ deletedAt }) => deletedAt === undefined],
    ["category=toys&stock=1", ({ category, stock }) => category === "toys" && stock === 1],
    ["category=toys&sort=-price", ({ category }) => category === "toys", "-price"],
    ["category[in]=toys,food&price[lt]=5", (p) => p.category !== "tools" && p.price < 5],
    ["sku=s77", ({ sku }) => sku === "s77"],
    ["createdAt[gte]=2020-01-01T00:00:00Z&createdAt[lt]=2100-01-01T00:00:00Z", any],
    ["createdAt[gte]=2100-01-01T00:00:00Z", () => false],
    ["sort=-updatedAt", any],
    ["note=w1%20w1%20common", ({ note }) => note === "w1 w1 common"],
    ["note[contains]=w699", ({ note }) => note.includes("w699")],
    ["name[startsWith]=n99", ({ name }) => name.startsWith("n99")],
    ["name[ieq]=N99", ({ name }) => name === "n99"],
    ["q=w12&stock=1", ({ note, stock }) => stock === 1 && note.split(" ").includes("w12")],
    ["q=w69*", ({ note }) => note.split(" ").some((word) => word.startsWith("w69"))],
    [
      `where=${encodeURIComponent('{"$or":[{"sku":"s5"},{"price":{"gt":499}}]}')}`,
      ({ sku, price }) => sku === "s5" || price > 499,
    ],
    // One product is found by both parts, and a part has a condition that its index does not decide.
    [
      `where=${encodeURIComponent('{"$or":[{"sku":"s4999"},{"price":{"gt":499}}]}')}`,
      ({ price }) => price > 499,
    ],
    [
      `where=${encodeURIComponent('{"$or":[{"sku":"s5"},{"price":{"lt":1},"stock":1}]}')}`,
      ({ sku, price, stock }) => sku === "s5" || (price < 1 && stock === 1),
    ],
    [
      `where=${encodeURIComponent('{"$not":{"category":{"in":["toys","food"]}}}')}`,
      ({ category }) => category === "tools",
    ],
  ];

/** The queries of Postgres do not depend on the runtime, and filling the shop twice takes long. */
const skip = (store: string | undefined): string | false =>
  store !== undefined && process.versions.bun === undefined && "on Bun only";

for (const store of storesHere(undefined, [undefined, "postgres"]))
  describe(`a shop on ${store ?? "the embedded engine"}`, { skip: skip(store) }, () => {
    let app: TestApp;
    let client: QueryClient;
    before(async () => {
      app = await startApp({ store });
      client = new QueryClient(app);
      for (const [name, definition] of Object.entries(definitions))
        await client.define(name, definition);
      await fill("products", products);
      await fill("orders", orders);
      await fill("customers", [{ name: "Ada", country: "GB" }]);
    });
    after(() => app.stop());

    async function fill(collection: string, rows: readonly object[]): Promise<void> {
      const response = await app.request(`/${collection}`, {
        method: "POST",
        headers: { "content-type": "application/x-ndjson", prefer: "return=minimal" },
        body: rows.map((row) => `${JSON.stringify(row)}\n`).join(""),
      });
      assert.equal(response.status, 200, (await response.text()).slice(0, 300));
      assert.equal((await client.list(`/${collection}`)).total, rows.length);
    }

    const matching = (page: ListBody): readonly Product[] =>
      page.data as unknown as readonly Product[];

    for (const [query, test, sort] of queries)
      it(`answers ?${decodeURIComponent(query)}`, async () => {
        const expected = products.filter(test);
        const page = await client.list(`/products?limit=5&${query}`);
        assert.equal(page.total, expected.length);
        assert.equal(page.data.length, Math.min(5, expected.length));
        assert.ok(matching(page).every(test));
        if (sort === undefined) return;
        const values = expected.map(({ price }) => price).sort((one, other) => one - other);
        const best = sort === "price" ? values.slice(0, 5) : values.slice(-5).reverse();
        assert.deepEqual(
          matching(page).map(({ price }) => price),
          best,
        );
        const last = await client.list(`/products?limit=5&page=${page.pages}&${query}`);
        const end = sort === "price" ? values.at(-1) : values[0];
        assert.equal(matching(last).at(-1)?.price, end);
      });

    it("sorts by several fields in opposite directions, on every page", async () => {
      const query = "price[lt]=2&sort=-price,name";
      const { ids } = await client.readByCursor(`/products?limit=100&${query}`);
      const expected = products
        .filter(({ price }) => price < 2)
        .sort((one, other) => other.price - one.price || one.name.localeCompare(other.name, "en"));
      const page = await client.list(`/products?limit=1000&${query}`);
      assert.deepEqual(
        matching(page).map(({ sku }) => sku),
        expected.map(({ sku }) => sku),
      );
      assert.deepEqual(
        page.data.map(({ id }) => id),
        ids,
      );
    });

    it("exports the goods in stock as CSV", async () => {
      const { status, body } = await client.get("/products?stock[gt]=0", { accept: "text/csv" });
      assert.equal(status, 200);
      const rows = body.trimEnd().split("\r\n").slice(1);
      assert.equal(rows.length, products.filter(({ stock }) => stock > 0).length);
    });

    it("finds orders by their lines, any line or one line", async () => {
      const hasSku = (sku: string) => (order: Order) =>
        order.lines.some((line) => line.sku === sku);
      const bySku = orders.filter(hasSku("s3"));
      assert.equal((await client.list("/orders?lines[].sku=s3")).total, bySku.length);
      const twice = orders.filter(
        (order) => hasSku("s3")(order) && order.lines.some(({ quantity }) => quantity === 4),
      );
      const both = await client.list("/orders?lines[].sku=s3&lines[].quantity=4");
      assert.equal(both.total, twice.length);
      const once = orders.filter(({ lines }) =>
        lines.some(({ sku, quantity }) => sku === "s3" && quantity === 4),
      );
      const where = { lines: { some: { sku: "s3", quantity: 4 } } };
      assert.equal((await client.queryList("orders", { where })).total, once.length);
      assert.ok(once.length < twice.length);
    });

    it("finds the open orders of a month, the newest first", async () => {
      const month = ["2026-03-01T00:00:00.000Z", "2026-04-01T00:00:00.000Z"] as const;
      const query = `status=open&placed[gte]=${month[0]}&placed[lt]=${month[1]}&sort=-placed`;
      const page = await client.list(`/orders?limit=1000&${query}`);
      const expected = orders
        .filter(
          ({ status, placed }) => status === "open" && placed >= month[0] && placed < month[1],
        )
        .map(({ placed }) => placed)
        .sort()
        .reverse();
      assert.ok(expected.length > 0);
      assert.deepEqual(
        (page.data as unknown as readonly Order[]).map(({ placed }) => placed),
        expected,
      );
    });
  });
