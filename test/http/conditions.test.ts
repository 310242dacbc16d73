// Nested conditions, members of arrays and the operators for texts, in a QUERY and in a URL.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { listRequestLimits } from "../../src/model/query/list-request.ts";
import { startApp, type TestApp } from "./app.ts";
import { pointersOf } from "./client.ts";
import { assertProblem } from "./expect.ts";
import { idsOf, parameters, QueryClient, type Row } from "./query-client.ts";

const text = { type: "string" };
const number = { type: "number" };
const line = { type: "object", properties: { sku: text, qty: number, tags: { items: text } } };
const definition = {
  schema: {
    type: "object",
    properties: {
      name: text,
      status: text,
      price: { type: ["number", "null"] },
      paid: { type: "boolean" },
      lines: { type: "array", items: line },
      scores: { type: "array", items: number },
      secrets: { type: "array", writeOnly: true, items: { properties: { pin: text } } },
      by: text,
      free: {},
      address: { type: "object", properties: { city: text } },
    },
  },
};
const indexed = {
  ...definition,
  indexed: ["name", "status", "price", "paid", "lines[].sku", "scores", "free"],
};

const rows: Readonly<Record<string, Row>> = {
  a: {
    name: "Straße",
    status: "open",
    price: 10,
    paid: true,
    lines: [
      { sku: "x", qty: 1, tags: ["new"] },
      { sku: "y", qty: 5 },
    ],
    scores: [1, 9],
    secrets: [{ pin: "1" }],
    by: "ann",
    free: ["Kiwi", 3],
  },
  b: {
    name: "STRASSE 7",
    status: "open",
    price: 20,
    lines: [{ sku: "x", qty: 5 }],
    scores: [6],
    by: "bob",
  },
  c: { name: "10% off", status: "done", price: 30, paid: false, lines: [], free: "kiwi" },
  d: { status: "lost", price: null, lines: [{ sku: "z" }], scores: [] },
};

/** What a `where` finds, and the parameters that find the same. */
const found: readonly (readonly [
  ids: string,
  where: object,
  url?: Readonly<Record<string, string>>,
])[] = [
  ["abcd", {}],
  ["bc", { $or: [{ price: 20 }, { status: "done" }] }],
  ["abc", { $or: [{ status: "open" }, { status: "done" }] }, { "status[in]": "open,done" }],
  ["b", { $or: [{ price: 20 }, { price: 30 }], status: "open" }],
  [
    "a",
    { $and: [{ status: "open" }, { price: { lt: 20 } }] },
    { status: "open", "price[lt]": "20" },
  ],
  ["cd", { $not: { status: "open" } }, { "status[ne]": "open" }],
  ["d", { $not: { price: { gte: 0 } } }, { "price[exists]": "false" }],
  ["bcd", { $not: { status: "open", paid: true } }],
  ["d", { $not: { $or: [{ status: "open" }, { price: { gte: 30 } }] } }],
  ["ac", { $not: { $not: { paid: { exists: true } } } }, { "paid[exists]": "true" }],
  ["abcd", { $or: [{ status: "x" }, {}] }],
  ["", { $not: {} }],
  ["ab", { $and: [{ $or: [{ status: "open" }] }, { $or: [{ price: 10 }, { price: 20 }] }] }],
  ["b", { price: { gt: 10, lt: 30 } }, { "price[gt]": "10", "price[lt]": "30" }],
  ["", { price: { gt: 20, lt: 20 } }, { "price[gt]": "20", "price[lt]": "20" }],
  ["", { price: 10, $and: [{ price: 20 }] }],
  ["bc", { price: { gte: 10, ne: 10 } }, { "price[gte]": "10", "price[ne]": "10" }],
  ["a", { name: { contains: "raß" } }, { "name[contains]": "raß" }],
  ["", { name: { contains: "strasse" } }, { "name[contains]": "strasse" }],
  ["ab", { name: { icontains: "strasse" } }, { "name[icontains]": "strasse" }],
  ["a", { name: { ieq: "strasse" } }, { "name[ieq]": "STRASSE" }],
  ["b", { name: { startsWith: "STR" } }, { "name[startsWith]": "STR" }],
  ["c", { name: { contains: "%" } }, { "name[contains]": "%" }],
  ["abc", { name: { contains: "" } }, { "name[contains]": "" }],
  ["bcd", { $not: { name: { contains: "ß" } } }],
  ["ac", { free: { ieq: "KIWI" } }, { "free[ieq]": "kIwI" }],
  ["a", { free: { startsWith: "K" } }, { "free[startsWith]": "K" }],
  ["ab", { "lines[].sku": "x" }, { "lines[].sku": "x" }],
  ["ab", { "lines[].sku": "x", "lines[].qty": 5 }, { "lines[].sku": "x", "lines[].qty": "5" }],
  ["b", { lines: { some: { sku: "x", qty: 5 } } }],
  ["a", { lines: { some: { sku: { in: ["x", "y"] }, qty: { gt: 0, lt: 5 } } } }],
  ["acd", { $not: { lines: { some: { sku: "x", qty: { gte: 5 } } } } }],
  ["ad", { lines: { some: { $or: [{ sku: "y" }, { sku: "z" }] } } }],
  ["abd", { lines: { some: {} } }],
  ["a", { lines: { some: { tags: { some: { startsWith: "n" } } } } }],
  ["a", { "lines[].tags": "new" }, { "lines[].tags": "new" }],
  ["a", { "lines[].tags[]": { icontains: "NE" } }, { "lines[].tags[][icontains]": "NE" }],
  ["cd", { "lines[].sku": { ne: "x" } }, { "lines[].sku[ne]": "x" }],
  ["cd", { "lines[].qty": { exists: false } }, { "lines[].qty[exists]": "false" }],
  ["ab", { scores: { gte: 5, lt: 10 } }, { "scores[gte]": "5", "scores[lt]": "10" }],
  ["ab", { scores: { gte: 2, lt: 9 } }, { "scores[gte]": "2", "scores[lt]": "9" }],
  ["b", { scores: { some: { gte: 2, lt: 9 } } }],
  ["ab", { "scores[]": { gt: 5 } }, { "scores[][gt]": "5" }],
  ["a", { by: "ann" }, { "by[eq]": "ann" }],
  ["", { $or: [{ price: 1 }], $and: [{ price: 2 }], $not: { price: 3 } }],
];

