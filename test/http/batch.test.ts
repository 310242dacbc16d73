// POST /-/batch: all operations or none, in order, each with its own rules.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startApp, type TestApp } from "./app.ts";
import { Client, concurrently, pointersOf } from "./client.ts";
import { type Answer, assertProblem } from "./expect.ts";

let app: TestApp;
let client: Client;
before(async () => {
  app = await startApp({ maxBodyBytes: 131_072 });
  client = new Client(app);
  await client.put("/people/seed", {});
  await client.put("/pets/seed", {});
});
after(() => app.stop());

interface Result {
  readonly status: number;
  readonly location?: string;
  readonly etag?: string;
  readonly body?: Readonly<Record<string, unknown>>;
}

async function run(operations: readonly unknown[], by = client): Promise<readonly Result[]> {
  const { status, headers, body } = await by.batch(operations);
  assert.equal(status, 200, body);
  assert.equal(headers.get("content-type"), "application/json");
  assert.equal(headers.get("cache-control"), "no-store");
  return (JSON.parse(body) as { results: Result[] }).results;
}

/** Expects that the batch is rejected and neither collection changes. */
async function rejectionOf(
  kind: Parameters<Client["rejects"]>[1],
  operations: readonly unknown[],
  by = client,
): Promise<readonly string[]> {
  const pets = await client.state("pets");
  const problem = await client.rejects("people", kind, () => by.batch(operations));
  assert.deepEqual(await client.state("pets"), pets);
  return pointersOf(problem);
}

const put = (path: string, body: unknown, more = {}) => ({ method: "PUT", path, body, ...more });
const post = (path: string, body: unknown) => ({ method: "POST", path, body });
const patch = (path: string, body: unknown, more = {}) => ({
  method: "PATCH",
  path,
  body,
  ...more,
});
const remove = (path: string, more = {}) => ({ method: "DELETE", path, ...more });
const jsonPatch = { contentType: "application/json-patch+json" };

describe("a batch that creates collections", () => {
  for (const key of [undefined, "new"]) {
    const headers = key === undefined ? {} : { "idempotency-key": key };
    const send = (operations: readonly unknown[]) => client.batch(operations, headers);
    const name = key === undefined ? "a batch" : "a batch with a key";

    it(`leaves none behind when ${name} is rejected at its commit`, async () => {
      await client.put("/-/collections/coded", { unique: ["code"] });
      await client.put("/coded/one", { code: "a" });
      const fresh = `fresh${key}`;
      const answer = await send([post(`/${fresh}`, {}), post("/coded", { code: "a" })]);
      assertProblem(answer, "conflict");
      assertProblem(await client.get(`/-/collections/${fresh}`), "not-found");
    });

    it(`creates them with the first ${name}, and what it changes there`, async () => {
      const fresh = `both${key}`;
      const operations = [put(`/${fresh}/one`, { n: 1 }), patch(`/${fresh}/one`, { m: 2 })];
      for (const _ of key === undefined ? ["once"] : ["once", "again"]) {
        const { status, body } = await send(operations);
        assert.equal(status, 200, body);
      }
      const { n, m } = JSON.parse((await client.get(`/${fresh}/one`)).body);
      assert.deepEqual({ n, m }, { n: 1, m: 2 });
      // The creation and the change were one each, however often they were sent.
      const { total } = JSON.parse((await client.get(`/${fresh}`)).body);
      assert.equal(total, 1);
    });
  }
});

