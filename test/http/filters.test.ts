// Filters: each operator on each kind of value, and the errors.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { listRequestLimits } from "../../src/model/query/list-request.ts";
import { operators } from "../../src/model/query/operators.ts";
import { runs } from "../seeds.ts";
import { startApp, type TestApp } from "./app.ts";
import { pointersOf } from "./client.ts";
import { assertProblem, readLinks } from "./expect.ts";
import { idsOf, parameters, QueryClient, type Row } from "./query-client.ts";

const text = { type: "string" };
const definition = {
  schema: {
    type: "object",
    properties: {
      name: text,
      age: { type: "integer" },
      score: { type: "number" },
      isIn: { type: "boolean" },
      born: { type: "string", format: "date" },
      seen: { type: "string", format: "date-time" },
      nick: { type: ["string", "null"] },
      address: { type: "object", properties: { city: text, zip: text } },
      more: { type: "object" },
      tags: { type: "array", items: text },
      visits: { type: "array", items: { type: "object", properties: { at: text } } },
      page: { type: "integer" },
      pin: { type: "string", writeOnly: true },
      hidden: { type: "object", writeOnly: true, properties: { pin: text } },
    },
  },
  indexed: ["age", "name", "address.city", "seen"],
};

const people: Readonly<Record<string, Row>> = {
  ann: {
    ...{ name: "Ann", age: 30, score: 1.5, isIn: true, born: "1990-02-28", page: 3, pin: "0000" },
    ...{ seen: "2026-03-01T12:00:00Z", nick: "a*b", tags: ["x", "y"] },
    ...{ address: { city: "Bern", zip: "3000" }, more: { colour: "red" } },
  },
  bob: {
    ...{ name: "Bob", age: 9, score: -2, isIn: false, born: "2004-02-29", nick: null, tags: [] },
    ...{ seen: "2026-03-01T12:00:00+02:00", address: { city: "Basel" } },
  },
  cyd: { name: "ann", age: 100, score: 1e3, seen: "2026-03-02T00:00:00.250Z", tags: ["y"] },
  dan: { name: "Änne, the elder", age: 30, isIn: true, nick: "", address: {} },
  eve: { name: "Anna 😀", score: 0 },
};

/** No schema: each value is what it is. */
const things: Readonly<Record<string, Row>> = {
  number: { it: 30, at: { n: 1 } },
  words: { it: "30" },
  truth: { it: true, at: { n: 2 } },
  spelled: { it: "true" },
  nothing: { it: null },
  absent: {},
  list: { it: [30, "b", null] },
  empty: { it: [] },
  other: { it: "2026-03-01" },
};

let app: TestApp;
let asker: QueryClient;
before(async () => {
  app = await startApp();
  asker = new QueryClient(app);
  await asker.define("people", definition);
  await asker.fill("people", people);
  await asker.fill("things", things);
});
after(() => app.stop());

const allPeople = Object.keys(people);
const allThings = Object.keys(things);
const but = (all: readonly string[], ...few: string[]) => all.filter((id) => !few.includes(id));

type Case = readonly [query: string, ids: readonly string[]];

