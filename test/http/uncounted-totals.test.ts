// Totals beyond what a query may count: null, with a lower limit that is true on every page.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { itOn } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { readLinks } from "./expect.ts";
import { idsOf, parameters, QueryClient, type Row } from "./query-client.ts";

const maxCounted = 20;
const count = 60;
const text = { type: "string" };
const number = { type: "number" };
const definition = {
  schema: { properties: { n: number, m: number, t: text } },
  indexed: ["n", ["n", "m"]],
  searchable: ["t"],
};
const rowOf = (index: number): Row => ({
  n: index % 2,
  m: index % 3,
  t: index % 5 === 0 ? "all rare" : "all",
});

/** What each query finds, and whether that is found out by looking at few enough. */
const queries: readonly (readonly [
  query: Readonly<Record<string, string>>,
  matches: (index: number) => boolean,
  isCounted: boolean,
])[] = [
  [{ n: "1" }, (index) => index % 2 === 1, false],
  [{ n: "1", sort: "m" }, (index) => index % 2 === 1, false],
  [{ "n[gte]": "0", sort: "-n" }, () => true, false],
  [{ n: "1", m: "2" }, (index) => index % 6 === 5, true],
  [{ n: "7" }, () => false, true],
  [{ m: "2" }, (index) => index % 3 === 2, false],
  [{ m: "2", sort: "t" }, (index) => index % 3 === 2, false],
  [{ m: "2", sort: "n,t" }, (index) => index % 3 === 2, false],
  [{ "t[contains]": "rare" }, (index) => index % 5 === 0, false],
  [{ "t[contains]": "none" }, () => false, false],
  [{ q: "all" }, () => true, false],
  [{ q: "al*" }, () => true, false],
  [{ q: "rare" }, (index) => index % 5 === 0, true],
  [{ q: "all", m: "2" }, (index) => index % 3 === 2, false],
  [{ q: "all", sort: "-n" }, () => true, false],
];

for (const store of [undefined, "postgres"])
  describe(`a total on ${store ?? "the embedded engine"}`, () => {
    let app: TestApp;
    let client: QueryClient;
    before(async () => {
      app = await startApp({ store, maxCounted });
      client = new QueryClient(app);
      await client.define("rows", definition);
      const rows = Array.from(
        { length: count },
        (_, index) => [`r${index}`, rowOf(index)] as const,
      );
      await client.fill("rows", Object.fromEntries(rows));
    });
    after(() => app.stop());

    // What each engine counts is in the contract.
    const itHere = itOn(store);
    for (const [query, matches, isCounted] of queries)
      itHere(`of ?${parameters(query)}`, async () => {
        const total = Array.from({ length: count }, (_, index) => index).filter(matches).length;
        for (const limit of [7, 20, 33, 1000]) {
          const seen: string[] = [];
          const lastPage = Math.max(1, Math.ceil(total / limit));
          for (let page = 1; page <= lastPage + 2; page++) {
            const place = { limit: `${limit}`, page: `${page}` };
            const body = await client.list(`/rows?${parameters({ ...query, ...place })}`);
            const links = readLinks(body.headers.get("link"));
            seen.push(...idsOf(body));
            if (isCounted) assert.equal(body.total, total);
            else {
              const { totalAtLeast, pages, ...rest } = body as typeof body &
                Record<string, unknown>;
              assert.deepEqual([rest.total, pages], [null, null]);
              const found = body.data.length && (page - 1) * limit + body.data.length;
              assert.ok(Number(totalAtLeast) >= found, `${totalAtLeast} on page ${page}`);
              assert.ok(
                Number(totalAtLeast) <= total,
                `${totalAtLeast} of ${total} on page ${page}`,
              );
            }
            assert.equal(body.headers.get("x-total-count"), isCounted ? `${total}` : null);
            assert.equal(links.last !== undefined, isCounted);
            assert.equal(links.next !== undefined, page < lastPage, `next of page ${page}`);
          }
          assert.equal(new Set(seen).size, total);
          assert.equal(seen.length, total);
        }
      });
  });

for (const store of [undefined, "postgres"])
  describe(`a page of ${store ?? "the embedded engine"} whose total cannot be counted`, () => {
    const count = 4000;
    const rows = Array.from({ length: count }, (_, index) => ({
      id: `r${index}`,
      n: index % 2,
      m: (index * 7) % count,
      rare: index < count - 3 ? "no" : "yes",
    }));
    let app: TestApp;
    let client: QueryClient;
    before(async () => {
      app = await startApp({ store, maxCounted });
      client = new QueryClient(app);
      const properties = { n: number, m: number, rare: text };
      await client.define("rows", { schema: { properties }, indexed: ["n", "m"] });
      await client.import("rows", rows);
    });
    after(() => app.stop());

    /** Returns the ids of the page, and how many resources were checked, where that is said. */
    const ask = async (query: string) => {
      const body = await client.list(`/rows?${query}`);
      assert.equal(body.total, null, query);
      const checked = /desc="(\d+) resources/.exec(body.headers.get("server-timing") ?? "")?.[1];
      return { ids: idsOf(body), checked: Number(checked ?? 0), next: body.next };
    };
    const byM = [...rows].sort((one, other) => one.m - other.m);

    for (const [query, sorted] of [
      ["n=1&sort=m", byM.filter(({ n }) => n === 1)],
      ["n=1&sort=-m", byM.filter(({ n }) => n === 1).toReversed()],
      ["n=1&sort=m,rare", byM.filter(({ n }) => n === 1)],
      ["rare=no&sort=m", byM.filter(({ rare }) => rare === "no")],
      ["n=1&rare=no", rows.filter(({ n, rare }) => n === 1 && rare === "no")],
    ] as const)
      it(`of ?${query} ends when it is full`, async () => {
        const expected = sorted.map(({ id }) => id);
        for (const place of ["limit=20", "limit=20&page=7"]) {
          const { ids, checked } = await ask(`${query}&${place}`);
          const start = place.includes("page") ? 120 : 0;
          assert.deepEqual(ids, expected.slice(start, start + 20));
          assert.ok(checked < 1500, `${checked} resources of ${count} are checked`);
        }
        const seen: string[] = [];
        for (let cursor: string | null | undefined = ""; cursor !== null && seen.length < 300; ) {
          const { ids, checked, next } = await ask(`${query}&limit=100&cursor=${cursor}`);
          seen.push(...ids);
          assert.ok(checked < 1500, `${checked} resources of ${count} are checked`);
          cursor = next;
        }
        assert.deepEqual(seen, expected.slice(0, 300));
      });

    it("is found when all of its resources are at the end of the order", async () => {
      const { ids } = await ask("n=1&rare=yes&sort=m");
      const expected = byM.filter(({ n, rare }) => n === 1 && rare === "yes");
      assert.deepEqual(
        ids,
        expected.map(({ id }) => id),
      );
    });
  });
