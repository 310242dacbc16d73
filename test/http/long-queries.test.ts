// Queries that take long: the deadline, the queue, clients that leave, and what the server reports about them.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { type CapturedLog, captureLog } from "./captured-log.ts";
import { Client } from "./client.ts";
import { answerOf, assertProblem } from "./expect.ts";
import { QueryClient } from "./query-client.ts";

const schema = {
  type: "object",
  properties: { name: { type: "string" }, stock: { type: "integer" }, note: { type: "string" } },
};

interface Listed {
  readonly data: readonly Readonly<Record<string, unknown>>[];
}

const slowQueries = async (app: TestApp) => (await new Client(app).json<Listed>("/-/queries")).data;

/** Undefined is the embedded store, unless all tests run on Postgres. */
const stores = [undefined, "postgres"];
const isPostgres = process.env.RESTANTE_TEST_STORE === "postgres";

for (const store of storesHere(undefined, stores))
  describe(`a query that checks resources one by one (${store ?? "sqlite"})`, () => {
    const count = 1_200;
    let app: TestApp;
    let captured: CapturedLog;
    let client: QueryClient;

    before(async () => {
      captured = captureLog();
      app = await startApp({ ...(store && { store }) }, captured.log);
      client = new QueryClient(app);
      const lines = Array.from({ length: count }, (_, at) => `{"name":"n${at}","stock":${at}}\n`);
      for (const [name, read] of [
        ["goods", "token"],
        ["own", "owner"],
      ] as const) {
        await client.define(name, { schema, access: { read } });
        const filled = await app.request(`/${name}`, {
          method: "POST",
          headers: { "content-type": "application/x-ndjson" },
          body: lines.join(""),
        });
        assert.equal(filled.status, 200);
      }
    });
    after(() => app.stop());

    const timing = new RegExp(`^scan;desc="${count} resources checked";dur=\\d+\\.\\d$`);
    const nothing = "name[icontains]=private-value";
    const timingOf = ({ headers }: { readonly headers: Headers }) => headers.get("server-timing");

    it("says so in Server-Timing, also on a cached page", async () => {
      const first = timingOf(await client.get(`/goods?${nothing}`));
      assert.match(first ?? "", timing);
      const again = timingOf(await client.get(`/goods?${nothing}`));
      assert.match(again ?? "", timing);
      // Pages are cached on the embedded store only.
      if (store === undefined && !isPostgres) assert.equal(again, first);
    });

    it("says so on QUERY and exports", async () => {
      const where = { name: { icontains: "private-value" } };
      assert.match(timingOf(await client.query("goods", { where })) ?? "", timing);
      for (const accept of ["application/x-ndjson", "text/csv"])
        assert.match(timingOf(await client.get(`/goods?${nothing}`, { accept })) ?? "", timing);
    });

    it("says nothing where few or no resources were checked", async () => {
      for (const path of ["/goods", "/goods?sort=-createdAt", "/goods?sort=id&id[lt]=0"])
        assert.equal(timingOf(await client.get(path)), null);
    });

    it("is none where indexes decide", async () => {
      const fields = {
        stock: { type: "integer" },
        kind: { type: "string" },
        name: { type: "string" },
      };
      await client.define("indexed", {
        schema: { properties: fields },
        indexed: ["stock", "kind", "name", ["kind", "-stock"]],
      });
      const rows = Array.from({ length: 1_200 }, (_, at) => ({
        ...{ id: `r${at}`, stock: at, name: `n${at}` },
        ...(at % 3 > 0 && { kind: `k${at % 3}` }),
      }));
      await client.import("indexed", rows);
      const decided: readonly (readonly [query: string, total: number])[] = [
        ["createdAt[lt]=2020-01-01", 0],
        ["updatedAt[lt]=2020-01-01", 0],
        ["updatedAt[gte]=2020-01-01&sort=-updatedAt", 1_200],
        ["sort=updatedAt", 1_200],
        ["id[gte]=r1&id[lt]=r2&sort=id", 311],
        ["stock[gte]=100&stock[lt]=110", 10],
        ["stock[gt]=0&sort=-stock", 1_199],
        ["kind[ne]=k1", 800],
        ["kind[exists]=false", 400],
        ["kind[in]=k1,k2", 800],
        ["name[startsWith]=n11", 111],
        ["name[like]=n11*", 111],
        ["kind=k1&sort=-stock", 400],
        ["kind=k1&stock[lt]=600&sort=-stock", 200],
        ["kind=k1&name=n4", 1],
      ];
      for (const [query, total] of decided) {
        const page = await client.list(`/indexed?${query}&limit=3`);
        assert.equal(page.total, total, query);
        assert.equal(timingOf(page), null, query);
      }
    });

    it("ends soon when those that match are at the end of the order", async () => {
      await client.define("late", { indexed: ["n"] });
      const rows = Array.from({ length: 12_000 }, (_, at) => ({ id: `r${at}`, n: at }));
      await client.import("late", rows);
      for (const [query, first] of [
        ["n[gte]=11000", 11_000],
        ["n[gte]=11000&total=none", 11_000],
        ["n[lt]=1000&sort=-createdAt", 999],
        ["n[gte]=11000&m[exists]=false", 11_000],
      ] as const) {
        const page = await client.list(`/late?${query}&limit=5`);
        assert.equal(page.data[0]?.n, first, query);
        if (!query.includes("total=none")) assert.equal(page.total, 1_000);
        const [, checked = "0"] = /(\d+) resources/.exec(timingOf(page) ?? "") ?? [];
        assert.ok(Number(checked) < 6_000, `${query}: ${checked} resources`);
      }
    });

    it("does not tell a caller who sees a part how many resources there are", async () => {
      const token = await app.token("own:*");
      const mine = await answerOf(app.request(`/own?${nothing}`, { token }));
      assert.equal(mine.status, 200, mine.body);
      assert.equal(timingOf(mine), null);
    });

    it("is logged once a minute, with the indexes that would help and without values", async () => {
      for (const value of [101, 102, 103])
        assert.match(timingOf(await client.get(`/goods?stock[gt]=${value}&name=n7`)) ?? "", timing);
      await captured.settled();
      const lines = captured.lines().filter((line) => "missingIndexes" in line);
      const [line, ...more] = lines.filter((each) => JSON.stringify(each).includes('"stock"'));
      assert.deepEqual(more, []);
      assert.deepEqual(
        { ...line, time: 0, requestId: typeof line?.requestId, milliseconds: 0 },
        {
          level: 40,
          time: 0,
          requestId: "string",
          collection: "goods",
          where: "stock range and name eq",
          sort: [],
          search: false,
          plan: "checks all",
          missingIndexes: [["name", "stock"]],
          relatedIndexes: {},
          undeclaredFields: [],
          checked: count,
          milliseconds: 0,
          msg: "a query was slow or checked many resources one by one",
        },
      );
      assert.ok(lines.every((each) => !JSON.stringify(each).includes("private-value")));
    });

    it("names the fields whose type must be declared before an index helps", async () => {
      const rows = Array.from({ length: count }, (_, at) => ({ id: `r${at}`, n: count - at }));
      const typed = { schema: { properties: { n: { type: "number" } } } };
      for (const [name, declared] of [
        ["untyped", {}],
        ["typed", typed],
      ] as const) {
        await client.define(name, { ...declared, indexed: ["n"] });
        await client.import(name, rows);
        const sorted = await client.list(`/${name}?sort=n`);
        assert.equal(sorted.data[0]?.n, 1);
        const isChecked = timing.test(timingOf(sorted) ?? "");
        assert.equal(isChecked, name === "untyped");
      }
      const recorded = await slowQueries(app);
      const of = recorded.find(({ collection }) => collection === "untyped");
      assert.deepEqual([of?.missingIndexes, of?.undeclaredFields], [[], ["n"]]);
    });

    it("is listed under /-/queries, for admins only", async () => {
      await client.list("/goods?note=x&sort=-stock");
      await client.list("/goods?note=y&sort=-stock");
      const queries = await slowQueries(app);
      const found = queries.find(({ where }) => where === "note eq");
      const { lastAt, longestMs, totalMs, ...rest } = found ?? {};
      assert.deepEqual(rest, {
        collection: "goods",
        where: "note eq",
        sort: ["-stock"],
        search: false,
        count: 2,
        stopped: 0,
        checked: count,
        plan: "checks all",
        missingIndexes: [["note", "-stock"]],
        relatedIndexes: {},
        undeclaredFields: [],
      });
      assert.ok(Date.parse(`${lastAt}`) <= Date.now());
      assert.ok(Number(longestMs) <= Number(totalMs));
      assert.ok(!JSON.stringify(queries).includes("private-value"));
      const token = await app.token("*:*");
      assertProblem(await new Client(app, token).get("/-/queries"), "insufficient-scope");
      assertProblem(await new Client(app, null).get("/-/queries"), "unauthenticated");
      assertProblem(await client.get("/-/queries?limit=5"), "invalid-parameter");
    });
  });

