// PUT /products?sku=A1: creates or replaces by a unique field, also with concurrent clients.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";
import { type Answer, assertProblem } from "./expect.ts";

const properties = {
  ...{ sku: { type: "string" }, n: { type: "integer" }, on: { type: "boolean" } },
  ...{ price: { type: "number" }, from: { type: "object" }, tags: { type: "array" } },
  loose: {},
};
const unique = ["sku", "n", "on", "from.code", "loose", ["price", "n"], "tags[]"];

interface BatchResult {
  readonly status: number;
  readonly location?: string;
  readonly body?: Readonly<Record<string, unknown>>;
}

const bodyOf = (answer: Answer) => JSON.parse(answer.body) as Record<string, unknown>;

for (const store of storesHere("sqlite", ["sqlite", "postgres"]))
  describe(`an upsert, on ${store}`, () => {
    let app: TestApp;
    let client: Client;

    before(async () => {
      app = await startApp(store === "postgres" ? { store } : {});
      client = new Client(app);
      const defined = await client.put("/-/collections/products", {
        schema: { properties },
        unique,
      });
      assert.equal(defined.status, 201, defined.body);
    });
    after(() => app.stop());

    const total = async (collection = "products") => app.total(collection);

    it("creates the resource, and then replaces it", async () => {
      const first = await client.put("/products?sku=A1", { sku: "A1", price: 1 });
      assert.equal(first.status, 201);
      const { id } = bodyOf(first);
      assert.equal(first.headers.get("location"), `/products/${id}`);
      assert.equal(first.headers.get("content-location"), `/products/${id}`);
      const second = await client.put("/products?sku=A1", { price: 2 });
      assert.equal(second.status, 200);
      assert.equal(second.headers.get("location"), null);
      const { createdAt: _, updatedAt: __, ...shown } = bodyOf(second);
      assert.deepEqual(shown, { id, price: 2, sku: "A1" });
      const minimal = await client.put("/products?sku=A1", {}, { prefer: "return=minimal" });
      assert.deepEqual([minimal.status, minimal.body], [204, ""]);
      assert.deepEqual(bodyOf(await client.get("/products?sku=A1")).total, 1);
    });

    it("reads the value like a filter, and adds it to a body without it", async () => {
      for (const [query, member] of [
        ["n=7", { n: 7 }],
        ["on=true", { on: true }],
        ["from.code=x%20y", { from: { code: "x y" } }],
        ["loose=12", { loose: "12" }],
      ] as const) {
        const created = await client.put(`/products?${query}`, { price: 3 });
        assert.equal(created.status, 201, created.body);
        const { id, price, createdAt, updatedAt, ...rest } = bodyOf(created);
        assert.deepEqual([rest, price], [member, 3]);
        assert.ok(id && createdAt && updatedAt);
        assert.equal((await client.put(`/products?${query}`, member)).status, 200);
      }
      assert.equal((await client.put("/products?loose=13", { loose: 13 })).status, 201);
      assert.equal((await client.put("/products?loose=13", { loose: 13 })).status, 200);
    });

    it("is 409 for another value in the body, and stores nothing", async () => {
      const before = await total();
      for (const [query, body, pointer] of [
        ["sku=B", { sku: "C" }, "/sku"],
        ["sku=B", { sku: null }, "/sku"],
        ["n=1", { n: "1" }, "/n"],
        ["from.code=a", { from: { code: "b" } }, "/from/code"],
        ["from.code=a", { from: "b" }, "/from/code"],
        ["loose=1", { loose: ["1"] }, "/loose"],
      ] as const) {
        const problem = assertProblem(await client.put(`/products?${query}`, body), "conflict");
        assert.equal(problem.errors?.[0]?.pointer, pointer);
      }
      assert.equal(await total(), before);
    });

    it("is 400 without one unique field, and says what to do", async () => {
      for (const [query, words] of [
        ["", /such as \/products\?sku=A1/],
        ["?price=1", /unique fields of products are: sku, n, on, from\.code, loose/],
        ["?nothing=1", /unique fields of products are/],
        ["?createdAt=2026-01-01", /unique fields of products are/],
        ["?tags[]=a", /unique fields of products are/],
        ["?sku=A1&n=1", /takes one parameter/],
        ["?sku=A1&sku=A1", /takes one parameter/],
        ["?id=x", /\/products\/\{id\}/],
        ["?n=x", /must be a number/],
        ["?on=yes", /true or false/],
      ] as const) {
        const answer = await client.put(`/products${query}`, {});
        assertProblem(answer, "invalid-parameter");
        assert.match(answer.body, words, query);
      }
      assert.match((await client.put("/nowhere?sku=A1", {})).body, /add one to `unique`/);
      assertProblem(await client.put("/products?n=70", { price: "x" }), "invalid-body");
    });

    it("is 400 when the value is not UTF-8, because other values would be taken for it", async () => {
      const before = await total();
      for (const value of ["M%FCller", "M%F6ller", "%ED%A0%80"]) {
        const path = `/products?sku=${value}`;
        assertProblem(await client.put(path, {}), "malformed-request");
        assertProblem(await client.batch([{ method: "PUT", path, body: {} }]), "invalid-body");
      }
      assert.equal(await total(), before);
    });

    it("takes an id for a new resource, and no other for an existing one", async () => {
      const created = await client.put("/products?sku=I1", { id: "chosen" });
      assert.deepEqual([created.status, bodyOf(created).id], [201, "chosen"]);
      assert.equal((await client.put("/products?sku=I1", { id: "chosen" })).status, 200);
      assertProblem(await client.put("/products?sku=I1", { id: "other" }), "conflict");
      assertProblem(await client.put("/products?sku=I2", { id: "chosen" }), "conflict");
      assertProblem(await client.put("/products?sku=I2", { id: "not valid" }), "invalid-body");
      assertProblem(await client.put("/products?sku=I2", { id: 5 }), "invalid-body");
    });

    it("evaluates preconditions on the resource with the value", async () => {
      const none = { "if-none-match": "*" };
      assert.equal((await client.put("/products?sku=P1", {}, none)).status, 201);
      assertProblem(await client.put("/products?sku=P1", {}, none), "precondition-failed");
      const { data } = bodyOf(await client.get("/products?sku=P1")) as { data: { id: string }[] };
      const etag = (await client.get(`/products/${data[0]?.id}`)).headers.get("etag") ?? "";
      const match = { "if-match": etag };
      assert.equal((await client.put("/products?sku=P1", { n: 40 }, match)).status, 200);
      assertProblem(await client.put("/products?sku=P1", {}, match), "precondition-failed");
      assertProblem(await client.put("/products?sku=P2", {}, match), "precondition-failed");
      await client.put("/-/collections/strict", { unique: ["sku"], preconditions: "required" });
      assertProblem(await client.put("/strict?sku=P1", {}), "precondition-required");
      assert.equal((await client.put("/strict?sku=P1", {}, none)).status, 201);
    });

    it("by many clients at once creates one resource", async () => {
      for (const sku of ["R1", "R2", "R3"]) {
        const answers = await Promise.all(
          Array.from({ length: 12 }, (_, price) => client.put(`/products?sku=${sku}`, { price })),
        );
        const statuses = answers.map(({ status }) => status).toSorted();
        assert.deepEqual(statuses, [...Array(11).fill(200), 201]);
        assert.equal(new Set(answers.map((answer) => bodyOf(answer).id)).size, 1);
      }
    });

    describe("in a batch", () => {
      const upsert = (query: string, body: object = {}, more = {}) => ({
        ...{ method: "PUT", path: `/products?${query}`, body, ...more },
      });
      const resultsOf = async (operations: readonly object[]) => {
        const answer = await client.batch(operations);
        assert.equal(answer.status, 200, answer.body);
        return (JSON.parse(answer.body) as { results: BatchResult[] }).results;
      };
      /** The problem of a batch, which changes nothing. */
      const rejected = async (kind: Parameters<typeof assertProblem>[1], operation: object) => {
        const count = await total();
        const first = { method: "POST", path: "/products", body: { price: 1 } };
        const problem = assertProblem(await client.batch([first, operation]), kind);
        assert.equal(await total(), count);
        return problem.errors?.[0]?.pointer;
      };

      it("creates the resource, and then replaces it", async () => {
        const [first, second] = await resultsOf([
          upsert("sku=batch%201", { price: 1 }),
          upsert("sku=batch+1", { price: 2 }),
        ]);
        assert.deepEqual([first?.status, second?.status], [201, 200]);
        assert.equal(first?.location, second?.location);
        const [third] = await resultsOf([upsert("sku=batch%201", { sku: "batch 1", price: 3 })]);
        assert.deepEqual([third?.status, third?.location], [200, first?.location]);
        const shown = bodyOf(await client.get(first?.location ?? ""));
        assert.deepEqual([shown.sku, shown.price], ["batch 1", 3]);
      });

      it("sees what the operations before it leave", async () => {
        const post = { method: "POST", path: "/products", body: { sku: "seen" } };
        const [created, replaced] = await resultsOf([post, upsert("sku=seen", { price: 2 })]);
        assert.deepEqual([replaced?.status, replaced?.location], [200, created?.location]);
        const path = created?.location ?? "";
        const [, other, renamed] = await resultsOf([
          { method: "PATCH", path, body: { sku: "renamed" } },
          upsert("sku=seen"),
          upsert("sku=renamed", { price: 3 }),
        ]);
        assert.deepEqual([other?.status, renamed?.status, renamed?.location], [201, 200, path]);
        const [, again] = await resultsOf([{ method: "DELETE", path }, upsert("sku=renamed")]);
        assert.equal(again?.status, 201);
        assert.notEqual(again?.location, path);
        const type = "application/vnd.restante.operations+json";
        const increment = { body: { increment: { price: 1 } }, contentType: type };
        const home = again?.location ?? "";
        const [counted, last] = await resultsOf([
          { method: "PATCH", path: home, ...increment },
          upsert("sku=renamed", { price: 7 }),
        ]);
        assert.deepEqual([counted?.body?.price, last?.location], [1, home]);
        const [, swapped] = await resultsOf([
          { method: "PUT", path: home, body: { sku: "swapped" } },
          upsert("sku=renamed", { id: "named-now" }),
        ]);
        assert.deepEqual([swapped?.status, swapped?.location], [201, "/products/named-now"]);
        const [gone, reused] = await resultsOf([
          { method: "DELETE", path: "/products/named-now" },
          upsert("sku=reused", { id: "named-now" }),
        ]);
        assert.deepEqual([gone?.status, reused?.status], [204, 201]);
        assert.equal(reused?.location, "/products/named-now");
        const taken = upsert("sku=other", { id: "named-now" });
        assert.equal(await rejected("conflict", taken), "/operations/1/body/id");
      });

      it("follows the rules of a single one", async () => {
        await resultsOf([upsert("sku=rules")]);
        const none = { ifNoneMatch: "*" };
        assert.equal(
          await rejected("precondition-failed", upsert("sku=rules", {}, none)),
          "/operations/1",
        );
        for (const [kind, operation, pointer] of [
          ["conflict", upsert("sku=rules", { sku: "other" }), "/body/sku"],
          ["invalid-body", upsert("sku=rules", { price: "x" }), "/body/price"],
          ["invalid-parameter", upsert("price=1"), "/path"],
          ["invalid-parameter", upsert("n=x"), "/path"],
          ["invalid-parameter", { ...upsert(""), path: "/nowhere?sku=1" }, "/path"],
        ] as const)
          assert.equal(await rejected(kind, operation), `/operations/1${pointer}`);
        for (const [method, path] of [
          ["PUT", "/products"],
          ["PUT", "/products?"],
          ["PUT", "/products?id=x"],
          ["PUT", "/products?sku=1&n=2"],
          ["PUT", "/products/x?sku=1"],
          ["PUT", "/products?sku=1#x"],
          ["POST", "/products?sku=1"],
          ["PATCH", "/products?sku=1"],
        ] as const) {
          const pointer = await rejected("invalid-body", { method, path, body: {} });
          assert.equal(pointer, "/operations/1/path", path);
        }
      });

      it("by many clients at once creates one resource", async () => {
        const answers = await Promise.all(
          Array.from({ length: 8 }, (_, price) => resultsOf([upsert("sku=race", { price })])),
        );
        const statuses = answers.map(([result]) => result?.status).toSorted();
        assert.deepEqual(statuses, [...Array(7).fill(200), 201]);
        assert.equal(new Set(answers.map(([result]) => result?.location)).size, 1);
      });
    });

    it("needs the scope for what it does, and hides what belongs to others", async () => {
      await client.put("/-/collections/own", {
        ...{ unique: ["sku"], access: { read: "owner", update: "owner", delete: "owner" } },
      });
      const one = new Client(app, await app.token("own:*"));
      const other = new Client(app, await app.token("own:*"));
      const creator = new Client(app, await app.token("own:create", "own:read"));
      const updater = new Client(app, await app.token("own:update", "own:read"));
      assert.equal((await one.put("/own?sku=a", {})).status, 201);
      assert.equal((await one.put("/own?sku=a", {})).status, 200);
      // The same as for a POST with the value of another's resource.
      const hidden = assertProblem(await other.put("/own?sku=a", {}), "conflict");
      const posted = assertProblem(await other.post("/own", { sku: "a" }), "conflict");
      assert.deepEqual([hidden.detail, hidden.errors], [posted.detail, posted.errors]);
      assert.equal((await creator.put("/own?sku=c", {})).status, 201);
      assertProblem(await creator.put("/own?sku=c", {}), "insufficient-scope");
      assertProblem(await updater.put("/own?sku=u", {}), "insufficient-scope");
      assertProblem(await new Client(app, null).put("/own?sku=u", {}), "unauthenticated");
      assert.equal(await total("own"), 2);
    });
  });