const ofPeople: readonly Case[] = [
  ["name=Ann", ["ann"]],
  ["name[eq]=Ann", ["ann"]],
  ["name=ANN", []],
  [parameters({ name: "Anna 😀" }), ["eve"]],
  ["name[ne]=Ann", but(allPeople, "ann")],
  ["name[lt]=Anna", ["ann"]],
  ["name[gte]=ann", ["cyd", "dan"]],
  ["name[in]=Bob,ann,nobody", ["bob", "cyd"]],
  ["age=30", ["ann", "dan"]],
  ["age=30.0", ["ann", "dan"]],
  ["age=3e1", ["ann", "dan"]],
  ["age[ne]=30", ["bob", "cyd", "eve"]],
  ["age[gt]=9", ["ann", "cyd", "dan"]],
  ["age[gte]=9&age[lt]=100", ["ann", "bob", "dan"]],
  ["age[in]=9,100", ["bob", "cyd"]],
  ["score[lt]=0", ["bob"]],
  ["score[gte]=-0", ["ann", "cyd", "eve"]],
  ["score[gt]=999.5", ["cyd"]],
  ["isIn=true", ["ann", "dan"]],
  ["isIn[ne]=true", ["bob", "cyd", "eve"]],
  ["isIn=true&age=30&name[like]=A*", ["ann"]],
  ["born=1990-02-28", ["ann"]],
  ["born[gt]=1990-02-28", ["bob"]],
  [parameters({ seen: "2026-03-01T10:00:00Z" }), ["bob"]],
  [parameters({ "seen[gt]": "2026-03-01T13:00:00+02:00" }), ["ann", "cyd"]],
  [parameters({ seen: "2026-03-01t12:00:00z" }), ["ann"]],
  [parameters({ seen: "2026-03-02T00:00:00.250000000000Z" }), ["cyd"]],
  ["seen[gte]=2026-03-02", ["cyd"]],
  [parameters({ "seen[in]": "2026-03-01T12:00Z,2026-03-02T00:00:00.25Z" }), ["ann", "cyd"]],
  ["nick[exists]=false", ["bob", "cyd", "eve"]],
  ["nick[exists]=true", ["ann", "dan"]],
  ["nick=", ["dan"]],
  ["address.city=Bern", ["ann"]],
  ["address.city[exists]=true", ["ann", "bob"]],
  ["address.city[like]=B*", ["ann", "bob"]],
  ["address.zip[exists]=false", but(allPeople, "ann")],
  ["more.colour=red", ["ann"]],
  ["tags=y", ["ann", "cyd"]],
  ["tags[ne]=y", ["bob", "dan", "eve"]],
  ["tags[exists]=true", ["ann", "cyd"]],
  ["name[like]=*n*", ["ann", "cyd", "dan", "eve"]],
  ["name[like]=Ann*", ["ann", "eve"]],
  ["name[like]=A*a *", ["eve"]],
  ["name[like]=Ann", ["ann"]],
  ["name[like]=*", allPeople],
  [parameters({ "name[like]": "Ä*elder" }), ["dan"]],
  ["id=ann", ["ann"]],
  ["id[in]=eve,ann", ["ann", "eve"]],
  ["createdAt[gt]=2020-01-01", allPeople],
  ["createdAt[gt]=2999-01-01T00:00:00Z", []],
  ["updatedAt[exists]=true", allPeople],
  ["page[eq]=3", ["ann"]],
  ["page[eq]=3&page=1", ["ann"]],
];

const ofThings: readonly Case[] = [
  ["it=30", ["number", "words", "list"]],
  ["it=30.0", ["number", "list"]],
  ["it=true", ["truth", "spelled"]],
  ["it[ne]=30", but(allThings, "number", "words", "list")],
  ["it[gt]=29", ["number", "words", "spelled", "list"]],
  ["it[lt]=31", ["number", "words", "list", "other"]],
  ["it[in]=b,true", ["truth", "spelled", "list"]],
  ["it[exists]=true", but(allThings, "nothing", "absent", "empty")],
  ["it[exists]=false", ["nothing", "absent", "empty"]],
  ["it[like]=3*", ["words"]],
  ["it[like]=2026-*", ["other"]],
  ["it=2026-03-01", ["other"]],
  ["at.n[gte]=2", ["truth"]],
  ["at[exists]=true", []],
  ["__proto__=1", []],
  ["constructor[exists]=true", []],
  ["toString.name=x", []],
];

