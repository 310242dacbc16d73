// Misspelled operators and sort orders: rejected with the right way to write them, instead of becoming names of fields.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startApp, type TestApp } from "./app.ts";
import { assertProblem } from "./expect.ts";
import { idsOf, QueryClient } from "./query-client.ts";

const odd = { "stock[gt": 5, "stock>": 6, "a]b[": 7, "stock desc": 8 };

let app: TestApp;
let asker: QueryClient;
before(async () => {
  app = await startApp();
  asker = new QueryClient(app);
  await asker.fill("open", { a: { stock: 5, ...odd }, b: { stock: 9 } });
  await asker.define("closed", { schema: { properties: { stock: { type: "integer" } } } });
  await asker.fill("closed", { a: { stock: 5 } });
  const properties = Object.fromEntries(
    Object.keys(odd).map((name) => [name, { type: "integer" }]),
  );
  await asker.define("declared", { schema: { properties } });
  await asker.fill("declared", { a: odd, b: {} });
});
after(() => app.stop());

const collections = ["open", "closed"];

/** A parameter as it is sent, and what the problem says to write. */
const filters: Readonly<Record<string, string>> = {
  "stock[gt=5": "stock[gt]=…",
  "stock]gt[=5": "stock[gt]=…",
  "stock]gt]=5": "stock[gt]=…",
  "stock[gt[=5": "stock[gt]=…",
  "stockgt]=5": "stockgt[eq]=…",
  "stock[[gt]]=5": "stock[gt]=…",
  "stock[GTE=5": "stock[gte]=…",
  "stock[gt]x=5": "stock[gt]=…",
  "stock[gt].x=5": "stock[gt]=…",
  "stock[]gt=5": "stock[gt]=…",
  "stock[0].x=5": "stock[].x=…",
  "stock[0].x[12].y=5": "stock[].x[].y=…",
  "stock[][]=5": "stock[eq]=…",
  "[gt=5": "gt[eq]=…",
  "stock>=5": "stock[gte]=…",
  "stock<=5": "stock[lte]=…",
  "stock!=5": "stock[ne]=…",
  "stock>5": "stock[gt]=…",
  "stock<5": "stock[lt]=…",
  "stock<>5": "stock[ne]=…",
  "stock__gt=5": "stock[gt]=…",
  "stock:startsWith=5": "stock[startsWith]=…",
};