const heavyText = "é".repeat(200_000);
/** Folds the case of a long text for each condition and resource, which takes some 4 ms each. */
const heavyWhere = (conditions: number) => ({
  $and: Array.from({ length: conditions }, (_, at) => ({
    note: { icontains: "É".repeat(at + 1) },
  })),
});

async function startHeavyApp(changes: Parameters<typeof startApp>[0]): Promise<TestApp> {
  const app = await startApp(changes);
  await new QueryClient(app).define("texts", { schema });
  for (let count = 0; count < 4; count++)
    await app.post("texts", { name: `n${count}`, note: heavyText });
  return app;
}

for (const store of stores) {
  describe(`the deadline (${store ?? "sqlite"})`, () => {
    it("is a 504 that says what to do, and is recorded", async () => {
      const app = await startHeavyApp({ queryDeadline: 100, ...(store && { store }) });
      const light = await new QueryClient(app).query("texts", { where: { stock: { lt: 5 } } });
      assert.equal(light.status, 200);
      app.reload({ queryDeadline: 0.001 });
      const where = { ...heavyWhere(20), stock: { lt: 5 } };
      const problem = assertProblem(
        await new QueryClient(app).query("texts", { where, sort: "-name" }),
        "query-timeout",
      );
      assert.equal(
        problem.detail,
        'The query took longer than 0.001 s. Add "stock" to "indexed" in the definition, narrow it, or send total=none and add "name" to "indexed".',
      );
      // The light one is recorded, too, where it took long.
      const recorded = (await slowQueries(app)).find(({ stopped }) => stopped !== 0);
      assert.deepEqual(
        [recorded?.collection, recorded?.where, recorded?.stopped, recorded?.missingIndexes],
        ["texts", "note icontains and stock range", 1, ["stock"]],
      );
      const uncounted = { where, sort: "-name", total: "none" };
      assert.equal(
        assertProblem(await new QueryClient(app).query("texts", uncounted), "query-timeout").detail,
        'The query took longer than 0.001 s. Add "name" and "stock" to "indexed" in the definition, or narrow it.',
      );
      // Groups are counted anyway.
      const groups = await new QueryClient(app).query("texts", { where, aggregate: "count" });
      assert.doesNotMatch(assertProblem(groups, "query-timeout").detail, /total=none/);
      assert.equal((await new Client(app).get("/texts?limit=1")).status, 200);
      // A rule that no index answers takes as long as a filter, and its fields are not named.
      const read = [
        { name: "heavy", to: "everyone", where: { ...heavyWhere(20), id: { gt: "0" } } },
      ];
      await new QueryClient(app).define("ruled", { schema, access: { read } });
      for (let count = 0; count < 4; count++) await app.post("ruled", { note: heavyText });
      const ruled = assertProblem(await new Client(app, null).get("/ruled"), "query-timeout");
      assert.doesNotMatch(ruled.detail, /indexed|note/);
      await app.stop();
    });
  });
}

