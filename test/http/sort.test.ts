// sort and fields: the order of a list, and the fields of each resource.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { listRequestLimits } from "../../src/model/query/list-request.ts";
import { startApp, type TestApp } from "./app.ts";
import { pointersOf } from "./client.ts";
import { assertProblem, readLinks } from "./expect.ts";
import { parameters, QueryClient, type Row } from "./query-client.ts";

const text = { type: "string" };
const definition = {
  schema: {
    type: "object",
    properties: {
      name: text,
      age: { type: "number" },
      day: { type: "string", format: "date-time" },
      isIn: { type: "boolean" },
      address: { type: "object", properties: { city: text } },
      tags: { type: "array" },
      pin: { type: "string", writeOnly: true },
    },
  },
};

/** In the order of creation. */
const rows: Readonly<Record<string, Row>> = {
  a: { name: "b", age: 9, day: "2026-03-01T12:00:00+02:00", isIn: true, address: { city: "x" } },
  b: { name: "a", age: 10, day: "2026-03-01T11:00:00Z", isIn: false, tags: [1] },
  c: { name: "B", age: -1.5, day: "2026-03-01T09:00:00Z" },
  d: { name: "é", age: 9, address: { city: "w" } },
  e: { name: "a", isIn: true, pin: "1" },
  f: { name: "😀", age: 1e21 },
  g: { name: "\ufffd", age: 0.5 },
  h: {},
};

let app: TestApp;
let asker: QueryClient;
before(async () => {
  app = await startApp();
  asker = new QueryClient(app);
  await asker.define("plain", definition);
  await asker.define("indexed", { ...definition, indexed: ["name", "age", "day", "address.city"] });
  for (const collection of ["plain", "indexed", "open"]) await asker.fill(collection, rows);
});
after(() => app.stop());

/** What has no value comes first; the order of creation decides where nothing else does. */
const orders: readonly (readonly [sort: string, ids: string])[] = [
  ["createdAt", "abcdefgh"],
  ["-createdAt", "hgfedcba"],
  ["name", "hcbeadgf"],
  ["-name", "fgdabech"],
  ["name,-createdAt", "hcebadgf"],
  ["-name,createdAt", "fgdabech"],
  ["age", "ehcgadbf"],
  ["-age", "fbadgceh"],
  ["age,name", "hecgadbf"],
  ["age,-name", "ehcgdabf"],
  ["-age,-name,-createdAt", "fbdagceh"],
  ["isIn,-age", "fdgchbae"],
  ["address.city", "bcefghda"],
  ["id", "abcdefgh"],
  ["-id", "hgfedcba"],
  ["isIn,-id", "hgfdcbea"],
];

const times: typeof orders = [
  ["day", "defghcab"],
  ["-day,name", "bachedgf"],
];

describe("sort", () => {
  for (const collection of ["plain", "indexed", "open"]) {
    // Without a schema a time is a text.
    for (const [sort, ids] of collection === "open" ? orders : [...orders, ...times]) {
      it(`/${collection}?sort=${sort}`, async () => {
        assert.equal((await asker.ids(`/${collection}?sort=${sort}`)).join(""), ids);
        const pages = await Promise.all(
          [1, 2, 3].map((page) => asker.ids(`/${collection}?sort=${sort}&limit=3&page=${page}`)),
        );
        assert.equal(pages.flat().join(""), ids);
      });
    }
  }

  it("stays in the links", async () => {
    const { headers } = await asker.list("/plain?sort=-age,name&limit=3&page=2");
    for (const target of Object.values(readLinks(headers.get("link")))) {
      assert.equal(new URL(target, app.url).searchParams.get("sort"), "-age,name");
    }
  });

  const rejected: readonly (readonly [query: string, words: RegExp])[] = [
    ["sort=", /a field is a name/],
    ["sort=,", /a field is a name/],
    ["sort=name,", /a field is a name/],
    ["sort=-", /a field is a name/],
    ["sort=+name", /a field is a name/],
    ["sort=%2Bname", /a field is a name/],
    ["sort=name,-name", /"name" is in sort twice/],
    ["sort=nom", /there is no field "nom" in this collection; its fields are: id, name/],
    ["sort=pin", /there is no field "pin"/],
    ["sort=address", /is an object/],
    ["sort=tags", /is an array and cannot be sorted by/],
    ["sort=name&sort=age", /repeated/],
  ];
  for (const [query, words] of rejected) {
    it(`is rejected: ?${query}`, async () => {
      const problem = assertProblem(await asker.get(`/plain?${query}`), "invalid-parameter");
      assert.ok(pointersOf(problem).every((name) => name === "sort"));
      assert.match(problem.errors?.[0]?.detail ?? "", words);
    });
  }

  it("has a limited number of fields", async () => {
    const names = (count: number) => Array.from({ length: count }, (_, index) => `f${index}`);
    const { maxSortings } = listRequestLimits;
    assert.equal((await asker.ids(`/open?sort=${names(maxSortings)}`)).join(""), "abcdefgh");
    const answer = await asker.get(`/open?sort=${names(maxSortings + 1)}`);
    assert.match(assertProblem(answer, "invalid-parameter").errors?.[0]?.detail ?? "", /up to 8/);
  });
});

