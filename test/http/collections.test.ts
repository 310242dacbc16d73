// Collections and their definitions: what a definition may contain, who may change it, and how it applies.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startApp, type TestApp } from "./app.ts";
import { Client, pointersOf } from "./client.ts";
import { type Answer, assertProblem } from "./expect.ts";

let app: TestApp;
let client: Client;
before(async () => {
  app = await startApp();
  client = new Client(app);
});
after(() => app.stop());

interface View {
  readonly name: string;
  readonly total: number;
  readonly revision: number;
  readonly definition: Readonly<Record<string, string>>;
  readonly createdAt: string;
  readonly updatedAt: string;
}

interface Building {
  readonly build?: { readonly status: string; readonly errors: readonly unknown[] };
}

interface Tried {
  readonly definition: unknown;
  readonly dryRun?: boolean;
  readonly violations: {
    readonly count: number;
    readonly first: readonly { id: string; errors: readonly { pointer: string }[] }[];
  };
}

const define = (name: string, definition: unknown) =>
  client.put(`/-/collections/${name}`, definition);

describe("a definition", () => {
  it("creates a collection with 201, and changes one with 200", async () => {
    const made = await define("books", { preconditions: "required" });
    assert.equal(made.status, 201, made.body);
    assert.equal(made.headers.get("cache-control"), "no-store");
    const view: View = JSON.parse(made.body);
    assert.equal(view.name, "books");
    assert.equal(view.total, 0);
    assert.deepEqual(view.definition, { preconditions: "required" });
    assert.equal((await client.get("/books")).status, 200);
    assert.equal((await define("books", {})).status, 200);
    assert.deepEqual((await client.json<View>("/-/collections/books")).definition, {});
  });

  it("shows how large a collection is, and what is not unique in a large one", async () => {
    const text = Array.from({ length: 6_000 }, (_, n) => `{"n":${n % 5_995}}\n`).join("");
    const headers = { "content-type": "application/x-ndjson" };
    const imported = await client.post("/large", text, headers);
    assert.equal(imported.status, 200, imported.body.slice(0, 500));
    const shown = await client.json<View & { bytes: number }>("/-/collections/large");
    assert.equal(shown.bytes, text.length - 6_000);
    const answer = await define("large", { unique: ["n"] });
    // Slow machines get 202, and read the result later.
    if (answer.status !== 202) {
      const { errors } = assertProblem(answer, "conflict");
      assert.equal(errors?.length, 6);
    }
    for (;;) {
      const view = await client.json<View & Building>("/-/collections/large");
      if (view.build?.status === "running") {
        await sleep(10);
        continue;
      }
      assert.equal(view.build?.status, "failed");
      assert.equal(view.build?.errors.length, 5);
      assert.deepEqual(view.definition, { indexed: ["n"] });
      break;
    }
  });

  it("of a collection that a POST created has no schema", async () => {
    await app.post("wild", { a: 1 });
    const view = await client.json<View>("/-/collections/wild");
    assert.deepEqual(view.definition, {});
    assert.equal(view.total, 1);
    assert.equal(Date.parse(view.createdAt) > 0, true);
  });

  it("leaves the resources unchanged, and counts as a change of the collection", async () => {
    await client.put("/kept/a", { n: 1 });
    const before = await client.get("/kept/a");
    const revision = (await client.json<View>("/-/collections/kept")).revision;
    const tag = await client.tag("/kept");
    await define("kept", { idempotencyKey: "required" });
    const after = await client.get("/kept/a");
    assert.equal(after.body, before.body);
    assert.equal(after.headers.get("etag"), before.headers.get("etag"));
    assert.ok((await client.json<View>("/-/collections/kept")).revision > revision);
    assert.notEqual(await client.tag("/kept"), tag);
  });

  it("is in the list, sorted by name", async () => {
    await define("zebra", {});
    await define("aardvark", {});
    const { data } = await client.json<{ data: View[] }>("/-/collections");
    const names = data.map(({ name }) => name);
    assert.deepEqual(names, [...names].sort());
    assert.ok(names.includes("zebra") && names.includes("aardvark"));
    const zebra = data.find(({ name }) => name === "zebra");
    assert.deepEqual(zebra, await client.json<View>("/-/collections/zebra"));
  });

  const wrong: readonly [text: string, pointers: readonly string[]][] = [
    ['{"preconditions":"always","color":"red"}', ["/preconditions", "/color"]],
    ['{"idempotencyKey":true}', ["/idempotencyKey"]],
    ["[]", [""]],
    ["", [""]],
    ["{", [""]],
    ['{"preconditions":"required","preconditions":"optional"}', ["/preconditions"]],
  ];
  for (const [text, pointers] of wrong) {
    it(`that is ${text || "empty"} is 400 with every error, and changes nothing`, async () => {
      await define("firm", { preconditions: "required" });
      const before = await client.get("/-/collections/firm");
      for (const name of ["firm", "not-made"]) {
        const problem = assertProblem(await define(name, text), "invalid-body");
        assert.deepEqual(pointersOf(problem), pointers);
      }
      assert.equal((await client.get("/-/collections/firm")).body, before.body);
      assertProblem(await client.get("/-/collections/not-made"), "not-found");
    });
  }

  it("is 404 when there is no collection, or the name is not allowed", async () => {
    assertProblem(await client.get("/-/collections/nowhere"), "not-found");
    for (const name of ["Upper", "-x", "a".repeat(64), "%C3%A4"]) {
      assertProblem(await define(name, {}), "not-found");
      assertProblem(await client.get(`/-/collections/${name}`), "not-found");
    }
  });

  it("is 415 for another type, 406 for another Accept, 400 for a parameter, 405 for other methods", async () => {
    const path = "/-/collections/books";
    const type = { "content-type": "text/yaml" };
    assertProblem(await client.put(path, "a: 1", type), "unsupported-media-type");
    for (const place of [path, "/-/collections"]) {
      assertProblem(await client.get(place, { accept: "text/html" }), "not-acceptable");
      assertProblem(await client.get(`${place}?a=1`), "invalid-parameter");
    }
    assertProblem(await client.put(`${path}?a=1`, {}), "invalid-parameter");
    assertProblem(await client.post("/-/collections", {}), "method-not-allowed");
  });

  it("is for admins only", async () => {
    const other = new Client(app, await app.token("*:*"));
    for (const answer of [
      await other.get("/-/collections"),
      await other.get("/-/collections/books"),
      await other.get("/-/collections/nowhere"),
      await other.put("/-/collections/books", { preconditions: "required" }),
      await other.put("/-/collections/by-other", {}),
    ]) {
      assertProblem(answer, "insufficient-scope");
      assert.match(answer.headers.get("www-authenticate") ?? "", /scope="admin"/);
    }
    assertProblem(await client.get("/-/collections/by-other"), "not-found");
    const nobody = await app.request("/-/collections", { token: null });
    assert.equal(nobody.status, 401);
  });

  it("with dry-run reports violations and changes nothing", async () => {
    for (const [id, age] of [
      ["a", 1],
      ["b", "old"],
      ["c", "young"],
      ["d", 2],
    ])
      await client.put(`/tried/${id}`, { age, name: "same" });
    const before = await client.get("/-/collections/tried");
    const definition = {
      schema: { type: "object", properties: { age: { type: "number" }, name: {} } },
      unique: ["name"],
    };
    const answer = await client.put("/-/collections/tried?dry-run=true", definition);
    assert.equal(answer.status, 200, answer.body);
    const tried: Tried = JSON.parse(answer.body);
    assert.deepEqual(tried.definition, definition);
    assert.equal(tried.dryRun, true);
    assert.equal(tried.violations.count, 3);
    assert.deepEqual(
      tried.violations.first.map(({ id, errors }) => [id, errors.map(({ pointer }) => pointer)]),
      [
        ["b", ["/age", "/name"]],
        ["c", ["/age", "/name"]],
        ["d", ["/name"]],
      ],
    );
    assert.equal((await client.get("/-/collections/tried")).body, before.body);
    const conflict = assertProblem(await define("tried", definition), "conflict");
    assert.match(conflict.detail, /name/);
    assert.equal((await client.get("/-/collections/tried")).body, before.body);
    assertProblem(
      await client.put("/-/collections/tried?dry-run=perhaps", {}),
      "invalid-parameter",
    );
    const fresh = await client.put("/-/collections/never-made?dry-run=true", definition);
    assert.deepEqual((JSON.parse(fresh.body) as Tried).violations, { count: 0, first: [] });
    assertProblem(await client.get("/-/collections/never-made"), "not-found");
  });

  it("reports values that are not unique together", async () => {
    for (const [id, tenant, n] of [
      ["a", "x", 1],
      ["b", "x", 2],
      ["c", "x", 1],
      ["d", "x", null],
      ["e", "x", null],
    ])
      await client.put(`/shared/${id}`, { tenant, n });
    const properties = { tenant: { type: "string" }, n: { type: ["number", "null"] } };
    const definition = { schema: { properties }, unique: [["tenant", "n"]] };
    const answer = await client.put("/-/collections/shared?dry-run=true", definition);
    const { violations }: Tried = JSON.parse(answer.body);
    const detail = "a has the same tenant and n";
    const errors = ["/tenant", "/n"].map((pointer) => ({ pointer, detail }));
    assert.deepEqual(violations, { count: 1, first: [{ id: "c", errors }] });
    const conflict = assertProblem(await define("shared", definition), "conflict");
    assert.match(conflict.detail, /the same tenant and n, so they cannot be unique together/);
    await client.put("/shared/c", { tenant: "y", n: 1 });
    assert.equal((await define("shared", definition)).status, 200);
    const stored = await client.json<{ definition: object }>("/-/collections/shared");
    assert.deepEqual(stored.definition, definition);
  });

  it("applies to new writes, and reports existing violations", async () => {
    await client.put("/grown/a", { age: "old" });
    const schema = { type: "object", properties: { age: { type: "number" } } };
    const defined = await define("grown", { schema });
    const { violations } = JSON.parse(defined.body) as Tried;
    assert.deepEqual([violations.count, violations.first.map(({ id }) => id)], [1, ["a"]]);
    assert.equal((await client.json<{ age: string }>("/grown/a")).age, "old");
    await client.rejects("grown", "invalid-body", () => client.put("/grown/a", { age: "older" }));
    assert.equal((await client.put("/grown/a", { age: 90 })).status, 200);
  });

  it("is deleted when the collection is empty, and otherwise only when confirmed", async () => {
    await define("short-lived", {});
    assert.equal((await client.remove("/-/collections/short-lived")).status, 204);
    assertProblem(await client.get("/short-lived"), "not-found");
    assertProblem(await client.remove("/-/collections/short-lived"), "not-found");
    await client.put("/full/a", { n: 1 });
    const rejected = assertProblem(await client.remove("/-/collections/full"), "conflict");
    assert.match(rejected.detail, /confirm=full/);
    assertProblem(await client.remove("/-/collections/full?confirm=yes"), "invalid-parameter");
    assert.equal((await client.get("/full/a")).status, 200);
    assert.equal((await client.remove("/-/collections/full?confirm=full")).status, 204);
    assertProblem(await client.get("/full/a"), "not-found");
    assertProblem(await client.get("/full"), "not-found");
    await client.put("/full/b", { n: 2 });
    assert.equal(await app.total("full"), 1);
    const other = new Client(app, await app.token("*:*"));
    assertProblem(await other.remove("/-/collections/full?confirm=full"), "insufficient-scope");
  });

  it("lets others write once an admin has defined it", async () => {
    const other = new Client(app, await app.token("opened:create"));
    assertProblem(await other.post("/opened", {}), "not-found");
    await define("opened", {});
    assert.equal((await other.post("/opened", {})).status, 201);
  });
});

