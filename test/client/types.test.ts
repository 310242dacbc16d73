// The types of the client: right programs compile, wrong fields, values, filters and sort orders do not; and docs/client.md runs.

import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { collectionComponents } from "../../src/model/collection-components.ts";
import { reservedNames, writeTypes } from "../../src/model/typescript.ts";
import { bundleOf, examplesOf, makePrograms, root, startShop } from "./programs.ts";

const programs = makePrograms();

const head = `
import { Client } from "restante-client";
import type { Collections } from "./collections.ts";
const shop = new Client<Collections>("http://localhost:8080");
const orders = shop.collection("orders");
const products = shop.collection("products");
const order = await orders.get("1", { expand: ["customer"] });
`;

/** Each line is one program. */
const right = [
  'await orders.create({ customer: "c", total: 1, lines: [{ product: "p", count: 2 }] });',
  'await orders.update(order, { status: "paid", address: { city: null } });',
  "await orders.update(order.id, { isGift: null });",
  'await orders.list({ where: { total: { gt: 1 }, status: { in: ["open"] }, isGift: true } });',
  'await orders.list({ where: { "address.city": "Bern", "lines[].product": "p", "customer.country": "DE" } });',
  'await orders.list({ where: { lines: { some: { product: "p", count: { gt: 2 } } } } });',
  'await orders.list({ where: { $or: [{ total: 1 }, { $not: { status: "open" } }] } });',
  'await orders.list({ sort: ["-total", "address.city", "customer.name", "createdAt"] });',
  'await orders.list({ fields: ["total", "address.city"], expand: ["customer"] });',
  'await orders.aggregate({ aggregate: ["count", "sum(total)"], by: ["month(createdAt)"] });',
  'await products.operate("p", { increment: { stock: -1, price: 0.5 }, append: { tags: ["a"] }, remove: { tags: ["b"] } });',
  'await orders.operate(order, { min: { total: 1, "address.city": "Bern" }, max: { status: "paid" } });',
  'const [sold] = await shop.batch([products.in.operate("p", { increment: { stock: -1 } })]); sold.stock;',
  "const country: string | undefined = order._expanded?.customer?.country; void country;",
  'const [one, none] = await shop.batch([orders.in.create({ customer: "c", total: 1 }), orders.in.remove(order)]); one.total + 1; none satisfies undefined;',
  'await new Client("http://x").collection("what").operate("1", { increment: { "a.b": 1 }, append: { c: [1] } });',
  'const any = new Client("http://x"); (await any.collection("what").create({ a: 1 })).a satisfies unknown;',
  'await new Client("http://x").collection("what").list({ where: { "a.b": 1 }, sort: "-c" });',
];

const wrong = [
  'shop.collection("nothing");',
  'await orders.create({ customer: "c" });',
  'await orders.create({ customer: "c", total: "1" });',
  'await orders.create({ customer: "c", total: 1, extra: 1 });',
  'await orders.update(order, { status: "lost" });',
  "await orders.update(order, { total: null });",
  "await orders.update(order, { extra: 1 });",
  "order.total = 2;",
  "order.extra;",
  "await orders.list({ where: { extra: 1 } });",
  'await orders.list({ where: { total: "1" } });',
  'await orders.list({ where: { total: { gt: "1" } } });',
  'await orders.list({ where: { status: "lost" } });',
  'await orders.list({ where: { "address.street": "x" } });',
  'await orders.list({ where: { "customer.city": "x" } });',
  'await orders.list({ where: { "lines[].price": 1 } });',
  "await orders.list({ where: { lines: { some: { price: 1 } } } });",
  "await orders.list({ where: { $or: [{ extra: 1 }] } });",
  "await orders.list({ where: { total: { near: 1 } } });",
  'await orders.list({ sort: "extra" });',
  'await orders.list({ sort: ["-customer.city"] });',
  'await orders.list({ expand: ["product"] });',
  'await orders.list({ fields: ["extra"] });',
  'await orders.list({ page: "1" });',
  'await orders.aggregate({ aggregate: ["sum(extra)"] });',
  'await products.operate("p", { increment: { extra: 1 } });',
  'await products.operate("p", { increment: { name: 1 } });',
  'await products.operate("p", { increment: { stock: "1" } });',
  'await products.operate("p", { increment: { tags: 1 } });',
  'await products.operate("p", { append: { name: ["a"] } });',
  'await products.operate("p", { append: { tags: "a" } });',
  'await products.operate("p", { remove: { tags: [1] } });',
  'await products.operate("p", { min: { tags: ["a"] } });',
  'await products.operate("p", { max: { price: "1" } });',
  'await products.operate("p", { multiply: { price: 2 } });',
  'await orders.operate(order, { max: { status: "lost" } });',
  'await orders.operate(order, { max: { "customer.country": "DE" } });',
  'await orders.operate(order, { increment: { "lines[].count": 1 } });',
  'await orders.operate(order, { max: { createdAt: "2026" } });',
  'products.in.operate("p", { increment: { name: 1 } });',
  "const [one] = await shop.batch([orders.in.remove(order)]); one.total;",
];