let app: TestApp;
let asker: QueryClient;
const collections = ["plain", "indexed"];
before(async () => {
  app = await startApp();
  asker = new QueryClient(app);
  await asker.define("plain", definition);
  await asker.define("indexed", indexed);
  for (const collection of collections) await asker.fill(collection, rows);
  await asker.fill("open", { a: { $type: "x", by: 1, "lines[0]": 2, list: [{ n: 1 }, 7] } });
});
after(() => app.stop());

describe("conditions", () => {
  for (const [expected, where, url] of found) {
    it(`${JSON.stringify(where)} match ${expected || "nothing"}`, async () => {
      const ids = expected.split("");
      for (const collection of collections) {
        assert.deepEqual(idsOf(await asker.queryList(collection, { where })), ids, collection);
        const json = parameters({ where: JSON.stringify(where) });
        assert.deepEqual(await asker.ids(`/${collection}?${json}`), ids, collection);
        if (url === undefined) continue;
        assert.deepEqual(await asker.ids(`/${collection}?${parameters(url)}`), ids, collection);
      }
    });
  }

  it("of `where` and of other parameters must all hold, in every format and on every page", async () => {
    const where = JSON.stringify({ $or: [{ price: { lte: 20 } }, { status: "lost" }] });
    const query = parameters({ where, "price[gte]": "15", sort: "-price" });
    assert.deepEqual(await asker.ids(`/plain?${query}`), ["b"]);
    const csv = await asker.get(`/plain?${parameters({ where, fields: "price" })}`, {
      accept: "text/csv",
    });
    assert.equal(csv.body, "id,price\r\na,10\r\nb,20\r\nd,null\r\n");
    const { ids, answers } = await asker.readByCursor(`/plain?limit=1&${parameters({ where })}`);
    assert.deepEqual([ids, answers], [["a", "b", "d"], 3]);
    const first = await asker.get(`/plain?limit=1&${parameters({ where })}`);
    const next = /<([^>]*)>; rel="next"/.exec(first.headers.get("link") ?? "")?.[1] ?? "";
    assert.deepEqual(await asker.ids(next), ["b"]);
  });

  it("may use members that nothing declares", async () => {
    const wheres = [
      { $type: { eq: "x" } },
      { by: 1 },
      { "list[].n": 1 },
      { list: 7 },
      { list: { some: { n: { gte: 1 } } } },
      { "lines[0]": { eq: 2 } },
    ];
    for (const where of wheres)
      assert.deepEqual(idsOf(await asker.queryList("open", { where })), ["a"]);
  });
});

