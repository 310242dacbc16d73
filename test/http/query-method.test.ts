// QUERY (RFC 10008): the parameters of a list in a body, with the same result.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { operators } from "../../src/model/query/operators.ts";
import { startApp, type TestApp } from "./app.ts";
import { pointersOf } from "./client.ts";
import { answerOf, assertProblem } from "./expect.ts";
import { idsOf, parameters, QueryClient, type Row } from "./query-client.ts";

const text = { type: "string" };
const definition = {
  schema: {
    type: "object",
    properties: {
      name: text,
      age: { type: "number" },
      isIn: { type: "boolean" },
      day: { type: "string", format: "date" },
      tags: { type: "array" },
      address: { type: "object", properties: { city: text } },
      page: {},
      pin: { type: "string", writeOnly: true },
    },
  },
  indexed: ["age"],
  searchable: ["name"],
};

const rows: Readonly<Record<string, Row>> = {
  ann: { name: "Ann Lee", age: 30, isIn: true, tags: ["a", "b,c"], address: { city: "Bern" } },
  bob: { name: "Bob Lee", age: 40, isIn: false, day: "2026-03-01", tags: [1, true], page: 3 },
  cyd: { name: "30", age: 50, day: "2026-03-02", tags: ["1"] },
};

let app: TestApp;
let asker: QueryClient;
before(async () => {
  app = await startApp();
  asker = new QueryClient(app);
  await asker.define("people", definition);
  await asker.fill("people", rows);
  await asker.fill("open", { secret: { password: "x", "a[b]": 1, "with,comma": 2 }, none: {} });
});
after(() => app.stop());

/** With the URL of the same query, where there is one. */
const alike: readonly (readonly [question: object, query: string])[] = [
  [{}, ""],
  [{ where: {} }, ""],
  [{ where: { name: "Ann Lee" } }, "name=Ann+Lee"],
  [{ where: { age: { gte: 30, lt: 50 } } }, "age[gte]=30&age[lt]=50"],
  [{ where: { age: 40, isIn: false } }, "age=40&isIn=false"],
  [{ where: { isIn: { ne: true } } }, "isIn[ne]=true"],
  [{ where: { day: { gt: "2026-03-01" } } }, "day[gt]=2026-03-01"],
  [{ where: { age: { in: [30, 50, 7] } } }, "age[in]=30,50,7"],
  [{ where: { day: { exists: false } } }, "day[exists]=false"],
  [{ where: { name: { like: "*Lee" } } }, "name[like]=*Lee"],
  [{ where: { "address.city": "Bern" } }, "address.city=Bern"],
  [{ where: { page: 3 } }, "page[eq]=3"],
  [{ sort: "-age,name" }, "sort=-age,name"],
  [
    { sort: ["-age", "name"], fields: ["age", "address.city"] },
    "sort=-age,name&fields=age,address.city",
  ],
  [{ fields: "name" }, "fields=name"],
  [{ q: "lee" }, "q=lee"],
  [{ q: "le*", sort: "-createdAt", limit: 1, page: 2 }, "q=le*&sort=-createdAt&limit=1&page=2"],
  [{ limit: 2, total: "none" }, "limit=2&total=none"],
  [{ limit: 2, total: "exact", cursor: "" }, "limit=2&total=exact&cursor="],
  [
    { limit: 2, cursor: "", sort: "age", where: { age: { gt: 1 } } },
    "limit=2&cursor=&sort=age&age[gt]=1",
  ],
];