for (const store of stores)
  describe(`the deadline of a query through a reference (${store ?? "sqlite"})`, () => {
    it("names the index of the other collection to callers who see the whole of it", async () => {
      const app = await startHeavyApp({ ...(store && { store }) });
      const admin = new QueryClient(app);
      const shop = { properties: { city: { type: "string" }, name: { type: "string" } } };
      const near = [{ name: "near", to: "everyone", where: { city: "A" } }];
      await admin.define("shops", { schema: shop, access: { read: near } });
      const references = { shop: { collection: "shops", onDelete: "restrict" } };
      const referring = { properties: { ...schema.properties, shop: { type: "string" } } };
      await admin.define("texts", { schema: referring, references, access: { read: "public" } });
      const { id } = await app.post("shops", { city: "A", name: "a" });
      for (let count = 0; count < 4; count++)
        await app.post("texts", { note: heavyText, shop: id });
      app.reload({ queryDeadline: 0.001 });
      const where = { ...heavyWhere(20), "shop.name": "a", "shop.city": { gt: "0" } };
      const path = `/texts?total=none&where=${encodeURIComponent(JSON.stringify(where))}`;
      const detailFor = async (client: Client) =>
        assertProblem(await client.get(path), "query-timeout").detail;
      const slow = "The query took longer than 0.001 s.";
      const advice = `${slow} Add ["name","city"] to "indexed" in the definition of shops, or narrow it.`;
      assert.equal(await detailFor(new Client(app)), advice);
      const [recorded] = await slowQueries(app);
      assert.deepEqual(
        [recorded?.missingIndexes, recorded?.relatedIndexes],
        [[], { shops: [["name", "city"]] }],
      );
      assert.equal(await detailFor(new Client(app, null)), `${slow} Narrow it.`);
      await app.stop();
    });
  });