describe("a collection that requires preconditions", () => {
  const changes: Readonly<Record<string, (headers?: Record<string, string>) => Promise<Answer>>> = {
    "a PUT that replaces": (headers) => client.put("/strict/a", { n: 2 }, headers),
    "a PUT that creates": (headers) => client.put("/strict/new", { n: 2 }, headers),
    "a PATCH": (headers) => client.patch("/strict/a", { n: 2 }, headers),
    "a DELETE": (headers) => client.remove("/strict/a", headers),
  };
  before(async () => {
    await client.put("/strict/a", { n: 1 });
    await define("strict", { preconditions: "required" });
  });

  for (const [title, change] of Object.entries(changes)) {
    it(`rejects ${title} without one: 428 that says how, and nothing changes`, async () => {
      const { detail } = await client.rejects("strict", "precondition-required", () => change());
      assert.match(detail, /If-Match/);
      assert.match(detail, /If-None-Match: \*/);
      // What counts for nothing is no condition.
      for (const headers of [
        { "if-unmodified-since": "yesterday" },
        { "if-modified-since": new Date().toUTCString() },
        { "if-range": '"x"' },
      ] as Record<string, string>[])
        await client.rejects("strict", "precondition-required", () => change(headers));
    });
  }

  it("accepts changes with one", async () => {
    const tag = await client.tag("/strict/a");
    assert.equal((await client.patch("/strict/a", { n: 3 }, { "if-match": tag })).status, 200);
    await client.rejects("strict", "precondition-failed", () =>
      client.patch("/strict/a", { n: 4 }, { "if-match": tag }),
    );
    const created = await client.put("/strict/b", {}, { "if-none-match": "*" });
    assert.equal(created.status, 201);
    assert.equal((await client.remove("/strict/b", { "if-match": "*" })).status, 204);
  });

  it("does not accept a date, because a second may contain another change", async () => {
    const since = { "if-unmodified-since": new Date(Date.now() + 60_000).toUTCString() };
    for (const change of Object.values(changes))
      await client.rejects("strict", "precondition-required", () => change(since));
  });

  it("is 400 for entity tags that cannot be parsed", async () => {
    for (const change of Object.values(changes))
      for (const name of ["if-match", "if-none-match"])
        for (const field of ["", "abc", '"abc', "W/abc", '"a" "b"', ","])
          await client.rejects("strict", "malformed-request", () => change({ [name]: field }));
  });

  it("accepts a POST without one, because there is no state to name", async () => {
    assert.equal((await client.post("/strict", {})).status, 201);
  });

  it("returns 404 and 415 before 428", async () => {
    await client.rejects("strict", "not-found", () => client.patch("/strict/nobody", {}));
    await client.rejects("strict", "not-found", () => client.remove("/strict/nobody"));
    const type = { "content-type": "text/plain" };
    await client.rejects("strict", "unsupported-media-type", () =>
      client.put("/strict/a", "x", type),
    );
  });

  it("requires them in a batch too", async () => {
    const operations = [
      { method: "PUT", path: "/strict/c", body: {}, ifNoneMatch: "*" },
      { method: "PATCH", path: "/strict/a", body: { n: 9 } },
    ];
    const problem = await client.rejects("strict", "precondition-required", () =>
      client.batch(operations),
    );
    assert.deepEqual(pointersOf(problem), ["/operations/1"]);
  });

  it("accepts unconditional changes again when the rule is removed", async () => {
    await define("strict", { preconditions: "optional" });
    assert.equal((await client.patch("/strict/a", { n: 5 })).status, 200);
    await define("strict", { preconditions: "required" });
  });
});

