// Conditions and sort orders that name fields of other collections, across references.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import fc from "../fast-check.ts";
import {
  type Fields,
  matches,
  randomRelatedWhere,
  referringItems,
  relatedFields,
} from "../random-where.ts";
import { newSeed, runs } from "../seeds.ts";
import { itLong, itOn } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";
import { type Answer, assertProblem } from "./expect.ts";
import { idsOf, parameters, QueryClient, type Row } from "./query-client.ts";

const to = (collection: string) => ({ collection, onDelete: "unset" });
const text = { type: "string" };
const number = { type: "number" };
const ok = ({ status, body }: Answer) => assert.ok(status < 300, `${status} ${body}`);

for (const store of [undefined, "postgres"]) {
  describe(`conditions across references on ${store ?? "the embedded engine"}`, () => {
    // They are translated above the engines.
    const it = itOn(store);
    let app: TestApp;
    let client: Client;
    let asker: QueryClient;
    before(async () => {
      app = await startApp(store === undefined ? {} : { store });
      client = new Client(app);
      asker = new QueryClient(app);
      await asker.define("regions", {});
      await asker.define("customers", {
        schema: {
          properties: { name: text, country: text, region: text, pin: { writeOnly: true } },
        },
        references: { region: to("regions") },
        access: { read: "public" },
      });
      await asker.define("products", { access: { read: "owner" } });
      await asker.define("orders", {
        references: {
          customer: to("customers"),
          "lines[].product": to("products"),
          "tags[]": to("regions"),
        },
        access: { read: "public" },
        cache: { maxAge: 60 },
      });
      await asker.fill("regions", { north: { name: "North" }, south: { name: "South" } });
      await asker.fill("customers", {
        ada: { name: "Ada", country: "DE", region: "north" },
        bob: { name: "Bob", country: "FR", region: "south" },
        eve: { name: "Eve", country: "DE" },
      });
      await asker.fill("products", {
        pen: { kind: "desk", price: 2 },
        saw: { kind: "tools", price: 9 },
      });
      await asker.fill("orders", {
        o1: { customer: "ada", total: 5, lines: [{ product: "pen", count: 3 }], tags: ["north"] },
        o2: {
          customer: "bob",
          total: 7,
          lines: [{ product: "saw", count: 1 }, { product: "pen" }],
        },
        o3: { customer: "eve", total: 9 },
        o4: { total: 11, lines: [{ count: 3 }], tags: ["south", "north"] },
      });
    });
    after(() => app.stop());

    const detailOf = (answer: Answer, kind: "invalid-parameter" | "invalid-body"): string =>
      assertProblem(answer, kind).errors?.[0]?.detail ?? "";

    it("finds resources by the fields of what they refer to", async () => {
      const found = {
        "customer.country=DE": ["o1", "o3"],
        "customer.name=Ada&customer.country=DE": ["o1"],
        "customer.name=Ada&customer.country=FR": [],
        "customer.region.name=North": ["o1"],
        "customer.country[ne]=DE": ["o2", "o4"],
        "customer.country[exists]=false": ["o4"],
        "customer.region.name[exists]=false": ["o3", "o4"],
        "customer.name[gt]=Ada&total[lt]=9": ["o2"],
        "customer.id=bob": ["o2"],
        "lines[].product.kind=tools": ["o2"],
        "lines[].product.kind[ne]=tools": ["o1", "o3", "o4"],
        "lines[].product.price[lt]=5": ["o1", "o2"],
        "tags[].name=North": ["o1", "o4"],
      };
      for (const [filter, ids] of Object.entries(found)) {
        const { total, ...list } = await asker.list(`/orders?${filter}`);
        assert.deepEqual(idsOf(list), ids, filter);
        assert.equal(total, ids.length, filter);
        const exported = await client.get(`/orders?${filter}`, { accept: "application/x-ndjson" });
        const lines = exported.body.split("\n").filter((line) => line !== "");
        assert.deepEqual(
          lines.map((line) => JSON.parse(line).id),
          ids,
          filter,
        );
      }
    });

    it("takes them in a where, also inside of some", async () => {
      const found: readonly (readonly [Row, readonly string[]])[] = [
        [{ $or: [{ "customer.name": "Bob" }, { total: 9 }] }, ["o2", "o3"]],
        [{ $not: { "customer.country": { in: ["DE", "FR"] } } }, ["o4"]],
        [{ lines: { some: { "product.kind": "desk", count: { gte: 2 } } } }, ["o1"]],
        [{ lines: { some: { "product.kind": "tools", count: { gte: 2 } } } }, []],
        [{ "lines[].product.kind": "desk", "lines[].count": 1 }, ["o2"]],
      ];
      for (const [where, ids] of found) {
        assert.deepEqual(idsOf(await asker.queryList("orders", { where })), ids);
        const asked = `/orders?${parameters({ where: JSON.stringify(where) })}`;
        assert.deepEqual(await asker.ids(asked), ids);
      }
    });

    it("sorts by them, with pages and cursors", async () => {
      const orders = {
        "customer.name": ["o4", "o1", "o2", "o3"],
        "-customer.country,total": ["o2", "o1", "o3", "o4"],
        "customer.region.name,-total": ["o4", "o3", "o1", "o2"],
      };
      for (const [sort, ids] of Object.entries(orders)) {
        assert.deepEqual(await asker.ids(`/orders?sort=${sort}`), ids, sort);
        assert.deepEqual(
          await asker.ids(`/orders?sort=${sort}&limit=2&page=2`),
          ids.slice(2),
          sort,
        );
        const read = await asker.readByCursor(`/orders?sort=${sort}&limit=1`);
        assert.deepEqual(read.ids, ids, sort);
      }
    });

    it("counts and sums what they find", async () => {
      const path = "/orders?aggregate=count,sum(total)&customer.country=DE";
      const { data } = await client.json<{ data: readonly Row[] }>(path);
      assert.deepEqual(data, [{ count: 2, "sum(total)": 14 }]);
    });

    it("changes the ETag with the other collection", async () => {
      for (const path of [
        "/orders?customer.name=Zed",
        "/orders?sort=customer.name",
        "/orders?customer.name=Zed&aggregate=count",
        "/orders?customer.name=Zed&expand=customer",
      ]) {
        const before = await client.get(path);
        const tag = before.headers.get("etag") ?? assert.fail(path);
        assert.equal(before.headers.get("last-modified"), null);
        assert.equal((await client.get(path, { "if-none-match": tag })).status, 304);
        ok(await client.patch("/customers/eve", { name: "Zed" }));
        const isSame = path.includes("sort");
        const { status } = await client.get(path, { "if-none-match": tag });
        assert.equal(status, isSame ? 304 : 200, path);
        ok(await client.patch("/customers/eve", { name: "Eve" }));
        assert.equal((await client.get(path, { "if-none-match": tag })).status, 304);
      }
    });

    it("is public only if both collections are", async () => {
      const anonymous = new Client(app, null);
      const both = await anonymous.get("/orders?customer.country=DE");
      assert.equal(both.headers.get("cache-control"), "public, no-cache");
      const mixed = await client.get("/orders?tags[].name=North");
      assert.match(mixed.headers.get("cache-control") ?? "", /private/);
    });

    it("needs the permission to read both", async () => {
      const anonymous = new Client(app, null);
      for (const query of [
        "tags[].name=North",
        "sort=customer.region.name",
        "customer.region.name=x",
      ])
        assert.match(
          detailOf(await anonymous.get(`/orders?${query}`), "invalid-parameter"),
          /may not read/,
        );
      // An owner sees their own products, and nothing of the others.
      const reader = new Client(app, await app.token("orders:read", "products:*"));
      ok(await reader.put("/products/own", { kind: "tools" }));
      ok(await client.put("/orders/o5", { lines: [{ product: "own" }] }));
      const list = async (filter: string) =>
        (await reader.json<{ data: readonly { id: string }[] }>(`/orders?${filter}`)).data.map(
          ({ id }) => id,
        );
      assert.deepEqual(await list("lines[].product.kind=tools"), ["o5"]);
      assert.deepEqual(await list("lines[].product.kind[ne]=tools"), ["o1", "o2", "o3", "o4"]);
      assert.deepEqual(await list("lines[].product.kind[exists]=true"), ["o5"]);
      ok(await client.remove("/orders/o5"));
    });

    it("explains what cannot be asked", async () => {
      const errors = {
        "customer.pin=1": /no field "pin"/,
        "customer.nam=Ada": /no field "nam"/,
        "customer.region.name.x.y=1&since=0": /leave the condition or since out/,
        "customer.name=Ada&since=0": /leave the condition or since out/,
        "sort=lines[].product.kind": /array/,
        "fields=customer.name": /expand=customer/,
        "aggregate=count&by=customer.name": /expand=customer/,
        "aggregate=max(customer.name)": /expand=customer/,
      };
      for (const [query, detail] of Object.entries(errors))
        assert.match(detailOf(await client.get(`/orders?${query}`), "invalid-parameter"), detail);
      const where = { "customer.nam": "Ada" };
      assert.match(detailOf(await asker.query("orders", { where }), "invalid-body"), /"nam"/);
    });
  });

  describe(`random conditions across references on ${store ?? "the embedded engine"}`, () => {
    let app: TestApp;
    let asker: QueryClient;
    const seed = newSeed(
      `random conditions across references on ${store ?? "the embedded engine"}`,
    );
    /** More than are looked up by id, so that some conditions are checked resource by resource. */
    const targetCount = 1_600;
    const draw = <T>(values: fc.Arbitrary<T>, numRuns: number): readonly T[] =>
      JSON.parse(JSON.stringify(fc.sample(values, { numRuns, seed })));
    const targets = draw(relatedFields, targetCount).map((fields, index) => ({
      ...fields,
      // Every fifth refers to nothing; the others to one that was created before.
      ...(index % 5 > 0 && { up: `c${index >> 1}` }),
    }));
    const links = draw(
      fc.record({ items: referringItems, c: fc.option(fc.nat()), n: fc.nat(3) }),
      90,
    );
    const rows = links.map(({ items, c, n }) => ({
      ...{
        n,
        items: items.map(({ p, ...item }) => (p === undefined ? item : { ...item, p: nameOf(p) })),
      },
      ...(c !== null && { c: nameOf(c) }),
    }));

    function nameOf(number: number): string {
      return `c${number % targetCount}`;
    }

    const target = (id: unknown): Fields | undefined =>
      typeof id === "string" ? targets[Number(id.slice(1))] : undefined;

    const joinedTarget = (id: unknown): unknown => {
      const found = target(id);
      return found && { ...found, up: joinedTarget(found.up) };
    };

    /** The resource with what it refers to in the place of ids. */
    const joined = (row: Fields): Fields => ({
      ...row,
      c: joinedTarget(row.c),
      items: (row.items as readonly Fields[]).map((item) => ({ ...item, p: joinedTarget(item.p) })),
    });

    before(async () => {
      app = await startApp(store === undefined ? {} : { store });
      asker = new QueryClient(app);
      const properties = { t: text, n: number, up: text };
      await asker.define("targets", {
        schema: { properties },
        references: { up: to("targets") },
        indexed: ["n"],
      });
      const references = { c: to("targets"), "items[].p": to("targets") };
      const item = { type: "object", properties: { q: number, p: text } };
      const items = { type: "array", items: item };
      await asker.define("typed", {
        ...{ references, schema: { properties: { t: text, n: number, c: text, items } } },
      });
      await asker.define("open", { references });
      await asker.import(
        "targets",
        targets.map((fields, index) => ({ id: `c${index}`, ...fields })),
      );
      for (const name of ["typed", "open"])
        await asker.import(
          name,
          rows.map((fields, index) => ({ id: `r${index}`, ...fields })),
        );
    });
    after(() => app.stop());

    const keyOf = (row: Fields, sort: string): number => {
      const value = valueAt(joined(row), sort.replace("-", ""));
      return typeof value === "number" ? value : Number.NEGATIVE_INFINITY;
    };
    const valueAt = (row: unknown, path: string): unknown =>
      path.split(".").reduce<unknown>((value, name) => (value as Fields | undefined)?.[name], row);

    const itHere = store === undefined ? it : itLong;
    itHere("find what a plain filter finds in joined resources", async () => {
      const orders = fc.constantFrom("createdAt", "c.n", "-c.up.n", "n,-c.n");
      const check = fc.asyncProperty(randomRelatedWhere, orders, async (where, sort) => {
        const found = rows.flatMap((row, index) =>
          matches(joined(row), where) ? [{ row, id: `r${index}` }] : [],
        );
        for (const field of sort.split(",").reverse())
          if (field !== "createdAt")
            found.sort((one, other) => {
              const [first, second] = [keyOf(one.row, field), keyOf(other.row, field)];
              const difference = first === second ? 0 : first < second ? -1 : 1;
              return field.startsWith("-") ? -difference : difference;
            });
        const expected = found.map(({ id }) => id);
        for (const name of ["typed", "open"]) {
          const answer = await asker.queryList(name, { where, sort: sort.split(","), limit: 100 });
          assert.deepEqual(idsOf(answer), expected, name);
          assert.equal(answer.total, expected.length);
          const url = `/${name}?${parameters({ where: JSON.stringify(where), sort, limit: "40" })}`;
          if (url.length < 8_000) assert.deepEqual((await asker.readByCursor(url)).ids, expected);
        }
      });
      await fc.assert(check, { numRuns: runs(3, 1_000), seed });
    });
  });
}