describe("QUERY", () => {
  for (const [question, query] of alike) {
    it(`${JSON.stringify(question)} has the result of ?${query}`, async () => {
      const asked = await asker.query("people", question);
      const got = await asker.get(`/people?${query}`);
      assert.equal(asked.status, 200, asked.body);
      assert.equal(asked.body, got.body);
      assert.equal(asked.headers.get("x-total-count"), got.headers.get("x-total-count"));
    });
  }

  const typed: readonly (readonly [where: object, ids: readonly string[]])[] = [
    [{ tags: "1" }, ["cyd"]],
    [{ tags: 1 }, ["bob"]],
    [{ tags: true }, ["bob"]],
    [{ tags: { in: ["b,c", 1] } }, ["ann", "bob"]],
    [{ name: "30" }, ["cyd"]],
  ];
  for (const [where, ids] of typed) {
    it(`uses values with their types: ${JSON.stringify(where)}`, async () => {
      assert.deepEqual(idsOf(await asker.queryList("people", { where })), ids);
    });
  }

  it("supports fields that a URL cannot name", async () => {
    for (const where of [{ password: "x" }, { "a[b]": { eq: 1 } }, { "with,comma": { gte: 2 } }]) {
      assert.deepEqual(idsOf(await asker.queryList("open", { where })), ["secret"]);
    }
    const { data } = await asker.queryList("open", { fields: ["with,comma"], limit: 1 });
    assert.deepEqual(data, [{ id: "secret", "with,comma": 2 }]);
  });

  it("continues by cursor, also one from a URL", async () => {
    const question = { sort: "-age", limit: 2 };
    const first = await asker.queryList("people", { ...question, cursor: "" });
    const second = await asker.queryList("people", { ...question, cursor: first.next });
    assert.deepEqual([...idsOf(first), ...idsOf(second)], ["cyd", "bob", "ann"]);
    assert.equal(second.next, null);
    const url = parameters({ sort: "-age", cursor: first.next ?? "" });
    assert.deepEqual(await asker.ids(`/people?${url}`), ["ann"]);
  });

  it("is not cached and has no ETag, because the result depends on the body", async () => {
    const { headers } = await asker.query("people", {});
    assert.equal(headers.get("cache-control"), "no-store");
    assert.equal(headers.get("etag"), null);
    assert.equal(headers.get("link"), null);
    assert.equal(headers.get("content-type"), "application/json");
  });

  it("needs the scope to read, and changes nothing", async () => {
    const before = (await asker.get("/people")).headers.get("etag");
    const ask = (token: string | null) =>
      answerOf(
        app.request("/people", {
          method: "QUERY",
          token,
          headers: { "content-type": "application/json" },
          body: "{}",
        }),
      );
    assert.equal((await ask(await app.token("people:read"))).status, 200);
    assertProblem(await ask(await app.token("people:create")), "insufficient-scope");
    assertProblem(await ask(null), "unauthenticated");
    assert.equal((await asker.get("/people")).headers.get("etag"), before);
  });

  it("is listed by OPTIONS, by a preflight and by a 405", async () => {
    const options = await app.request("/people", {
      method: "OPTIONS",
      headers: { origin: "https://a.example", "access-control-request-method": "QUERY" },
    });
    assert.equal(options.headers.get("accept-query"), "application/json");
    assert.match(options.headers.get("allow") ?? "", /\bQUERY\b/);
    assert.match(options.headers.get("access-control-allow-methods") ?? "", /\bQUERY\b/);
    const rejected = await answerOf(app.request("/people", { method: "DELETE" }));
    assertProblem(rejected, "method-not-allowed");
    assert.equal(rejected.headers.get("accept-query"), "application/json");
    const elsewhere = await answerOf(app.request("/people/ann", { method: "QUERY" }));
    assertProblem(elsewhere, "method-not-allowed");
    assert.equal(elsewhere.headers.get("accept-query"), null);
  });
});