for (const store of stores)
  describe(`the deadline of a list in an action (${store ?? "sqlite"})`, () => {
    it("names the index, too", async () => {
      const actions = fileURLToPath(new URL("actions", import.meta.url));
      const app = await startHeavyApp({ actions, ...(store && { store }) });
      app.reload({ queryDeadline: 0.001 });
      for (let count = 0; count < 4; count++)
        await app.post("texts", { note: heavyText, stock: 1 });
      const query = { where: { ...heavyWhere(20), stock: { lt: 5 } } };
      const answer = await new Client(app).post("/-/actions/verbs", {
        verb: "list",
        args: ["texts", query],
      });
      assert.match(
        assertProblem(answer, "query-timeout").detail,
        /^The query took longer than 0\.001 s\. Add "stock" to "indexed" in the definition, /,
      );
      assert.equal(
        (await slowQueries(app)).find(({ stopped }) => stopped === 1)?.plan,
        "checks all",
      );
      await app.stop();
    });
  });

for (const store of stores)
  describe(`a dry run that counts what subjects see (${store ?? "sqlite"})`, () => {
    it("has null where counting takes longer than a query may", async () => {
      const app = await startHeavyApp({ ...(store && { store }) });
      app.reload({ queryDeadline: 0.001 });
      const where = { ...heavyWhere(20), id: { gt: "0" } };
      const access = { read: [{ name: "heavy", to: "everyone", where }] };
      const path = "/-/collections/texts?dry-run=true&subjects=ann";
      const { status, body } = await new Client(app).put(path, { schema, access });
      assert.equal(status, 200, body);
      assert.deepEqual(JSON.parse(body).seen, [
        { before: 0, after: null },
        { subject: "ann", before: 0, after: null },
      ]);
      const now = await new Client(app).put("/-/collections/texts", { schema, access });
      assert.equal(now.status, 200, now.body);
      const again = await new Client(app).put(path, { schema });
      assert.deepEqual(JSON.parse(again.body).seen?.[0], { before: null, after: 0 });
      await app.stop();
    });
  });

for (const store of stores)
  describe(`the deadline of what rules ask (${store ?? "sqlite"})`, () => {
    const slow = "The query took longer than 0.001 s.";
    let app: TestApp;
    let admin: QueryClient;
    let ann: Client;
    before(async () => {
      app = await startHeavyApp({ ...(store && { store }) });
      admin = new QueryClient(app);
      const issued = await new Client(app).post("/-/tokens", {
        name: "ann",
        subject: "ann",
        scopes: ["x:read"],
      });
      ann = new Client(app, JSON.parse(issued.body).token);
      app.reload({ queryDeadline: 0.001 });
    });
    after(() => app.stop());

    it("is a 504 for who needs a set that takes longer, and nothing is written or shown", async () => {
      const heavy = { collection: "texts", where: heavyWhere(20), field: "name" };
      const { status, body } = await new Client(app).put("/-/access", { sets: { heavy } });
      assert.equal(status, 200, body);
      const allowed = [{ name: "mine", to: "everyone", where: { name: { in: "$my.heavy" } } }];
      await admin.define("ruled", { schema, access: { read: allowed, delete: allowed } });
      await new Client(app).put("/ruled/1", { name: "n1" });
      const then = await new Client(app).state("ruled");
      for (const answer of [
        await ann.get("/ruled"),
        await ann.get("/ruled/1"),
        await ann.remove("/ruled/1"),
      ])
        assert.equal(assertProblem(answer, "query-timeout").detail, `${slow} Narrow it.`);
      assert.deepEqual(await new Client(app).state("ruled"), then);
    });

    it("is a 504 for a deletion whose references take longer, and nothing is deleted", async () => {
      const everyone = [{ name: "all", to: "everyone" }];
      await admin.define("shops", { access: { read: everyone, delete: everyone } });
      await new Client(app).put("/shops/a", {});
      const read = [
        { name: "heavy", to: "everyone", where: { ...heavyWhere(20), id: { gt: "0" } } },
      ];
      const references = { shop: { collection: "shops", onDelete: "restrict" } };
      const referring = { properties: { ...schema.properties, shop: { type: "string" } } };
      await admin.define("orders", { schema: referring, references, access: { read } });
      for (let count = 0; count < 4; count++)
        await app.post("orders", { note: heavyText, shop: "a" });
      const answer = await ann.remove("/shops/a");
      assert.equal(assertProblem(answer, "query-timeout").detail, `${slow} Narrow it.`);
      assert.equal((await ann.get("/shops/a")).status, 200);
      assert.equal(JSON.parse((await new Client(app).get("/-/collections/orders")).body).total, 4);
    });
  });