describe("invalid conditions", () => {
  const nested = (depth: number): object =>
    depth === 0 ? { name: "x" } : { $not: nested(depth - 1) };
  const many = (count: number) => ({ $or: Array.from({ length: count }, () => ({ name: "x" })) });
  const { maxConditions, maxWhereDepth } = listRequestLimits;

  const rejected: readonly (readonly [where: object, path: string, words: RegExp])[] = [
    [{ name: null }, "/name", /exists: false/],
    [{ price: { eq: null } }, "/price/eq", /exists: false/],
    [{ price: { ne: null } }, "/price/ne", /exists: false/],
    [{ free: { in: [1, null] } }, "/free/in", /exists: false/],
    [{ name: { contains: null } }, "/name/contains", /exists: false/],
    [{ $or: [{ price: 1 }, { paid: null }] }, "/$or/1/paid", /exists: false/],
    [{ $or: [] }, "/$or", /list of 1 to 100 objects/],
    [{ $or: {} }, "/$or", /list of 1 to 100 objects/],
    [{ $or: [1] }, "/$or/0", /must be an object/],
    [{ $and: null }, "/$and", /list of/],
    [{ $not: [] }, "/$not", /must be an object/],
    [{ $nor: [{ name: "x" }] }, "/$nor", /combined with \$or, \$and and \$not/],
    [{ name: ["a"] }, "/name", /use in/],
    [{ name: { $eq: "a" } }, "/name/$eq", /there is no operator "\$eq"/],
    [{ name: { contains: 1 } }, "/name/contains", /contains takes a string/],
    [{ price: { ieq: "1" } }, "/price/ieq", /ieq works on strings only/],
    [{ $not: { nam: "x" } }, "/$not/nam", /there is no field "nam"/],
    [{ "lines.sku": "x" }, "/lines.sku", /write lines\[\]\.sku$/],
    [{ "name[]": "x" }, "/name[]", /write name$/],
    [{ "lines[].sk": "x" }, "/lines[].sk", /there is no field .*lines\[\]\.sku/],
    [{ "lines[].qty": "x" }, "/lines[].qty", /must be a number/],
    [{ lines: { some: { qty: "x" } } }, "/lines/some/qty", /must be a number/],
    [{ lines: { some: { sk: 1 } } }, "/lines/some/sk", /there is no field "lines\[\]\.sk"/],
    [{ lines: { some: [] } }, "/lines/some", /some takes an object/],
    [{ scores: { some: { sku: 1 } } }, "/scores/some/sku", /there is no operator "sku"/],
    [{ name: { some: { a: 1 } } }, "/name/some", /name is not an array/],
    [{ address: { some: { city: "x" } } }, "/address/some", /address is not an array/],
    [{ "lines[]": 1 }, "/lines[]", /is an object/],
    [{ "secrets[].pin": "1" }, "/secrets[].pin", /there is no field/],
    [{ secrets: { some: { pin: "1" } } }, "/secrets/some", /there is no field/],
    [nested(maxWhereDepth + 1), "/$not".repeat(maxWhereDepth + 1), /up to 8 deep/],
    [{ $or: [many(60), many(38)] }, "/$or/1/$or/37/name", /at most 100 conditions/],
    [{ $or: Array(100).fill({ $not: {} }) }, "/$or/99/$not", /at most 100 conditions/],
  ];
  for (const [where, path, words] of rejected) {
    it(`are rejected: ${JSON.stringify(where).slice(0, 60)}`, async () => {
      const inBody = assertProblem(await asker.query("indexed", { where }), "invalid-body");
      assert.deepEqual(pointersOf(inBody), [`/where${path}`]);
      assert.match(inBody.errors?.[0]?.detail ?? "", words);
      const query = parameters({ where: JSON.stringify(where) });
      const inUrl = assertProblem(await asker.get(`/indexed?${query}`), "invalid-parameter");
      const [error] = inUrl.errors ?? [];
      assert.deepEqual(inUrl.errors?.length, 1);
      assert.equal(error?.parameter, "where");
      assert.equal(error?.detail, `${path}: ${inBody.errors?.[0]?.detail}`);
    });
  }

  it("are reported up to a limit, however many there are", async () => {
    const wrong = (count: number, name: string) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`${name}${index}`, null]));
    const $or = Array.from({ length: 100 }, () => wrong(200, "nam"));
    const parts = Array.from({ length: 99 }, () => ({ $or: Array(100).fill(1) }));
    for (const where of [{ $or }, { $or: [wrong(10, "nam"), ...parts] }]) {
      const { body, ...answer } = await asker.query("indexed", { where });
      const { errors = [] } = assertProblem({ body, ...answer }, "invalid-body");
      assert.ok(
        errors.length > 50 && errors.length <= 101 && body.length < 100_000,
        `${errors.length}`,
      );
    }
  });

  it("are accepted up to the limits", async () => {
    for (const where of [nested(maxWhereDepth), many(maxConditions - 1)])
      assert.equal((await asker.query("indexed", { where })).status, 200);
    const full = parameters({ where: JSON.stringify(many(maxConditions - 1)), paid: "true" });
    const problem = assertProblem(await asker.get(`/indexed?${full}`), "invalid-parameter");
    assert.match(problem.errors?.[0]?.detail ?? "", /at most 100 conditions/);
  });

  it("are rejected when a parameter is not JSON", async () => {
    for (const where of ["age", "", "[]", "null", '"x"', "{", '{"name":1,"name":2}', "{'a':1}"]) {
      const answer = await asker.get(`/plain?${parameters({ where })}`);
      const [error] = assertProblem(answer, "invalid-parameter").errors ?? [];
      assert.equal(error?.parameter, "where");
      assert.match(error?.detail ?? "", /where takes JSON.* where\[eq\]/);
    }
  });

  it("are rejected in a URL with a null for a number, a boolean or a time, and name exists", async () => {
    for (const query of ["price=null", "paid=null", "createdAt[gt]=null", "lines[].qty=null"]) {
      const answer = assertProblem(await asker.get(`/plain?${query}`), "invalid-parameter");
      assert.match(answer.errors?.[0]?.detail ?? "", /exists: false/);
    }
    assert.deepEqual(await asker.ids("/plain?name=null"), []);
  });

  it("are rejected with a member that looks like a credential in a URL", async () => {
    const where = JSON.stringify({ $or: [{ password: "x" }, { name: "x" }] });
    assertProblem(await asker.get(`/open?${parameters({ where })}`), "credential-in-url");
    assert.equal((await asker.query("open", { where: { password: "x" } })).status, 200);
  });

  it("cannot sort by, or show, the elements of an array", async () => {
    for (const query of ["sort=lines[].sku", "sort=-scores[]", "fields=lines[].sku"]) {
      const answer = assertProblem(await asker.get(`/plain?${query}`), "invalid-parameter");
      assert.match(answer.errors?.[0]?.detail ?? "", /elements of an array/);
    }
  });
});

describe("a parameter for aggregates", () => {
  it("is never a filter, and the problem says how to filter by such a field", async () => {
    for (const name of ["aggregate", "by", "timezone"]) {
      for (const collection of ["plain", "open"]) {
        const answer = await asker.get(`/${collection}?${name}=ann`);
        const [error] = assertProblem(answer, "invalid-parameter").errors ?? [];
        assert.equal(error?.parameter, name);
        assert.match(error?.detail ?? "", new RegExp(`o filter by .* ${name}\\[eq\\]`));
      }
      assertProblem(await asker.query("plain", { [name]: 1 }), "invalid-body");
    }
    for (const [name, meant] of [
      ["time_zone", "timezone"],
      ["aggregates", "aggregate"],
    ]) {
      const answer = assertProblem(await asker.get(`/open?${name}=x`), "invalid-parameter");
      assert.match(answer.errors?.[0]?.detail ?? "", new RegExp(`use ${meant}.* ${name}\\[eq`));
      assert.equal((await asker.list(`/open?${name}[eq]=x`)).total, 0);
    }
    assert.deepEqual(await asker.ids("/plain?by[eq]=ann"), ["a"]);
    assert.deepEqual(await asker.ids("/open?by[gte]=1"), ["a"]);
  });
});
