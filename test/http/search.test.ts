// Tests q, the full-text search over the searchable fields, ordered by rank.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { listRequestLimits } from "../../src/model/query/list-request.ts";
import { startApp, type TestApp } from "./app.ts";
import { pointersOf } from "./client.ts";
import { assertProblem, readLinks } from "./expect.ts";
import { idsOf, parameters, QueryClient, type Row } from "./query-client.ts";

const books: Readonly<Record<string, Row>> = {
  moby: { title: "Moby Dick", by: { name: "Herman Melville" }, year: 1851, notes: "secretword" },
  whale: { title: "The Whale: a whale's tale", by: { name: "Anon." }, year: 1900 },
  cafe: { title: "Le Café noir", by: { name: "Zoë Écrivain" }, year: 1999 },
  sea: { title: "The sea", by: { name: "J. Whale" }, tags: ["blue", "Deep Sea"], year: 2001 },
  none: { year: 1 },
  number: { title: 1984, by: { name: "Orwell" }, year: 1949 },
};

let app: TestApp;
let asker: QueryClient;
before(async () => {
  app = await startApp();
  asker = new QueryClient(app);
  await asker.define("books", { searchable: ["title", "by.name", "tags"], indexed: ["year"] });
  await asker.fill("books", books);
  await asker.fill("open", books);
});
after(() => app.stop());

/** Sorted by creation, because ranks are the engine's matter. */
const cases: readonly (readonly [q: string, ids: readonly string[]])[] = [
  ["whale", ["whale", "sea"]],
  ["WHALE", ["whale", "sea"]],
  ["whale the", ["whale", "sea"]],
  ["the whale tale", ["whale"]],
  ["moby melville", ["moby"]],
  ["cafe", ["cafe"]],
  ["CAFÉ zoe", ["cafe"]],
  ["whal", []],
  ["whal*", ["whale", "sea"]],
  ["melv* mob*", ["moby"]],
  ["sea", ["sea"]],
  ["deep", ["sea"]],
  ["1984", ["number"]],
  ["198*", ["number"]],
  ["moby-dick", ["moby"]],
  ["moby-di*", ["moby"]],
  ['"moby" OR -dick', []],
  ["moby AND dick", []],
  ["secretword", []],
  ["1851", []],
  ["'; drop", []],
];

describe("q", () => {
  for (const [q, ids] of cases) {
    it(`${q} finds ${ids.join(", ") || "nothing"}`, async () => {
      const list = await asker.list(`/books?${parameters({ q, sort: "createdAt" })}`);
      assert.deepEqual(idsOf(list), ids);
      assert.equal(list.total, ids.length);
      const ranked = await asker.list(`/books?${parameters({ q })}`);
      assert.deepEqual(idsOf(ranked).toSorted(), ids.toSorted());
      assert.equal(ranked.total, ids.length);
    });
  }

  it("orders by rank, and its pages contain each resource once", async () => {
    assert.deepEqual(await asker.ids("/books?q=whale"), ["whale", "sea"]);
    const first = await asker.list("/books?q=whale&limit=1");
    assert.deepEqual(idsOf(first), ["whale"]);
    const { next = "" } = readLinks(first.headers.get("link"));
    assert.equal(new URL(next, app.url).searchParams.get("q"), "whale");
    assert.deepEqual(await asker.ids(next), ["sea"]);
  });

  it("has a next without a total", async () => {
    const first = await asker.list("/books?q=whale&limit=1&total=none");
    assert.deepEqual([idsOf(first), first.more, first.total], [["whale"], true, undefined]);
    const second = await asker.list(readLinks(first.headers.get("link")).next ?? "");
    assert.deepEqual([idsOf(second), second.more], [["sea"], false]);
    assert.equal(readLinks(second.headers.get("link")).next, undefined);
  });

  it("works with filters and sort", async () => {
    assert.deepEqual(await asker.ids("/books?q=whale&year[gt]=1950"), ["sea"]);
    assert.deepEqual(await asker.ids("/books?q=whale&sort=-year"), ["sea", "whale"]);
    assert.deepEqual(await asker.ids("/books?q=whale&sort=-createdAt"), ["sea", "whale"]);
    const walk = await asker.readByCursor("/books?q=whale&sort=-createdAt&limit=1");
    assert.deepEqual(walk, { ids: ["sea", "whale"], answers: 2 });
  });

  it("reflects every change", async () => {
    await asker.define("changing", { searchable: ["t"] });
    await asker.fill("changing", { a: { t: "one two" }, b: { t: "two" } });
    await asker.fill("changing", { a: { t: "three" } });
    assert.deepEqual(await asker.ids("/changing?q=two"), ["b"]);
    assert.deepEqual(await asker.ids("/changing?q=three"), ["a"]);
    await app.request("/changing/b", { method: "DELETE" });
    assert.deepEqual(await asker.ids("/changing?q=two"), []);
    await asker.define("changing", { searchable: ["u"] });
    assert.deepEqual(await asker.ids("/changing?q=three"), []);
  });

  const rejected: readonly (readonly [path: string, parameter: string, words: RegExp])[] = [
    ["/open?q=whale", "q", /list fields under "searchable"/],
    ["/books?q=", "q", /1 to 20 words/],
    ["/books?q=*", "q", /1 to 20 words/],
    ["/books?q=%20-%20!", "q", /1 to 20 words/],
    ["/books?q=a&q=b", "q", /repeated/],
    ["/books?q=whale&cursor=", "cursor", /send sort, or use page/],
  ];
  for (const [path, parameter, words] of rejected) {
    it(`is rejected: ${path}`, async () => {
      const problem = assertProblem(await asker.get(path), "invalid-parameter");
      assert.deepEqual(pointersOf(problem), [parameter]);
      assert.match(problem.errors?.[0]?.detail ?? "", words);
    });
  }

  it("has a limited number of words, each counted once", async () => {
    const { maxWords } = listRequestLimits;
    const words = (count: number) => Array.from({ length: count }, (_, n) => `w${n}`).join("+");
    assert.deepEqual(await asker.ids(`/books?q=${words(maxWords)}+${words(maxWords)}`), []);
    assertProblem(await asker.get(`/books?q=${words(maxWords + 1)}`), "invalid-parameter");
  });
});
