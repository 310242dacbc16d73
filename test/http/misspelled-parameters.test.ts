// Misspelled parameters: rejected with the right name, instead of becoming filters.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { listParameters, suggestParameter } from "../../src/model/query/near-miss.ts";
import { startApp, type TestApp } from "./app.ts";
import { assertProblem } from "./expect.ts";
import { idsOf, QueryClient } from "./query-client.ts";

let app: TestApp;
let asker: QueryClient;
before(async () => {
  app = await startApp();
  asker = new QueryClient(app);
  await asker.fill("open", { a: { age: 5, offset: 7, limt: 1 }, b: { age: 6, port: 80 } });
  await asker.define("declared", {
    schema: { properties: { per_page: { type: "integer" }, limt: true, more: {} } },
    indexed: ["more.offset"],
  });
  await asker.fill("declared", { a: { per_page: 50, limt: 1 }, b: { more: { offset: 2 } } });
  await asker.define("indexed", { indexed: ["offset"] });
  await asker.fill("indexed", { a: { offset: 7 }, b: { offset: 8 } });
});
after(() => app.stop());

/** The parameter that was sent, and the beginning of the advice. */
const misses: Readonly<Record<string, string>> = {
  "limt=5": "limit",
  "limits=5": "limit",
  "Limit=5": "limit",
  "LIMIT=5": "limit",
  "_limit=5": "limit",
  "$limit=5": "limit",
  "per_page=50": "limit",
  "per-page=50": "limit",
  "perPage=50": "limit",
  "pageSize=50": "limit",
  "page_size=50": "limit",
  "page[size]=50": "limit",
  "page.size=50": "limit",
  "limit[]=5": "limit",
  "_page=2": "page",
  "pge=2": "page",
  "paeg=2": "page",
  "pages=2": "page",
  "page_number=2": "page",
  "page[number]=2": "page",
  "offset=20": "page, with limit, or cursor",
  "skip=20": "page, with limit, or cursor",
  "$skip=20": "page, with limit, or cursor",
  "groupBy=name": "by",
  "group_by=name": "by",
  "populate=author": "expand",
  "order_by=name": "sort",
  "orderBy=name": "sort",
  "sort_by=name": "sort",
  "sortBy=name": "sort",
  "sotr=name": "sort",
  "order=desc": "sort",
  "_sort=name": "sort",
  "sort[]=name": "sort",
  "q[]=ann": "q",
  "Q=ann": "q",
  "search=ann": "q",
  "query=ann": "q",
  "fields[]=name": "fields",
  "field=name": "fields",
  "fileds=name": "fields",
  "select=name": "fields",
  "$select=name": "fields",
  "curser=": "cursor",
  "page_token=x": "cursor",
  "nextCursor=x": "cursor",
  "totl=none": "total",
  "include_total=true": "total",
  "snce=0": "since",
  "updated_since=2026-01-01": "since, or updatedAt[gte]",
  "filter[age]=5": "the name of the field itself, or where",
  "filter=age": "the name of the field itself, or where",
};

describe("a misspelled parameter", () => {
  it("is rejected, and the problem says what was meant", async () => {
    for (const [sent, meant] of Object.entries(misses)) {
      for (const query of [sent, `${sent}&page=1`, `age=5&${sent}`]) {
        const problem = assertProblem(await asker.get(`/open?${query}`), "invalid-parameter");
        assert.equal(problem.errors?.length, 1, query);
        const [{ parameter, detail } = { parameter: "", detail: "" }] = problem.errors ?? [];
        assert.equal(parameter, sent.slice(0, sent.indexOf("=")));
        assert.ok(detail.includes(`; use ${meant}`), `${query}: ${detail}`);
      }
    }
  });

  it("is rejected in every format of a list", async () => {
    for (const accept of ["application/x-ndjson", "text/csv"]) {
      assertProblem(await asker.get("/open?limt=5", { accept }), "invalid-parameter");
    }
  });

  it("is a filter when it has an operator", async () => {
    assert.deepEqual(idsOf(await asker.list("/open?offset[eq]=7")), ["a"]);
    assert.deepEqual(idsOf(await asker.list("/open?limt[gte]=1")), ["a"]);
  });

  it("is a filter when the definition has a field of that name", async () => {
    assert.deepEqual(idsOf(await asker.list("/declared?per_page=50")), ["a"]);
    assert.deepEqual(idsOf(await asker.list("/declared?limt=1")), ["a"]);
    assert.deepEqual(idsOf(await asker.list("/declared?more.offset=2")), ["b"]);
    assert.deepEqual(idsOf(await asker.list("/indexed?offset=8")), ["b"]);
  });

  it("is reported in the body of a QUERY, too", async () => {
    const bodies = {
      ...{ limt: "limit", per_page: "limit", order_by: "sort", filter: "the name" },
      since: "since in its URL",
    };
    for (const [name, meant] of Object.entries(bodies)) {
      const problem = assertProblem(await asker.query("open", { [name]: 5 }), "invalid-body");
      assert.equal(problem.errors?.[0]?.pointer, `/${name}`);
      assert.ok(problem.errors?.[0]?.detail.includes(meant), problem.errors?.[0]?.detail);
    }
  });
});

describe("a field that only resembles a parameter", () => {
  it("is a filter", async () => {
    assert.deepEqual(idsOf(await asker.list("/open?age=5")), ["a"]);
    assert.deepEqual(idsOf(await asker.list("/open?port=80")), ["b"]);
    const fields =
      "age port date rate name size count list files short soft state stage city title tool type time line order.id number max n x status price place first last";
    for (const field of fields.split(" ")) {
      assert.equal((await asker.get(`/open?${field}=7`)).status, 200, field);
    }
    assert.equal((await asker.get("/open?order=7")).status, 200);
  });
});

describe("one typing error", () => {
  it("is recognized in every parameter that is long enough, and not in the first letter", () => {
    for (const name of listParameters) {
      if (name.length < 4) continue;
      for (let at = 1; at < name.length; at++) {
        const [start, letter = "", end] = [name.slice(0, at), name[at], name.slice(at + 1)];
        const next = end[0] ?? "";
        const slips = [start + end, start + letter + letter + end];
        if (next !== "") slips.push(start + next + letter + end.slice(1));
        for (const slip of slips) assert.equal(suggestParameter(slip), name, slip);
      }
      assert.equal(suggestParameter(name.slice(1)), undefined);
    }
  });
});