/** Sends the heavy query many times, until it is aborted. */
class ManyQueries {
  readonly #controller = new AbortController();
  readonly #all: Promise<unknown>;
  readonly #crowded = Promise.withResolvers<Response>();
  /** The first response that is 503. */
  readonly crowded: Promise<Response> = this.#crowded.promise;
  /** How many have no response yet. */
  pending: number;

  constructor({ url }: TestApp, token: string, count: number) {
    this.pending = count;
    const { signal } = this.#controller;
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const init = {
      method: "QUERY",
      headers,
      body: JSON.stringify({ where: heavyWhere(20) }),
      signal,
    };
    const send = async () => {
      const response = await fetch(`${url}/texts`, init);
      this.pending--;
      if (response.status === 503) this.#crowded.resolve(response);
    };
    this.#all = Promise.allSettled(Array.from({ length: count }, send));
  }

  async abort(): Promise<void> {
    this.#controller.abort();
    await this.#all;
  }
}

// On Postgres the texts would be checked in this process, which would block the test.
describe("the queue of long queries (sqlite)", { skip: isPostgres }, () => {
  const light = "/texts?fields=name&name[icontains]=";
  let app: TestApp;

  before(async () => {
    app = await startHeavyApp({ queryDeadline: 100, store: undefined });
  });
  after(() => app.stop());

  it("is 503 with Retry-After when it is full, until clients leave", async () => {
    const many = new ManyQueries(app, app.admin, 200);
    const answer = await answerOf(many.crowded);
    assert.equal(answer.headers.get("retry-after"), "1");
    assert.match(assertProblem(answer, "unavailable").detail, /^Too many queries are waiting\./);
    // Other requests do not wait in the queue.
    assert.equal((await app.request("/texts?limit=1&fields=name")).status, 200);
    await many.abort();
    const query = new QueryClient(app);
    let next = await query.get(`${light}N1`);
    // The server learns a little later that the clients have left.
    while (next.status === 503) next = await query.get(`${light}N1`);
    assert.equal(next.status, 200, next.body);
    assert.equal(JSON.parse(next.body).total, 1);
  });

  it("does not let one caller's many queries hold up another's", async () => {
    const [one, two] = [await app.token("texts:read"), await app.token("texts:read")];
    const many = new ManyQueries(app, one, 200);
    await many.crowded;
    const other = await answerOf(app.request(`${light}N2`, { token: two }));
    const { pending } = many;
    await many.abort();
    assert.equal(other.status, 200, other.body);
    // In order of arrival a hundred of the others would have come first.
    assert.ok(pending > 10, `${pending} queries had no response yet`);
  });

  it("stops a query when its client leaves", async () => {
    const client = new AbortController();
    const where = encodeURIComponent(JSON.stringify(heavyWhere(20)));
    const request = new Request(`http://localhost/texts?where=${where}`, {
      headers: { authorization: `Bearer ${app.admin}`, host: "localhost" },
      signal: client.signal,
    });
    const answering = answerOf(app.direct(request));
    client.abort();
    assert.match(assertProblem(await answering, "unavailable").detail, /^The client has left/);
  });
});