describe("a filter", () => {
  for (const [collection, cases] of [
    ["people", ofPeople],
    ["things", ofThings],
  ] as const) {
    for (const [query, ids] of cases) {
      it(`/${collection}?${decodeURIComponent(query)} finds ${ids.join(", ") || "nothing"}`, async () => {
        const list = await asker.list(`/${collection}?${query}`);
        assert.deepEqual(idsOf(list), ids);
        assert.equal(list.total, ids.length);
        assert.equal(list.headers.get("x-total-count"), `${ids.length}`);
      });
    }
  }

  it("applies to pages, and their links keep it", async () => {
    const query = parameters({ "name[like]": "*n*", "age[exists]": "true", sort: "-age" });
    const first = await asker.list(`/people?${query}&limit=2`);
    assert.deepEqual(idsOf(first), ["cyd", "ann"]);
    assert.deepEqual([first.page, first.limit, first.total, first.pages], [1, 2, 3, 2]);
    const links = readLinks(first.headers.get("link"));
    assert.deepEqual(Object.keys(links).sort(), ["first", "last", "next"]);
    for (const target of Object.values(links)) {
      const { searchParams } = new URL(target, app.url);
      for (const [name, value] of new URLSearchParams(query)) {
        assert.equal(searchParams.get(name), value);
      }
    }
    const second = await asker.list(links.next ?? "");
    assert.deepEqual(idsOf(second), ["dan"]);
    assert.deepEqual(await asker.ids(readLinks(second.headers.get("link")).prev ?? ""), [
      "cyd",
      "ann",
    ]);
    assert.deepEqual(await asker.ids(`/people?${query}&page=9`), []);
  });

  it("sees every write immediately, and its 304 depends on the collection", async () => {
    await asker.fill("growing", { a: { n: 1 } });
    const path = "/growing?n=1";
    const before = await asker.get(path);
    const etag = before.headers.get("etag") ?? "";
    assert.equal((await asker.get(path, { "if-none-match": etag })).status, 304);
    await asker.fill("growing", { b: { n: 1 }, a: { n: 2 } });
    const later = await asker.get(path, { "if-none-match": etag });
    assert.equal(later.status, 200);
    assert.deepEqual(idsOf(JSON.parse(later.body)), ["b"]);
  });

  it("has the same result for a field that was indexed before, later, or never", async () => {
    const rows = Object.fromEntries(
      Array.from({ length: 20 }, (_, n) => [`r${n}`, { n: n % 7, t: `t${n % 3}` }]),
    );
    const paths = ["/late?n=3", "/late?n[gte]=5", "/late?t=t1&n[lt]=4", "/late?t[like]=t*&n=0"];
    const answers = async () => Promise.all(paths.map((path) => asker.ids(path)));
    await asker.fill("late", rows);
    const without = await answers();
    await asker.define("late", { indexed: ["n", "t"] });
    assert.deepEqual(await answers(), without);
    await asker.define("late", {});
    assert.deepEqual(await answers(), without);
  });
});

