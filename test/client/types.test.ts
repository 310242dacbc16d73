// The types of the client: right programs compile, wrong fields, values, filters and sort orders do not; and docs/client.md runs.

import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompressSync } from "node:zlib";
import { collectionComponents } from "../../src/model/collection-components.ts";
import { reservedNames, writeTypes } from "../../src/model/typescript.ts";
import { startApp } from "../http/app.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const tool = (name: string) => join(root, "node_modules/.bin", name);
const clientPath = join(root, "client/index.ts");

const object = (required: readonly string[], properties: object) => ({
  ...{ type: "object", required, properties, additionalProperties: false },
});
const text = { type: "string" };
const number = { type: "number", minimum: 0 };

const definitions = {
  customers: { schema: object(["name"], { name: text, country: text }) },
  products: {
    schema: object(["name", "price"], {
      ...{
        name: { ...text, minLength: 1 },
        price: number,
        stock: number,
        photo: { type: "object" },
      },
      tags: { type: "array", items: text },
    }),
  },
  orders: {
    schema: object(["customer", "total"], {
      ...{
        customer: text,
        total: number,
        status: { enum: ["open", "paid"] },
        isGift: { type: "boolean" },
      },
      address: object([], { city: text }),
      lines: { type: "array", items: object(["product"], { product: text, count: number }) },
    }),
    references: { customer: { collection: "customers" } },
  },
};

const collections = Object.entries(definitions).map(([name, { schema }]) => ({
  ...{ name, schema, singular: name.slice(0, -1) },
}));
const references = new Map([["orders", definitions.orders.references]]);

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "restante-client-"));
  const types = writeTypes(collectionComponents(collections, reservedNames), references);
  await writeFile(join(folder, "collections.ts"), types);
});
after(() => rm(folder, { recursive: true }));

/** The errors of the compiler; empty when there are none. */
async function compile(name: string, program: string): Promise<string> {
  await writeFile(join(folder, name), program);
  const flags = [
    ...["--noEmit", "--ignoreConfig", "--strict", "--exactOptionalPropertyTypes", "--skipLibCheck"],
    ...["--target", "esnext", "--module", "esnext", "--moduleResolution", "bundler"],
    ...["--lib", "esnext,dom,dom.iterable", "--types", "", "--allowImportingTsExtensions"],
  ];
  return promisify(execFile)(tool("tsc"), [...flags, join(folder, name)]).then(
    () => "",
    ({ stdout }: { stdout: string }) => stdout,
  );
}

const head = `
import { Client } from ${JSON.stringify(clientPath)};
import type { Collections } from "./collections.ts";
const shop = new Client<Collections>("http://localhost:8080");
const orders = shop.collection("orders");
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
  "const country: string | undefined = order._expanded?.customer?.country; void country;",
  'const [one, none] = await shop.batch([orders.in.create({ customer: "c", total: 1 }), orders.in.remove(order)]); one.total + 1; none satisfies undefined;',
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
  "const [one] = await shop.batch([orders.in.remove(order)]); one.total;",
];

describe("the types of the client", () => {
  it("let right programs compile", async () => {
    assert.equal(
      await compile("right.ts", `${head}${right.map((line) => `{ ${line} }`).join("\n")}`),
      "",
    );
  });

  it("catch each wrong one", async () => {
    const program = head + wrong.map((line) => `// @ts-expect-error\n{ ${line} }`).join("\n");
    assert.equal(await compile("wrong.ts", program), "");
  });
});

describe("docs/client.md", () => {
  it("compiles and runs", async () => {
    const app = await startApp();
    try {
      for (const [name, definition] of Object.entries(definitions))
        await app.request(`/-/collections/${name}`, {
          ...{ method: "PUT", headers: { "content-type": "application/json" } },
          body: JSON.stringify(definition),
        });
      const page = await readFile(join(root, "docs/client.md"), "utf8");
      const blocks = [...page.matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(([, code = ""]) => code);
      assert.ok(blocks.length >= 8);
      const program = blocks
        .join("\n")
        .replaceAll('"restante/client"', JSON.stringify(clientPath))
        .replace('"http://localhost:8080"', JSON.stringify(app.url));
      const given = `const token = ${JSON.stringify(app.admin)}; const picture = "bytes";\n`;
      // What a browser and the compiler see: an error in a catch is unknown, but in the example of a conflict.
      assert.equal(await compile("docs.ts", given + program), "");
      const { status, stdout, stderr } = await run(join(folder, "docs.ts"));
      assert.equal(status, 0, stderr);
      assert.match(stdout, /^5 6 \{\s+price: 4,?\s+\}/);
      assert.match(stdout, /invalid-body/);
      assert.match(stdout, /100 %/);
    } finally {
      await app.stop();
    }
  });
});

const run = (file: string) =>
  promisify(execFile)(tool("bun"), [file]).then(
    ({ stdout, stderr }) => ({ status: 0, stdout, stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
      ...{ status: code, stdout, stderr },
    }),
  );

describe("the size of the client", () => {
  it("is at most 8 KB with brotli, and it has no dependencies", () => {
    const build = spawnSync(tool("bun"), ["build", clientPath, "--minify", "--target=browser"], {
      maxBuffer: 1e7,
    });
    assert.equal(build.status, 0, String(build.stderr));
    assert.doesNotMatch(String(build.stdout), /\brequire\(|\bfrom"[^.]/);
    const bytes = brotliCompressSync(build.stdout).length;
    assert.ok(bytes <= 8_000, `${bytes} bytes`);
  });
});