describe("a batch", () => {
  it("swaps unique values where one of them is free meanwhile", async () => {
    await client.put("/-/collections/goods", { unique: ["sku"] });
    for (const sku of ["one", "two"]) await client.put(`/goods/${sku}`, { sku });
    const two = patch("/goods/two", { sku: "one" });
    const last = patch("/goods/one", { sku: "two" });
    const rejected = await client.batch([last, two]);
    assert.deepEqual(pointersOf(assertProblem(rejected, "conflict")), ["/operations/0/body/sku"]);
    const results = await run([patch("/goods/one", { sku: null }), two, last]);
    assert.deepEqual(
      results.map(({ body }) => body?.sku),
      [undefined, "one", "two"],
    );
  });

  it("executes the operations in order and returns a result for each", async () => {
    await client.put("/people/old", { n: 1, keep: "\\u0061" });
    await client.put("/people/gone", {});
    const results = await run([
      post("/people", { n: 1 }),
      put("/people/new", { n: 2 }),
      put("/people/old", { n: 3, list: [1] }),
      patch("/people/old", { n: 4 }),
      patch("/people/old", [{ op: "add", path: "/list/-", value: 2 }], jsonPatch),
      remove("/people/gone"),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      [201, 201, 200, 200, 200, 204],
    );
    assert.deepEqual(results[5], { status: 204 });
    assert.match(results[0]?.location ?? "", /^\/people\/[0-9a-f-]{36}$/);
    assert.equal(results[1]?.location, "/people/new");
    for (const { location = "", etag, body } of [results[0], results[1], results[4]] as Result[]) {
      const read = await client.get(location);
      assert.deepEqual(JSON.parse(read.body), body);
      assert.equal(read.headers.get("etag"), etag);
    }
    assert.deepEqual(results[4]?.body?.list, [1, 2]);
    assert.equal((await client.get("/people/gone")).status, 404);
  });

  it("gives everything in it the same time", async () => {
    const results = await run([post("/people", {}), post("/pets", {}), put("/people/time", {})]);
    assert.equal(new Set(results.map(({ body }) => body?.updatedAt)).size, 1);
  });

  it("spans collections, and is undone in all of them", async () => {
    const [first, second] = await run([post("/people", { a: 1 }), post("/pets", { b: 1 })]);
    assert.match(first?.location ?? "", /^\/people\//);
    assert.match(second?.location ?? "", /^\/pets\//);
    const pointers = await rejectionOf("not-found", [
      post("/people", {}),
      put("/pets/undone", {}),
      remove("/pets/seed"),
      remove("/people/nobody"),
    ]);
    assert.deepEqual(pointers, ["/operations/3"]);
  });

  it("stores the text of its bodies: literals, escapes, names, order", async () => {
    const text = '{"10":1.0,"\\u0061":"\\/\\u00e9","9":-0}';
    const whole = `{ "operations" : [ { "method":"PUT", "path":"/people/text", "body": ${text} } ] }`;
    assert.equal((await client.post("/-/batch", whole)).status, 200);
    const { body } = await client.get("/people/text");
    assert.ok(body.startsWith(`{"id":"text",${text.slice(1, -1)},"createdAt":`), body);
  });

  it("checks each operation on the state that earlier operations leave", async () => {
    const results = await run([
      put("/people/chain", { n: 1 }, { ifNoneMatch: "*" }),
      patch("/people/chain", { m: 2 }, { ifMatch: "*" }),
      patch("/people/chain", [{ op: "test", path: "/m", value: 2 }], jsonPatch),
      remove("/people/chain"),
      put("/people/chain", { n: 5 }, { ifNoneMatch: "*" }),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      [201, 200, 200, 204, 201],
    );
    assert.deepEqual(results[1]?.body?.n, 1);
    const chain = await client.json<Record<string, unknown>>("/people/chain");
    assert.deepEqual([chain.n, chain.m], [5, undefined]);
  });

  const failures: readonly [
    title: string,
    kind: Parameters<Client["rejects"]>[1],
    last: unknown[],
  ][] = [
    ["PATCH of what is not there", "not-found", [patch("/people/nobody", {})]],
    ["DELETE of what is not there", "not-found", [remove("/people/nobody")]],
    [
      "DELETE of what it has deleted",
      "not-found",
      [remove("/people/seed"), remove("/people/seed")],
    ],
    [
      "PATCH of what it has deleted",
      "not-found",
      [remove("/people/seed"), patch("/people/seed", {})],
    ],
    ["a stale ifMatch", "precondition-failed", [put("/people/seed", {}, { ifMatch: '"x"' })]],
    ["a weak ifMatch", "precondition-failed", [remove("/people/seed", { ifMatch: 'W/"x"' })]],
    ["ifMatch on nothing", "precondition-failed", [put("/people/none", {}, { ifMatch: "*" })]],
    [
      "ifNoneMatch on something",
      "precondition-failed",
      [put("/people/seed", {}, { ifNoneMatch: "*" })],
    ],
    [
      "ifNoneMatch on what it has made",
      "precondition-failed",
      [put("/people/twice", {}), put("/people/twice", {}, { ifNoneMatch: "*" })],
    ],
    ["another id", "conflict", [put("/people/seed", { id: "other" })]],
    ["a patch of the id", "conflict", [patch("/people/seed", { id: "other" })]],
    [
      "a test that fails",
      "conflict",
      [patch("/people/seed", [{ op: "test", path: "/n", value: 1 }], jsonPatch)],
    ],
    ["a patch that is none", "invalid-body", [patch("/people/seed", {}, jsonPatch)]],
    ["a patch to no object", "invalid-body", [patch("/people/seed", [1])]],
    [
      "a bomb",
      "invalid-body",
      [patch("/people/seed", Array(60).fill({ op: "copy", from: "", path: "/a" }), jsonPatch)],
    ],
  ];
  for (const [title, kind, last] of failures) {
    it(`changes nothing for ${title}`, async () => {
      const operations = [
        put("/pets/first", {}),
        post("/people", {}),
        ...last,
        put("/pets/last", {}),
      ];
      const [pointer = ""] = await rejectionOf(kind, operations);
      assert.ok(pointer.startsWith(`/operations/${operations.length - 2}`), pointer);
    });
  }

  it("points to the error in the operation's body", async () => {
    assert.deepEqual(
      await rejectionOf("conflict", [put("/people/a", {}), put("/people/b", { id: "c" })]),
      ["/operations/1/body/id"],
    );
    const operations = [{ op: "remove", path: "/nowhere" }];
    assert.deepEqual(
      await rejectionOf("conflict", [patch("/people/seed", operations, jsonPatch)]),
      ["/operations/0/body/0"],
    );
  });

  it("checks each operation's own precondition", async () => {
    const one = await client.putAndReadTag("/people/one", { n: 1 });
    const two = await client.putAndReadTag("/people/two", { n: 1 });
    await rejectionOf("precondition-failed", [
      put("/people/one", {}, { ifMatch: one }),
      put("/people/two", {}, { ifMatch: one }),
    ]);
    const results = await run([
      put("/people/one", { n: 2 }, { ifMatch: `"x", ${one}` }),
      remove("/people/two", { ifMatch: two, ifNoneMatch: '"y"' }),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      [200, 204],
    );
    // A tag from before the batch is stale once the batch itself has written.
    const now = await client.tag("/people/one");
    await rejectionOf("precondition-failed", [
      patch("/people/one", {}, { ifMatch: now }),
      patch("/people/one", {}, { ifMatch: now }),
    ]);
  });
});

describe("the body of a batch", () => {
  const wrong: readonly [title: string, body: string, pointers: readonly string[]][] = [
    ["nothing", "", [""]],
    ["no object", "[]", [""]],
    ["no JSON", "{", [""]],
    ["no operations", "{}", ["/operations"]],
    ["an empty list", '{"operations":[]}', ["/operations"]],
    ["no list", '{"operations":{}}', ["/operations"]],
    ["another member", '{"operations":[],"atomic":true}', ["/atomic", "/operations"]],
    [
      "no operation",
      '{"operations":[1,null,"x",[]]}',
      [0, 1, 2, 3].map((index) => `/operations/${index}`),
    ],
    ["an empty operation", '{"operations":[{}]}', ["/operations/0/method", "/operations/0/path"]],
    [
      "a name twice",
      '{"operations":[{"method":"DELETE","method":"PUT","path":"/people/a"}]}',
      ["/operations/0/method"],
    ],
    [
      "a number that would lose digits",
      '{"operations":[{"method":"PUT","path":"/people/a","body":{"n":12345678901234567890}}]}',
      ["/operations/0/body/n"],
    ],
  ];
  for (const [title, body, pointers] of wrong) {
    it(`is 400 for ${title}`, async () => {
      const problem = await client.rejects("people", "invalid-body", () =>
        client.post("/-/batch", body),
      );
      assert.deepEqual(pointersOf(problem).toSorted(), pointers);
    });
  }

  it("is 400 with every error of every operation at once", async () => {
    const pointers = await rejectionOf("invalid-body", [
      put("/people/fine", {}),
      { method: "GET", path: "/people/a" },
      { method: "put", path: "/people/a", body: {} },
      { method: "POST", path: "/people/a", body: [], extra: 1 },
      { method: "PUT", path: "/people" },
      { method: "PUT", path: "/-/tokens", body: {} },
      { method: "PATCH", path: "/people/-bad", body: {}, contentType: "application/json" },
      { method: "DELETE", path: "https://x/people/a", body: {} },
      { method: "POST", path: "/people", body: { id: "mine" } },
      { method: "PUT", path: "/people/a/b", body: 5 },
      { method: "PUT", path: "/people/a?x=1", body: null },
      { method: "PUT", path: "/People/a", body: {} },
      { method: 5, path: [], body: {} },
    ]);
    const byOperation = (pointer: string) => Number(pointer.split("/")[2]);
    const sorted = pointers.toSorted(
      (one, other) => byOperation(one) - byOperation(other) || (one < other ? -1 : 1),
    );
    assert.deepEqual(sorted, [
      "/operations/1/method",
      "/operations/2/method",
      "/operations/3/body",
      "/operations/3/extra",
      "/operations/3/path",
      "/operations/4/body",
      "/operations/4/path",
      "/operations/5/path",
      "/operations/6/contentType",
      "/operations/6/path",
      "/operations/7/body",
      "/operations/7/path",
      "/operations/8/body/id",
      "/operations/9/body",
      "/operations/9/path",
      "/operations/10/body",
      "/operations/10/path",
      "/operations/11/path",
      "/operations/12/method",
      "/operations/12/path",
    ]);
  });

  it("is 400 with what to do for what the method does not take", async () => {
    const operations = [
      { method: "PATCH", path: "/people", body: {} },
      { method: "DELETE", path: "/people/a", body: {} },
      { method: "PUT", path: "/people/a" },
    ];
    const { body } = await client.post("/-/batch", { operations });
    const { errors } = JSON.parse(body) as { errors: readonly { detail: string }[] };
    assert.deepEqual(
      errors.map(({ detail }) => detail),
      ["PATCH goes to /{collection}/{id}", "DELETE has no body", "body is required"],
    );
  });

  it("may have a body of null where there is none", async () => {
    await client.put("/people/null-body", {});
    const operations = [{ method: "DELETE", path: "/people/null-body", body: null }];
    const { status, body } = await client.post("/-/batch", { operations });
    assert.equal(status, 200, body);
  });

  it("is 400 for a precondition that is not a string or not allowed there", async () => {
    for (const value of [null, 5, true, ["*"], {}]) {
      for (const member of ["ifMatch", "ifNoneMatch"]) {
        for (const operation of [
          put("/people/seed", {}, { [member]: value }),
          patch("/people/seed", {}, { [member]: value }),
          remove("/people/seed", { [member]: value }),
        ])
          assert.deepEqual(await rejectionOf("invalid-body", [operation]), [
            `/operations/0/${member}`,
          ]);
      }
    }
    const onPost = { ...post("/people", {}), ifMatch: "*", contentType: "application/json" };
    assert.deepEqual((await rejectionOf("invalid-body", [onPost])).toSorted(), [
      "/operations/0/contentType",
      "/operations/0/ifMatch",
    ]);
    await rejectionOf("invalid-body", [put("/people/seed", {}, { "if-match": '"x"' })]);
    // What names no tags is no precondition that anybody meant.
    for (const value of ["", "abc", "W/", '"a" "b"'])
      for (const member of ["ifMatch", "ifNoneMatch"])
        assert.deepEqual(
          await rejectionOf("invalid-body", [remove("/people/seed", { [member]: value })]),
          [`/operations/0/${member}`],
        );
  });

  it("has 1 to 100 operations", async () => {
    const many = (count: number) =>
      Array.from({ length: count }, (_, index) => put(`/many/m${index}`, { index }));
    assert.equal((await run(many(100))).length, 100);
    assert.equal(await app.total("many"), 100);
    assert.deepEqual(await rejectionOf("invalid-body", many(101)), ["/operations"]);
    // Nothing more is said about operations that are too many.
    const wrong = Array(101).fill({ ...remove("/people/seed"), body: {} });
    assert.deepEqual(await rejectionOf("invalid-body", wrong), ["/operations"]);
    assert.equal(await app.total("many"), 100);
  });

  it("gets a limited number of errors", async () => {
    const otherMembers = Object.fromEntries(
      Array.from({ length: 900 }, (_, index) => [`s${index}`, 1]),
    );
    const operations = Array(10).fill({ ...remove("/people/seed"), ...otherMembers });
    assert.equal((await rejectionOf("invalid-body", operations)).length, 100);
  });

  it("has the same limits as any body", async () => {
    const body = JSON.stringify({ operations: [put("/people/door", {})] });
    const ask = (headers: Record<string, string>, path = "/-/batch") =>
      client.post(path, body, headers);
    await client.rejects("people", "unsupported-media-type", () =>
      ask({ "content-type": "text/plain" }),
    );
    await client.rejects("people", "not-acceptable", () => ask({ accept: "text/html" }));
    await client.rejects("people", "invalid-parameter", () => ask({}, "/-/batch?atomic=true"));
    await client.rejects("people", "malformed-request", () => ask({ "idempotency-key": '"' }));
    await client.rejects("people", "content-too-large", () =>
      client.batch([put("/people/door", { a: "x".repeat(131_072) })]),
    );
    assertProblem(await client.get("/-/batch"), "method-not-allowed");
  });
});

describe("permissions in a batch", () => {
  it("are checked for every operation, before anything is done", async () => {
    const creator = new Client(app, await app.token("people:create", "pets:*"));
    await run([post("/people", {}), put("/people/by-creator", {}), put("/pets/a", {})], creator);
    const forbidden: readonly [operation: unknown, scope: string][] = [
      [put("/people/seed", {}), "people:update"],
      [patch("/people/seed", {}), "people:update"],
      [patch("/people/nobody", {}), "people:update"],
      [remove("/people/seed"), "people:delete"],
      [remove("/people/nobody"), "people:delete"],
      [post("/secret", {}), "secret:create"],
    ];
    for (const [operation, scope] of forbidden) {
      const operations = [put("/pets/b", {}), operation];
      assert.deepEqual(await rejectionOf("insufficient-scope", operations, creator), [
        "/operations/1",
      ]);
      const { headers } = await creator.batch(operations);
      assert.match(headers.get("www-authenticate") ?? "", new RegExp(`scope="${scope}"`));
    }
    // What it has made itself, it may not change either.
    await rejectionOf(
      "insufficient-scope",
      [put("/people/mine", {}), put("/people/mine", {})],
      creator,
    );
  });

  it("with update alone allow to replace and not to create", async () => {
    const updater = new Client(app, await app.token("people:update"));
    await run([put("/people/seed", {}), patch("/people/seed", { n: 1 })], updater);
    await rejectionOf("insufficient-scope", [put("/people/not-there", {})], updater);
    await rejectionOf("insufficient-scope", [put("/people/x", {}, { ifMatch: '"x"' })], updater);
  });

  it("do not reveal which collections exist", async () => {
    const stranger = new Client(app, await app.token("other:*"));
    const strip = ({ status, body }: Answer) => [
      status,
      body.replaceAll(/people|nowhere/g, "").replace(/"requestId":"[^"]*"/, ""),
    ];
    for (const operation of [post, put, patch] as const) {
      const path = (collection: string) => `/${collection}${operation === post ? "" : "/seed"}`;
      const there = strip(await stranger.batch([operation(path("people"), {})]));
      const nowhere = strip(await stranger.batch([operation(path("nowhere"), {})]));
      assert.deepEqual(there, nowhere);
    }
    assert.deepEqual(
      strip(await stranger.batch([remove("/people/seed")])),
      strip(await stranger.batch([remove("/nowhere/seed")])),
    );
  });

  it("let an admin create collections, and nobody else", async () => {
    const other = new Client(app, await app.token("*:*"));
    assert.deepEqual(
      await rejectionOf("not-found", [post("/people", {}), post("/unborn", {})], other),
      ["/operations/1"],
    );
    assertProblem(await client.get("/unborn"), "not-found");
    await run([post("/born-1", {}), put("/born-2/a", {}), patch("/born-2/a", { n: 1 })]);
    assert.equal(await app.total("born-1"), 1);
    assert.equal(await app.total("born-2"), 1);
  });

  it("create no collection when an admin's batch is rejected", async () => {
    await rejectionOf("not-found", [put("/unborn/a", {}), remove("/people/nobody")]);
    await rejectionOf("not-found", [put("/unborn/a", {}), remove("/unborn/b")]);
    await rejectionOf("precondition-failed", [put("/unborn/a", {}, { ifMatch: "*" })]);
    assertProblem(await client.get("/unborn"), "not-found");
  });

  it("require a token", async () => {
    const response = await app.request("/-/batch", { method: "POST", token: null, body: "{}" });
    assert.equal(response.status, 401);
  });
});

describe("concurrent batches", () => {
  it("move amounts between accounts: the sum stays, and every move succeeds", async () => {
    const accounts = ["a", "b", "c", "d"];
    for (const account of accounts) await client.put(`/accounts/${account}`, { n: 100 });
    const read = async (account: string) => {
      const { headers, body } = await client.get(`/accounts/${account}`);
      return { n: JSON.parse(body).n as number, etag: headers.get("etag") ?? "" };
    };
    const watch = async () => {
      const { data } = await client.json<{ data: { n: number }[] }>("/accounts");
      assert.equal(
        data.reduce((sum, { n }) => sum + n, 0),
        400,
      );
    };
    const clients = 16;
    await concurrently(clients, async (index) => {
      const from = accounts[index % 4] ?? "";
      const to = accounts[(index + 1 + (index % 3)) % 4] ?? "";
      for (;;) {
        const [source, target] = [await read(from), await read(to)];
        const { status } = await client.batch([
          patch(`/accounts/${from}`, { n: source.n - 1 }, { ifMatch: source.etag }),
          patch(`/accounts/${to}`, { n: target.n + 1 }, { ifMatch: target.etag }),
          post("/moves", { from, to }),
        ]);
        await watch();
        if (status === 200) return;
        assert.equal(status, 412);
      }
    });
    assert.equal(await app.total("moves"), clients);
  });

  it("without preconditions are all applied completely", async () => {
    await client.put("/people/shared", {});
    const clients = 16;
    await concurrently(clients, (index) =>
      run([
        patch("/people/shared", { [`a${index}`]: 1 }),
        patch("/people/shared", { [`b${index}`]: 1 }),
        put("/pets/shared", { index }),
      ]),
    );
    const shared = await client.json<Record<string, unknown>>("/people/shared");
    for (let index = 0; index < clients; index++)
      assert.deepEqual([shared[`a${index}`], shared[`b${index}`]], [1, 1]);
  });

  it("to collections that do not exist yet are all applied", async () => {
    for (let round = 0; round < 3; round++) {
      await concurrently(12, (index) =>
        run([post(`/young-${round}`, { index }), put(`/infant-${round}/i${index}`, {})]),
      );
      assert.equal(await app.total(`young-${round}`), 12);
      assert.equal(await app.total(`infant-${round}`), 12);
    }
  });
});