describe("an invalid filter", () => {
  const rejected: readonly (readonly [query: string, parameter: string, words: RegExp])[] = [
    ["age=x", "age", /must be a number/],
    ["age=", "age", /must be a number/],
    ["age=030", "age", /must be a number/],
    ["age=1e999", "age", /would be read as/],
    ["age=12345678901234567890", "age", /would be read as 12345678901234567000/],
    ["age[in]=1,x", "age[in]", /must be a number/],
    ["age[in]=", "age[in]", /1 to 100 values/],
    ["age[like]=3*", "age[like]", /like works on strings/],
    ["isIn=yes", "isIn", /true or false/],
    ["isIn=TRUE", "isIn", /true or false/],
    ["born=yesterday", "born", /a date/],
    ["born=2026-02-30", "born", /a date/],
    ["born=2026-13-01", "born", /a date/],
    ["seen=2026-03-01T12:00:00", "seen", /a date/],
    ["seen=2026-03-01T25:00:00Z", "seen", /a date/],
    ["seen=2026-03-01T12:00:00+02:00", "seen", /%2B/],
    ["seen=1772366400000", "seen", /a date/],
    ["name[exists]=1", "name[exists]", /true or false/],
    ["name[exists]=", "name[exists]", /true or false/],
    ["name[is]=x", "name[is]", new RegExp(operators.join(", "))],
    ["name[]=x", "name[]", /there is no field "name\[\]".*; write name$/],
    ["name[][is]=x", "name[][is]", /there is no operator "is"/],
    ["name[eq][eq]=x", "name[eq][eq]", /there is no field/],
    ["name[EQ]=x", "name[EQ]", /there is no operator "EQ"/],
    [
      "nam=x",
      "nam",
      /there is no field "nam" in this collection; its fields are: id, name, age, .*updatedAt$/,
    ],
    ["pin=0000", "pin", /there is no field "pin"/],
    ["hidden.pin=0000", "hidden.pin", /there is no field/],
    ["address=x", "address", /is an object; name one of its fields/],
    ["visits=x", "visits", /is an array of objects; .* its elements: visits\[\]\./],
    ["visits[exists]=true", "visits[exists]", /is an array of objects/],
    ['where={"visits":{"exists":false}}', "where", /is an array of objects/],
    ["address.street=x", "address.street", /there is no field/],
    ["name.first=x", "name.first", /there is no field/],
    ["=x", "", /a field is a name/],
    ["[eq]=x", "[eq]", /a field is a name/],
    ["a..b=x", "a..b", /a field is a name/],
    [".=x", ".", /a field is a name/],
    ["name=a&name=a", "name", /repeated/],
    ["name=a&name[eq]=b", "name[eq]", /repeated/],
    ["age[gt]=1&age[gt]=2", "age[gt]", /repeated/],
  ];
  for (const [query, parameter, words] of rejected) {
    it(`is rejected: ?${query}`, async () => {
      const problem = assertProblem(await asker.get(`/people?${query}`), "invalid-parameter");
      assert.deepEqual(pointersOf(problem), [parameter]);
      assert.match(problem.errors?.[0]?.detail ?? "", words);
    });
  }

  it("is reported together with all other errors", async () => {
    const query = "limit=0&age=x&nam=1&name[is]=2&sort=nom&fields=pin&total=all&cursor=x";
    const problem = assertProblem(await asker.get(`/people?${query}`), "invalid-parameter");
    assert.deepEqual(pointersOf(problem).toSorted(), [
      ...["age", "fields", "limit", "nam", "name[is]", "sort", "total"],
    ]);
  });

  it("is rejected without revealing hidden fields", async () => {
    const { body } = await asker.get(
      "/people?pin[like]=0*&hidden[exists]=true&sort=pin&fields=pin",
    );
    const { errors = [] } = assertProblem(
      { ...(await asker.get("/people?nam=1")) },
      "invalid-parameter",
    );
    assert.equal(JSON.parse(body).errors.length, 4);
    for (const { detail } of errors) assert.doesNotMatch(detail, /pin|hidden/);
  });

  it("is rejected by name when it looks like a credential, also with an operator", async () => {
    for (const query of ["password=x", "password[eq]=x", "token[like]=rst_*"]) {
      const { body } = await asker.get(`/things?${query}`);
      assertProblem(await asker.get(`/things?${query}`), "credential-in-url");
      assert.doesNotMatch(body, /rst_\*|=x/);
      assert.match(body, /To filter by a field of this name, send the filter with QUERY/);
    }
  });

  it("is rejected when its value is a token, which must not appear in a link", async () => {
    const answer = await asker.get(`/things?it=${app.admin}`);
    assertProblem(answer, "credential-in-url");
    assert.doesNotMatch(answer.body, /QUERY/);
    assert.ok(!JSON.stringify([answer.body, ...answer.headers]).includes(app.admin));
  });

  it("is rejected when there are too many", async () => {
    const { maxConditions, maxValues } = listRequestLimits;
    const filters = (count: number) =>
      Array.from({ length: count }, (_, index) => `f${index}=1`).join("&");
    assert.equal((await asker.list(`/things?${filters(maxConditions)}`)).total, 0);
    const problem = assertProblem(
      await asker.get(`/things?${filters(maxConditions + 1)}`),
      "invalid-parameter",
    );
    assert.deepEqual(pointersOf(problem), [`f${maxConditions}`]);
    const values = (count: number) => Array.from({ length: count }, (_, index) => index).join(",");
    const within = await asker.ids(`/things?it[in]=${values(maxValues)}`);
    assert.deepEqual(within, ["number", "words", "list"]);
    assertProblem(await asker.get(`/things?it[in]=${values(maxValues + 1)}`), "invalid-parameter");
  });

  it("is 404 for a collection that does not exist", async () => {
    assertProblem(await asker.get("/nobody?name=x"), "not-found");
  });
});