describe("an invalid QUERY", () => {
  const bodies: readonly (readonly [body: string, ...pointers: string[]])[] = [
    ["", ""],
    ["{", ""],
    ["[]", ""],
    ["null", ""],
    ['{"where":1}', "/where"],
    ['{"where":[]}', "/where"],
    ['{"were":{}}', "/were"],
    ['{"since":1}', "/since"],
    ['{"where":{"age":"30"}}', "/where/age"],
    ['{"where":{"age":null}}', "/where/age"],
    ['{"where":{"age":[30]}}', "/where/age"],
    ['{"where":{"age":{}}}', "/where/age"],
    ['{"where":{"age":{"gte":"30"}}}', "/where/age/gte"],
    ['{"where":{"age":{"is":30}}}', "/where/age/is"],
    ['{"where":{"age":{"in":30}}}', "/where/age/in"],
    ['{"where":{"age":{"in":[]}}}', "/where/age/in"],
    ['{"where":{"age":{"in":[30,"x"]}}}', "/where/age/in"],
    ['{"where":{"age":{"exists":"true"}}}', "/where/age/exists"],
    ['{"where":{"age":{"like":"3*"}}}', "/where/age/like"],
    ['{"where":{"name":30}}', "/where/name"],
    ['{"where":{"name":{"like":3}}}', "/where/name/like"],
    ['{"where":{"isIn":"true"}}', "/where/isIn"],
    ['{"where":{"isIn":1}}', "/where/isIn"],
    ['{"where":{"day":"today"}}', "/where/day"],
    ['{"where":{"day":1}}', "/where/day"],
    ['{"where":{"tags":{"eq":null}}}', "/where/tags/eq"],
    ['{"where":{"tags":{"eq":{}}}}', "/where/tags/eq"],
    ['{"where":{"address":{"city":"Bern"}}}', "/where/address/city"],
    ['{"where":{"":"x"}}', "/where/"],
    ['{"where":{"pin":"1"}}', "/where/pin"],
    ['{"where":{"a/b~c":1}}', "/where/a~1b~0c"],
    ['{"where":{"age":1,"age":2}}', "/where/age"],
    ['{"where":{"age":12345678901234567890}}', "/where/age"],
    ['{"sort":1}', "/sort"],
    ['{"sort":[]}', "/sort"],
    ['{"sort":["age",1]}', "/sort/1"],
    ['{"sort":["age","-age"]}', "/sort/1"],
    ['{"sort":["age,name"]}', "/sort/0"],
    ['{"sort":"nom"}', "/sort"],
    ['{"fields":{}}', "/fields"],
    ['{"fields":["name","pin"]}', "/fields/1"],
    ['{"page":0}', "/page"],
    ['{"page":"1"}', "/page"],
    ['{"page":1.5}', "/page"],
    ['{"limit":1001}', "/limit"],
    ['{"limit":null}', "/limit"],
    ['{"q":1}', "/q"],
    ['{"q":""}', "/q"],
    ['{"cursor":null}', "/cursor"],
    ['{"cursor":"x"}', "/cursor"],
    ['{"cursor":"","q":"lee"}', "/cursor"],
    ['{"cursor":"","page":1}', "/page"],
    ['{"total":true}', "/total"],
    [
      '{"where":{"age":"x","nam":{"eq":1}},"sort":["nom"],"limit":0,"more":1}',
      ...["/limit", "/more", "/sort/0", "/where/age", "/where/nam/eq"],
    ],
  ];
  for (const [body, ...pointers] of bodies) {
    it(`is rejected: ${body || "empty"}`, async () => {
      const problem = assertProblem(await asker.query("people", body), "invalid-body");
      assert.deepEqual(pointersOf(problem).toSorted(), pointers);
    });
  }

  it("is rejected with the number of values that in takes", async () => {
    const answer = await asker.query("people", { where: { age: { in: [] } } });
    const [error] = assertProblem(answer, "invalid-body").errors ?? [];
    assert.equal(error?.detail, "in takes a list of 1 to 100 values");
  });

  it("is rejected with the list of operators", async () => {
    const answer = await asker.query("people", { where: { age: { is: 1 } } });
    const [error] = assertProblem(answer, "invalid-body").errors ?? [];
    assert.ok(error?.detail.endsWith(operators.join(", ")));
  });

  const ask = (headers: Record<string, string>, path = "/people", body = "{}") =>
    answerOf(app.request(path, { method: "QUERY", headers, body }));
  const json = { "content-type": "application/json" };

  it("is 400 without a type, and 415 with the supported types for another", async () => {
    const stream = () => new Blob(["{}"]).stream();
    const untyped = await answerOf(
      app.request("/people", { method: "QUERY", body: stream(), duplex: "half" } as RequestInit),
    );
    assertProblem(untyped, "malformed-request");
    assert.equal(untyped.headers.get("accept-query"), "application/json");
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/sql"]) {
      const answer = await ask({ "content-type": type });
      assertProblem(answer, "unsupported-media-type");
      assert.equal(answer.headers.get("accept-query"), "application/json");
    }
  });

  it("is rejected as a POST would be: too large, not acceptable, with parameters, unknown collection", async () => {
    const large = `{"q":"${"a".repeat(2 ** 20)}"}`;
    assertProblem(await ask(json, "/people", large), "content-too-large");
    assertProblem(await ask({ ...json, accept: "text/html" }), "not-acceptable");
    assertProblem(await ask(json, "/people?page=1"), "invalid-parameter");
    assertProblem(await ask(json, "/nobody"), "not-found");
    assertProblem(await ask(json, "/-/collections"), "method-not-allowed");
  });
});