describe("a collection that requires an Idempotency-Key", () => {
  before(() => define("orders", { idempotencyKey: "required" }));

  it("rejects a POST without one: 400 with a link to its documentation", async () => {
    const problem = await client.rejects("orders", "key-required", () =>
      client.post("/orders", { n: 1 }),
    );
    const page = await app.request(problem.type, { token: null });
    assert.equal(page.status, 200);
    assert.match(await page.text(), /Idempotency-Key/);
  });

  it("accepts a POST with a key, and rejects an invalid key", async () => {
    const key = { "idempotency-key": '"order-1"' };
    assert.equal((await client.post("/orders", { n: 1 }, key)).status, 201);
    assert.equal((await client.post("/orders", { n: 1 }, key)).status, 201);
    assert.equal(await app.total("orders"), 1);
    await client.rejects("orders", "malformed-request", () =>
      client.post("/orders", {}, { "idempotency-key": '""' }),
    );
  });

  it("requires it of a batch that creates, not of one that changes", async () => {
    const create = [{ method: "POST", path: "/orders", body: {} }];
    const problem = await client.rejects("orders", "key-required", () => client.batch(create));
    assert.deepEqual(pointersOf(problem), ["/operations/0"]);
    assert.equal((await client.batch(create, { "idempotency-key": "batch-1" })).status, 200);
    const change = [{ method: "PUT", path: "/orders/x", body: {} }];
    assert.equal((await client.batch(change)).status, 200);
  });

  it("returns 415 before that, and accepts PUT without a key", async () => {
    const type = { "content-type": "text/json" };
    await client.rejects("orders", "unsupported-media-type", () =>
      client.post("/orders", "x", type),
    );
    assert.equal((await client.put("/orders/y", {})).status, 201);
  });
});