describe("a collection that is too large to scan", () => {
  /** More than a scan reads in one chunk. */
  const count = runs(4_150, 10_050);
  before(async () => {
    const number = { type: "number" };
    await asker.define("many", {
      schema: { properties: { n: number, half: number, t: text, free: {} } },
      indexed: ["n", "free"],
    });
    const rows = Array.from({ length: count }, (_, n) => [
      `r${n}`,
      { n, half: n % 2, t: n % 2 ? "odd" : "even", free: n },
    ]);
    await asker.fill("many", Object.fromEntries(rows));
  });

  it("still answers what an index can answer", async () => {
    assert.deepEqual(await asker.ids("/many?n=4000"), ["r4000"]);
    assert.equal((await asker.list("/many?n[gte]=100&limit=1")).total, count - 100);
    assert.deepEqual(await asker.ids(`/many?n[gte]=${count - 2}&half=1`), [`r${count - 1}`]);
    assert.deepEqual(await asker.ids("/many?sort=-n&limit=2"), [`r${count - 1}`, `r${count - 2}`]);
  });

  it("answers what no index can answer", async () => {
    const half = count / 2;
    const totals: readonly (readonly [query: string, total: number])[] = [
      ["half=1", half],
      ["half=1&t=odd", half],
      ["half=1&n[gte]=1", half],
      ["sort=half", count],
      ["n[gte]=1&sort=half,createdAt", count - 1],
      ["id[like]=r*&half=1", half],
      ["sort=free", count],
      ["n[gte]=1&free[gte]=0", count - 1],
    ];
    for (const [query, total] of totals)
      assert.equal((await asker.list(`/many?${query}&limit=1`)).total, total, query);
  });

  it("can be read completely, in order of creation and of an index", async () => {
    for (const sort of ["createdAt", "-n"]) {
      const { next, data } = await asker.list(`/many?sort=${sort}&limit=1000&cursor=`);
      const later = await asker.list(`/many?sort=${sort}&limit=1&cursor=${next}`);
      assert.equal(data.length, 1000);
      assert.equal(later.data[0]?.n, sort === "createdAt" ? 1000 : count - 1001);
      assert.equal(later.total, count);
    }
  });
});

describe("a list of a collection with owners", () => {
  it("contains only what the caller owns, for any query", async () => {
    await asker.define("notes", {
      access: { read: "owner" },
      indexed: ["n"],
      searchable: ["t"],
    });
    const [ann, bob] = [await app.token("notes:*"), await app.token("notes:*")];
    const json = { "content-type": "application/json" };
    const as = async (token: string, path: string, init: RequestInit = {}) => {
      const response = await app.request(path, { ...init, token });
      return { status: response.status, body: await response.text() };
    };
    for (const n of [1, 2, 3, 4, 5]) {
      const body = JSON.stringify({ n, t: "word" });
      await as(n % 2 ? ann : bob, "/notes", { method: "POST", headers: json, body });
    }
    const ask = async (token: string, query: string) => {
      const { status, body } = await as(token, `/notes?${query}`);
      assert.equal(status, 200, body);
      const { data, total, next } = JSON.parse(body);
      return { ns: data.map(({ n }: { n: number }) => n), total, next };
    };
    const questions = [
      "",
      "n[gte]=1",
      "sort=n",
      "q=word&sort=n",
      "fields=n",
      "total=exact&limit=9",
    ];
    // Twice, because a page that was read once is cached.
    for (const query of [...questions, ...questions]) {
      assert.deepEqual((await ask(ann, query)).ns, [1, 3, 5], query);
      assert.deepEqual((await ask(bob, query)).ns, [2, 4], query);
      assert.equal((await ask(ann, query)).total, 3);
      assert.deepEqual((await asker.list(`/notes?${query}`)).total, 5);
    }
    const { next } = await ask(ann, "cursor=&limit=1");
    assert.deepEqual((await ask(ann, `cursor=${next}`)).ns, [3, 5]);
    assert.equal((await as(bob, `/notes?cursor=${next}`)).status, 400);
    const query = { method: "QUERY", headers: json, body: '{"sort":"-n"}' };
    assert.deepEqual(JSON.parse((await as(bob, "/notes", query)).body).total, 2);
  });
});
