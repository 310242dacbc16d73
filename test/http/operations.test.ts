// PATCH with operations: increments, arrays and limits that hold whoever else writes.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { operationLimits, operationsType } from "../../src/model/schemas/operations.ts";
import { runs } from "../seeds.ts";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client, concurrently, pointersOf } from "./client.ts";
import { type Answer, assertProblem } from "./expect.ts";

const type = { "content-type": operationsType };
const contentType = operationsType;
const newKey = () => ({ "idempotency-key": `"${randomUUID()}"` });

const products = {
  schema: {
    properties: {
      stock: { type: "integer", minimum: 0 },
      sku: { type: "string" },
      price: { type: "number" },
      tags: { type: "array", items: { type: "string" }, maxItems: 5 },
      seen: { type: "string", format: "date-time" },
      cost: { type: "number", readOnly: true },
      secret: { type: "integer", writeOnly: true },
    },
  },
  unique: ["sku"],
  indexed: ["stock"],
};

for (const store of storesHere("sqlite", ["sqlite", "postgres"])) {
  describe(`PATCH with operations, on ${store}`, () => {
    let app: TestApp;
    let client: Client;
    before(async () => {
      app = await startApp(store === "postgres" ? { store } : {});
      client = new Client(app);
      assert.equal((await client.put("/-/collections/products", products)).status, 201);
    });
    after(() => app.stop());

    const operate = (path: string, body: unknown, headers = {}): Promise<Answer> =>
      client.patch(path, body, { ...type, ...headers });

    /** A new product, and its path. */
    async function make(fields: object): Promise<string> {
      const { id } = await app.post("products", { sku: randomUUID(), ...fields });
      return `/products/${id}`;
    }

    it("changes the fields that it names, and returns the resource with its new ETag", async () => {
      const path = await make({ stock: 3, price: 0.1, tags: ["old", "x", "old"] });
      const before = await client.tag(path);
      const answer = await operate(path, {
        increment: { stock: -1, price: 0.2, "views.total": 1 },
        append: { tags: ["new"], "log.lines": [{ n: 1.0 }] },
        remove: { tags: ["old"] },
        min: { lowest: 5 },
        max: { seen: "2026-01-01T00:00:00Z" },
      });
      assert.equal(answer.status, 200, answer.body);
      assert.notEqual(answer.headers.get("etag"), before);
      assert.equal(answer.headers.get("content-location"), path);
      const read = await client.get(path);
      assert.equal(read.body, answer.body);
      assert.equal(read.headers.get("etag"), answer.headers.get("etag"));
      const { id, sku, createdAt, updatedAt, ...fields } = JSON.parse(answer.body);
      assert.deepEqual(fields, {
        stock: 2,
        price: 0.3,
        tags: ["x", "new"],
        views: { total: 1 },
        log: { lines: [{ n: 1 }] },
        lowest: 5,
        seen: "2026-01-01T00:00:00Z",
      });
      const listed = await client.json<{ data: { id: string }[] }>("/products?stock=2");
      assert.ok(listed.data.some((each) => each.id === id));
    });

    it("sells exactly what there is to many buyers at once", async () => {
      const stock = runs(100, 5_000);
      const path = await make({ stock });
      const answers: Answer[] = [];
      const buyers = runs(20, 100);
      await concurrently(buyers, async () => {
        for (let count = 0; count < (2 * stock) / buyers; count++)
          answers.push(
            await operate(path, { increment: { stock: -1 } }, { prefer: "return=minimal" }),
          );
      });
      assert.equal(answers.filter(({ status }) => status === 204).length, stock);
      const rejected = answers.filter(({ status }) => status !== 204);
      assert.equal(rejected.length, stock);
      for (const answer of rejected)
        assert.deepEqual(pointersOf(assertProblem(answer, "conflict")), ["/stock"]);
      assert.equal((await client.json<{ stock: number }>(path)).stock, 0);
    });

    it("needs no precondition, and evaluates one that is sent", async () => {
      const definition = { preconditions: "required" };
      await client.put("/-/collections/guarded", definition);
      await client.put("/guarded/a", { n: 1 }, { "if-none-match": "*" });
      const tag = await client.tag("/guarded/a");
      assert.equal((await operate("/guarded/a", { increment: { n: 1 } })).status, 200);
      assertProblem(await client.patch("/guarded/a", { n: 9 }), "precondition-required");
      await client.rejects("guarded", "precondition-failed", () =>
        operate("/guarded/a", { increment: { n: 1 } }, { "if-match": tag }),
      );
      const now = await client.tag("/guarded/a");
      const matched = await operate("/guarded/a", { increment: { n: 1 } }, { "if-match": now });
      assert.equal(JSON.parse(matched.body).n, 3);
      const batch = await client.batch([
        { method: "PATCH", path: "/guarded/a", contentType, body: { increment: { n: 1 } } },
      ]);
      assert.equal(batch.status, 200, batch.body);
    });

    const rejections: Readonly<Record<string, readonly [body: unknown, pointers: string[]]>> = {
      "an array": [[], [""]],
      "an empty object": [{}, [""]],
      "an empty operation": [{ increment: {} }, ["/increment"]],
      "an unknown operation": [{ multiply: { n: 2 } }, ["/multiply"]],
      "an increment by a text": [{ increment: { n: "1" } }, ["/increment/n"]],
      "an append without items": [{ append: { tags: [] } }, ["/append/tags"]],
      "an append of what is no array": [{ append: { tags: "x" } }, ["/append/tags"]],
      "a min of an object": [{ min: { n: {} } }, ["/min/n"]],
      "a member of the server": [{ max: { updatedAt: "2030-01-01" } }, ["/max/updatedAt"]],
      "the owner": [{ min: { _owner: "a" } }, ["/min/_owner"]],
      "an empty name": [{ increment: { "a..b": 1 } }, ["/increment/a..b"]],
      "the items of an array": [{ increment: { "lines[].n": 1 } }, ["/increment/lines[].n"]],
      "a write-only field": [{ increment: { secret: 1 } }, ["/increment/secret"]],
      "a text that is incremented": [{ increment: { sku: 1 } }, ["/increment/sku"]],
      "a number that is appended to": [{ append: { stock: [1] } }, ["/append/stock"]],
      "a number with a text as its limit": [{ max: { stock: "1" } }, ["/max/stock"]],
      "a time with another text as its limit": [{ max: { seen: "now" } }, ["/max/seen"]],
      "a field in what is no object": [{ increment: { "sku.n": 1 } }, ["/increment/sku.n"]],
      "several errors": [
        { increment: { sku: 1 }, remove: { stock: [1] } },
        ["/remove/stock", "/increment/sku"],
      ],
    };
    for (const [name, [body, pointers]] of Object.entries(rejections))
      it(`rejects ${name}: 400`, async () => {
        const path = await make({
          stock: 1,
          sku: `rejected ${name}`,
          seen: "2026-01-01T00:00:00Z",
        });
        const problem = await client.rejects("products", "invalid-body", () => operate(path, body));
        assert.deepEqual(pointersOf(problem), pointers);
      });

    it("rejects too many fields: 400", async () => {
      const path = await make({});
      const names = Array.from({ length: operationLimits.maxFields + 1 }, (_, n) => [`n${n}`, 1]);
      const ask = () => operate(path, { increment: Object.fromEntries(names) });
      assert.deepEqual(pointersOf(await client.rejects("products", "invalid-body", ask)), [
        "/increment",
      ]);
    });

    it("is 409 when the result would not be valid, and 400 for another patch", async () => {
      const path = await make({ stock: 1, tags: ["1", "2", "3", "4"] });
      const invalid = async (body: unknown): Promise<readonly string[]> =>
        pointersOf(await client.rejects("products", "conflict", () => operate(path, body)));
      assert.deepEqual(await invalid({ increment: { stock: -2 } }), ["/stock"]);
      assert.deepEqual(await invalid({ increment: { stock: 0.5 } }), ["/stock"]);
      assert.deepEqual(await invalid({ append: { tags: ["5", "6"] } }), ["/tags"]);
      assert.deepEqual(await invalid({ append: { tags: [7] } }), ["/tags/4"]);
      await client.rejects("products", "invalid-body", () => client.patch(path, { stock: -1 }));
      await client.patch(path, { big: 9007199254740992 });
      assert.deepEqual(await invalid({ increment: { big: 1 } }), ["/big"]);
    });

    it("is 409 when the resource would be too large", async () => {
      await client.put("/-/collections/small", { maxBytes: 40 });
      await client.put("/small/a", { list: [] });
      const add = () => operate("/small/a", { append: { list: ["0123456789"] } });
      assert.equal((await add()).status, 200);
      assert.equal((await add()).status, 200);
      assert.deepEqual(pointersOf(await client.rejects("small", "conflict", add)), [""]);
    });

    it("changes a unique value, unless another resource has it", async () => {
      await client.put("/-/collections/numbers", { unique: ["n"] });
      await client.put("/numbers/a", { n: 1 });
      await client.put("/numbers/b", { n: 2 });
      await client.rejects("numbers", "conflict", () =>
        operate("/numbers/a", { increment: { n: 1 } }),
      );
      const answers = await concurrently(20, () => operate("/numbers/b", { increment: { n: 1 } }));
      for (const { status, body } of answers) assert.equal(status, 200, body);
      const last = await operate("/numbers/a", { increment: { n: 1 } });
      assert.equal(JSON.parse(last.body).n, 2);
    });

    it("refers to resources that exist only", async () => {
      const references = { "members[]": { collection: "people" } };
      await client.put("/people/ada", {});
      assert.equal((await client.put("/-/collections/teams", { references })).status, 201);
      await client.put("/teams/a", { n: 1 });
      const added = await operate("/teams/a", { append: { members: ["ada"] } });
      assert.equal(added.status, 200, added.body);
      await client.rejects("teams", "invalid-body", () =>
        operate("/teams/a", { append: { members: ["nobody"] } }),
      );
      assert.equal((await operate("/teams/a", { increment: { n: 1 } })).status, 200);
      assertProblem(await client.remove("/people/ada"), "conflict");
      const removed = await operate("/teams/a", { remove: { members: ["ada"] } });
      assert.equal(removed.status, 200, removed.body);
      assert.equal((await client.remove("/people/ada")).status, 204);
    });

    it("is for read-only fields only an administrator's", async () => {
      const path = await make({ cost: 1 });
      const writer = new Client(app, await app.token("products:read", "products:update"));
      const ask = () => writer.patch(path, { increment: { cost: 1 } }, type);
      const problem = await client.rejects("products", "invalid-body", ask);
      assert.deepEqual(pointersOf(problem), ["/increment/cost"]);
      assert.equal((await operate(path, { increment: { cost: 1 } })).status, 200);
      const other = await writer.patch(path, { increment: { price: 1 } }, type);
      assert.equal(JSON.parse(other.body).cost, 2);
    });

    it("needs the right to read, because its result depends on the value", async () => {
      const path = await make({ stock: 5, secret: 7 });
      const blind = new Client(app, await app.token("products:update"));
      const ask = () => blind.patch(path, { increment: { stock: -6 } }, type);
      await client.rejects("products", "insufficient-scope", ask);
    });

    it("keeps write-only fields", async () => {
      const schema = { properties: { secret: { type: "integer", writeOnly: true } } };
      await client.put("/-/collections/hidden", { schema });
      await client.put("/hidden/a", { secret: 7, n: 1 });
      const answer = await operate("/hidden/a", { increment: { n: 1 } });
      assert.ok(!("secret" in JSON.parse(answer.body)), answer.body);
      await client.put("/-/collections/hidden", {});
      assert.equal((await client.json<{ secret: number }>("/hidden/a")).secret, 7);
    });

    it("is for the owner only, in a collection with owners", async () => {
      const access = { read: "owner", update: "owner", create: "token" };
      await client.put("/-/collections/owned", { access });
      const scopes = ["owned:read", "owned:create", "owned:update"];
      const ada = new Client(app, await app.token(...scopes));
      const bob = new Client(app, await app.token(...scopes));
      const made = await ada.post("/owned", { n: 1 });
      assert.equal(made.status, 201, made.body);
      const path = made.headers.get("location") ?? "";
      assertProblem(await bob.patch(path, { increment: { n: 1 } }, type), "not-found");
      assert.equal((await ada.patch(path, { increment: { n: 1 } }, type)).status, 200);
    });

    it("of a missing resource is 404", async () => {
      assertProblem(await operate("/products/none", { increment: { n: 1 } }), "not-found");
      assertProblem(
        await operate("/products/none", { increment: { n: 1 } }, newKey()),
        "not-found",
      );
    });

    it("is no body of a POST or a PUT", async () => {
      assertProblem(await client.post("/products", "{}", type), "unsupported-media-type");
      assertProblem(await client.put("/products/x", "{}", type), "unsupported-media-type");
    });

    describe("in a batch", () => {
      it("happens with the other changes, or not at all", async () => {
        const path = await make({ stock: 1 });
        const take = { method: "PATCH", path, contentType, body: { increment: { stock: -1 } } };
        const order = { method: "POST", path: "/orders", body: { path } };
        const answers = await concurrently(10, () => client.batch([order, take]));
        assert.equal(answers.filter(({ status }) => status === 200).length, 1);
        const [rejected] = answers.filter(({ status }) => status !== 200);
        assert.ok(rejected);
        const problem = assertProblem(rejected, "conflict");
        assert.deepEqual(pointersOf(problem), ["/operations/1/body/stock"]);
        assert.equal(await app.total("orders"), 1);
      });

      it("sees what the operations before it leave, and they see what it leaves", async () => {
        const path = await make({ stock: 1 });
        const patch = (body: unknown, more = {}) => ({ method: "PATCH", path, body, ...more });
        const answer = await client.batch([
          patch({ increment: { stock: 2 } }, { contentType }),
          patch({ price: 7 }),
          patch({ increment: { stock: 1, price: 0.5 } }, { contentType }),
        ]);
        assert.equal(answer.status, 200, answer.body);
        const { stock, price } = await client.json<{ stock: number; price: number }>(path);
        assert.deepEqual([stock, price], [4, 7.5]);
        const twice = await client.batch([
          patch({ increment: { stock: -2 } }, { contentType }),
          patch({ increment: { stock: -2 } }, { contentType }),
        ]);
        assert.equal(JSON.parse(twice.body).results[1].body.stock, 0);
        await client.rejects("products", "invalid-body", () =>
          client.batch([patch({ price: 8 }), patch({ increment: { sku: 1 } }, { contentType })]),
        );
        await client.rejects("products", "conflict", () =>
          client.batch([patch({ price: 8 }), patch({ increment: { stock: -9 } }, { contentType })]),
        );
        await client.rejects("products", "invalid-body", () =>
          client.batch([patch({ multiply: { stock: 1 } }, { contentType })]),
        );
      });
    });

    describe("with an Idempotency-Key", () => {
      it("counts once, however often it is sent", async () => {
        const path = await make({ stock: 5 });
        const key = newKey();
        const answers = await concurrently(8, () =>
          operate(path, { increment: { stock: -1 } }, key),
        );
        const [first] = answers;
        for (const { status, body, headers } of answers) {
          assert.equal(status, 200, body);
          assert.equal(body, first?.body);
          assert.equal(headers.get("etag"), first?.headers.get("etag"));
        }
        const replayed = answers.filter(({ headers }) => headers.has("idempotency-replayed"));
        assert.equal(replayed.length, 7);
        await operate(path, { increment: { stock: -1 } });
        const later = await operate(path, { increment: { stock: -1 } }, key);
        assert.equal(later.body, first?.body);
        assert.equal((await client.json<{ stock: number }>(path)).stock, 3);
      });

      it("gets the first result even when it would be rejected now", async () => {
        const path = await make({ stock: 1 });
        const key = newKey();
        const tag = { "if-match": await client.tag(path) };
        const take = () => operate(path, { increment: { stock: -1 } }, { ...key, ...tag });
        const first = await take();
        assert.equal(first.status, 200, first.body);
        const again = await take();
        assert.equal(again.body, first.body);
        assert.equal(again.headers.get("idempotency-replayed"), "true");
      });

      it("is 422 for another request, also for the same text as another kind of patch", async () => {
        const path = await make({ stock: 5 });
        const key = newKey();
        const body = { increment: { stock: -1 } };
        assert.equal((await operate(path, body, key)).status, 200);
        for (const ask of [
          () => operate(path, { increment: { stock: -2 } }, key),
          () => client.patch(path, body, key),
          () => operate(path, body, { ...key }).then(() => client.patch(path, body, key)),
        ])
          await client.rejects("products", "key-reused", ask);
      });

      it("is 410 after the resource was deleted, and a rejected request does not use it", async () => {
        const path = await make({ stock: 0 });
        const key = newKey();
        const body = { increment: { stock: -1 } };
        assertProblem(await operate(path, body, key), "conflict");
        await operate(path, { increment: { stock: 1 } });
        assert.equal((await operate(path, body, key)).status, 200);
        await client.remove(path);
        assertProblem(await operate(path, body, key), "gone");
      });

      it("works on every patch", async () => {
        const path = await make({ tags: ["a"] });
        const merge = { price: 1 };
        const json = [{ op: "add", path: "/tags/-", value: "b" }];
        for (const ask of [
          (key: object) => client.patch(path, merge, { ...key }),
          (key: object) => client.jsonPatch(path, json, { ...key }),
        ]) {
          const key = newKey();
          const first = await ask(key);
          assert.equal(first.status, 200, first.body);
          const again = await ask(key);
          assert.equal(again.headers.get("idempotency-replayed"), "true");
          assert.equal(again.body, first.body);
        }
        assert.deepEqual((await client.json<{ tags: string[] }>(path)).tags, ["a", "b"]);
      });
    });
  });
}