describe("a misspelled operator", () => {
  it("is rejected as a filter, and the problem says what to write", async () => {
    for (const collection of collections)
      for (const [sent, right] of Object.entries(filters)) {
        const encoded = sent.replace(/^[^=]*/, encodeURIComponent);
        for (const query of [encoded, sent]) {
          const answer = await asker.get(`/${collection}?${query}`);
          const { errors = [] } = assertProblem(answer, "invalid-parameter");
          assert.equal(errors.length, 1, query);
          assert.equal(errors[0]?.parameter, sent.split("=")[0]);
          assert.ok(errors[0]?.detail.includes(`; write ${right}. `), errors[0]?.detail ?? "");
        }
      }
  });

  it("is rejected as a name in conditions, also in those of elements", async () => {
    const names = { "stock[gt]": "gt", "stock[gt": "gt", "stock>=": "gte", stock__in: "in" };
    for (const [name, operator] of Object.entries(names))
      for (const [where, pointer] of [
        [{ [name]: 5 }, `/where/${name}`],
        [{ $or: [{ $not: { [name]: 5 } }] }, `/where/$or/0/$not/${name}`],
        [{ list: { some: { [name]: 5 } } }, `/where/list/some/${name}`],
      ] as const) {
        const { errors } = assertProblem(await asker.query("open", { where }), "invalid-body");
        assert.equal(errors?.[0]?.pointer, pointer);
        const right = `write {"stock": {"${operator}": …}}`;
        assert.ok(errors?.[0]?.detail.includes(right), errors?.[0]?.detail ?? "");
      }
  });

  it("is rejected for elements: an index, and an operator where no field is declared", async () => {
    const detailOf = async (where: unknown) =>
      assertProblem(await asker.query("open", { where }), "invalid-body").errors?.[0]?.detail ?? "";
    assert.match(await detailOf({ "list[0].x": 1 }), /; write \{"list\[\]\.x": …\}\. /);
    for (const some of [{ gte: 5 }, { in: [1, 2] }, { $not: { eq: "a" } }])
      assert.match(await detailOf({ list: { some } }), /declares the elements/);
    const where = { list: { some: { gte: { eq: 5 } } } };
    assert.deepEqual(idsOf(await asker.queryList("open", { where })), []);
    const answer = await asker.get("/open?list[0]=x");
    assert.match(
      assertProblem(answer, "invalid-parameter").errors?.[0]?.detail ?? "",
      /\[\] stands/,
    );
  });

  it("is rejected in the conditions of rules and sets", async () => {
    const put = (path: string, body: unknown) =>
      app.request(path, { method: "PUT", body: JSON.stringify(body), headers: json });
    const ruled = await put("/-/collections/ruled", { boundary: { "stock[gt]": 5 } });
    assert.equal(ruled.status, 400);
    assert.match(await ruled.text(), /"\/boundary\/stock\[gt\]"/);
    const sets = { few: { collection: "open", where: { "stock[lt": 5 }, field: "stock" } };
    const document = await put("/-/access", { sets });
    assert.equal(document.status, 400);
    assert.match(await document.text(), /"\/sets\/few\/where\/stock\[lt"/);
  });

  it("is rejected in a sort order, in fields and in aggregates", async () => {
    const parameters: Readonly<Record<string, string>> = {
      "sort=stock[gt": "stock",
      "sort=stock[desc]": "-stock",
      "sort=stock desc": "-stock",
      "sort=stock:DESC": "-stock",
      "sort=stock asc": "stock",
      "fields=stock[gt]": "stock",
      "fields=stock]": "stock",
      "aggregate=sum(stock[gt)": "stock",
      "aggregate=count&by=stock[gt": "stock",
    };
    for (const collection of collections)
      for (const [query, right] of Object.entries(parameters)) {
        const answer = await asker.get(`/${collection}?${query}`);
        const { errors } = assertProblem(answer, "invalid-parameter");
        assert.equal(errors?.length, 1, query);
        assert.ok(errors?.[0]?.detail.includes(`; write ${right}. `), errors?.[0]?.detail ?? "");
      }
    assertProblem(await asker.get("/open/a?fields=stock[gt"), "invalid-parameter");
  });
});

const json = { "content-type": "application/json" };

describe("a field whose name resembles an operator", () => {
  it("is found with an operator", async () => {
    for (const [name, value] of Object.entries(odd)) {
      const url = `/open?${encodeURIComponent(`${name}[eq]`)}=${value}`;
      assert.deepEqual(idsOf(await asker.list(url)), ["a"], name);
      const where = { [name]: { eq: value } };
      assert.deepEqual(idsOf(await asker.queryList("open", { where })), ["a"], name);
    }
  });

  it("is a field like any other when it is declared", async () => {
    for (const [name, value] of Object.entries(odd)) {
      const encoded = encodeURIComponent(name);
      assert.deepEqual(await asker.ids(`/declared?${encoded}=${value}`), ["a"], name);
      assert.deepEqual(await asker.ids(`/declared?sort=-${encoded}`), ["a", "b"], name);
      const question = { where: { [name]: value }, fields: [name] };
      const { data } = await asker.queryList("declared", question);
      assert.deepEqual(data, [{ id: "a", [name]: value }]);
      const sum = await asker.get(`/declared?aggregate=${encodeURIComponent(`sum(${name})`)}`);
      assert.match(sum.body, new RegExp(`:${value}\\}`), name);
    }
  });

  it("is found in elements with [], and with punctuation that means no operator", async () => {
    for (const name of ["stock[]", "list[].stock", "dc:title", "a__b", "a-b", "ok!sure", "in:use"])
      assert.equal((await asker.get(`/open?${name}=1`)).status, 200, name);
  });
});