describe("the types of the client", () => {
  it("let right programs compile", async () => {
    assert.equal(
      await programs.compile("right.ts", `${head}${right.map((line) => `{ ${line} }`).join("\n")}`),
      "",
    );
  });

  it("catch each wrong one", async () => {
    const program = head + wrong.map((line) => `// @ts-expect-error\n{ ${line} }`).join("\n");
    assert.equal(await programs.compile("wrong.ts", program), "");
  });
});

/** Roots that allow few objects or none, and each inside the keywords that combine schemas. */
const roots: readonly Readonly<Record<string, unknown>>[] = [
  ...["string", "array", "null", ["object", "string"]].map((type) => ({ type })),
  ...[{ const: 3 }, { enum: [1, "a"] }, { enum: [{ a: 1 }, null] }, { enum: [] }, { not: {} }],
  ...[{ items: {} }, { type: "object", maxProperties: 0 }, { propertyNames: false }],
  { properties: { id: false, a: false }, required: ["id", "a"] },
  { properties: { id: { type: "number" }, createdAt: { type: "boolean" } } },
].flatMap((root) => [
  root,
  ...["allOf", "anyOf", "oneOf"].flatMap((keyword) => [
    { [keyword]: [root] },
    { [keyword]: [root, { type: "object", properties: { a: { type: "string" } } }, false] },
    { type: "object", [keyword]: [{ $ref: "#/$defs/root" }], $defs: { root } },
  ]),
  { $ref: "#/$defs/root", $defs: { root } },
]);
const none = { $ref: "#/$defs/none", $defs: { none: false } };

describe("a collection whose schema allows no object", () => {
  it("leaves the types of the others as they are", async () => {
    const schemas = [...roots, none, { type: "object", allOf: [false] }];
    const good = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
    const collections = [
      ...schemas.map((schema, index) => ({ name: `odd-${index}`, schema })),
      { name: "good", schema: good },
    ];
    await programs.write(
      "odd-collections.ts",
      writeTypes(collectionComponents(collections, reservedNames)),
    );
    const uses = collections.map(({ name }) => `await client.collection("${name}").get("1");`);
    const program = `
import { Client } from "restante-client";
import type { Collections } from "./odd-collections.ts";
const client = new Client<Collections>("http://localhost:8080");
const created = await client.collection("good").create({ name: "a" });
created.name satisfies string;
// @ts-expect-error
await client.collection("good").create({ name: 1 });
${uses.join("\n")}
`;
    assert.equal(await programs.compile("odd.ts", program), "");
  });
});

describe("docs/client.md", () => {
  it("compiles and runs", async () => {
    const app = await startShop();
    try {
      const blocks = await examplesOf("client.md", "ts");
      assert.ok(blocks.length >= 8);
      const program = blocks.join("\n").replace('"http://localhost:8080"', JSON.stringify(app.url));
      const given = `const token = ${JSON.stringify(app.admin)}; const picture = "bytes";\n`;
      // What a browser and the compiler see: an error in a catch is unknown, but in the example of a conflict.
      assert.equal(await programs.compile("docs.ts", given + program), "");
      const { status, stdout, stderr } = await programs.run("docs.ts");
      assert.equal(status, 0, stderr);
      assert.match(stdout, /^5 6 \{\s+price: 4,?\s+\}/);
      assert.match(stdout, /invalid-body/);
      assert.match(stdout, /100 %/);
    } finally {
      await app.stop();
    }
  });
});

describe("the size of the client", () => {
  it("is at most 8 KB with brotli, and it has no dependencies", () => {
    const { text, bytes } = bundleOf(join(root, "client/index.ts"));
    assert.doesNotMatch(text, /\brequire\(|\bfrom"[^.]/);
    assert.ok(bytes <= 8_000, `${bytes} bytes`);
  });
});