describe("fields", () => {
  const body =
    '{"name":"Ann","big":1.50,"n":1e2,"a":{"b":{"c":1,"d":2.0},"e":[{"f":1}]},"\\u0041":"\\u00e9","list":[1,2]}';
  before(async () => {
    await asker.define("bare", {});
    const headers = { "content-type": "application/json" };
    const { status } = await app.request("/bare/x", { method: "PUT", headers, body });
    assert.equal(status, 201);
  });

  const shown: readonly (readonly [fields: string, item: string])[] = [
    ["name", '{"id":"x","name":"Ann"}'],
    ["id", '{"id":"x"}'],
    ["n,name,big", '{"id":"x","name":"Ann","big":1.50,"n":1e2}'],
    ["a.b.d", '{"id":"x","a":{"b":{"d":2.0}}}'],
    ["a.b.d,a.e", '{"id":"x","a":{"b":{"d":2.0},"e":[{"f":1}]}}'],
    ["a.b,a.b.d", '{"id":"x","a":{"b":{"c":1,"d":2.0}}}'],
    ["a.b.d,a", '{"id":"x","a":{"b":{"c":1,"d":2.0},"e":[{"f":1}]}}'],
    ["A", '{"id":"x","\\u0041":"\\u00e9"}'],
    ["a.e.f,list.0,none,name.length", '{"id":"x"}'],
    ["__proto__,constructor", '{"id":"x"}'],
  ];
  for (const [fields, item] of shown) {
    it(`${fields} returns only these, in their order and as they were written`, async () => {
      const answer = await asker.get(`/bare?${parameters({ fields })}`);
      assert.equal(answer.body, `{"data":[${item}],"page":1,"limit":20,"total":1,"pages":1}`);
    });
  }

  it("supports the times like any other member", async () => {
    const { data } = await asker.list("/bare?fields=createdAt,updatedAt&id=x");
    assert.deepEqual(Object.keys(data[0] ?? {}), ["id", "createdAt", "updatedAt"]);
  });

  it("stays in the links, and works with filters, sort and cursor", async () => {
    const path = "/plain?fields=name&sort=-age&age[exists]=true&limit=2";
    const first = await asker.list(path);
    assert.deepEqual(first.data, [
      { id: "f", name: "😀" },
      { id: "b", name: "a" },
    ]);
    const second = await asker.list(readLinks(first.headers.get("link")).next ?? "");
    assert.deepEqual(second.data, [
      { id: "a", name: "b" },
      { id: "d", name: "é" },
    ]);
    const walked = await asker.list(`${path}&cursor=`);
    assert.deepEqual(walked.data, first.data);
  });

  const rejected = ["", ",", "name,", "name,name", "nom", "pin", "address.street", "name.first"];
  for (const fields of rejected) {
    it(`is rejected: ?fields=${fields}`, async () => {
      const answer = await asker.get(`/plain?fields=${fields}`);
      assert.deepEqual(
        [...new Set(pointersOf(assertProblem(answer, "invalid-parameter")))],
        ["fields"],
      );
    });
  }
});
