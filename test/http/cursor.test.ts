// cursor: reads a list in any order while others write. total: exact, or none.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { isShort } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client, pointersOf } from "./client.ts";
import { assertProblem, readLinks } from "./expect.ts";
import { idsOf, type ListBody, QueryClient, type Row } from "./query-client.ts";

const count = 30;
const rows: Readonly<Record<string, Row>> = Object.fromEntries(
  Array.from({ length: count }, (_, n) => [
    `r${n}`,
    { n, mod: n % 4, ...(n % 5 > 0 && { word: `wörd ${n % 3}` }), day: `2026-03-0${1 + (n % 9)}` },
  ]),
);
const schema = {
  properties: { n: {}, mod: {}, word: {}, day: { type: "string", format: "date" } },
};

let app: TestApp;
let asker: QueryClient;
before(async () => {
  app = await startApp();
  asker = new QueryClient(app);
  await asker.fill("open", rows);
  await asker.define("indexed", { schema, indexed: ["n", "mod", "word", "day"] });
  await asker.fill("indexed", rows);
});
after(() => app.stop());

const questions = [
  "",
  "sort=createdAt",
  "sort=-createdAt",
  "sort=n",
  "sort=-mod",
  "sort=word",
  "sort=-word,mod",
  "sort=word,-createdAt",
  "sort=day,-word,n",
  "mod=1",
  "mod[in]=1,3&sort=-n",
  "n[gte]=7&n[lt]=23&sort=word",
  "word[exists]=false&sort=-mod,-createdAt",
  "mod[ne]=2",
];

describe("reading by cursor", () => {
  for (const collection of ["open", "indexed"]) {
    for (const [index, question] of questions.entries()) {
      it(`of /${collection}?${question} returns each resource once, in the order of the pages`, async () => {
        const path = `/${collection}?limit=1000&${question}`;
        const whole = await asker.ids(path);
        // A short run has a small one for each.
        const few = isShort ? [collection === "indexed" && index % 4 === 0 ? 1 : 4] : [1, 4];
        for (const limit of [...few, whole.length, 1000]) {
          const walk = await asker.readByCursor(`/${collection}?${question}&limit=${limit}`);
          assert.deepEqual(walk.ids, whole);
          assert.equal(walk.answers, Math.max(1, Math.ceil(whole.length / limit)));
        }
      });
    }
  }

  it("returns limit, total and next, and links to the first and next page", async () => {
    const { headers, data, ...rest } = await asker.list("/open?cursor=&sort=-n&limit=3&mod=1");
    assert.deepEqual(
      data.map(({ n }) => n),
      [29, 25, 21],
    );
    assert.deepEqual(Object.keys(rest), ["limit", "total", "next"]);
    assert.deepEqual([rest.limit, rest.total], [3, 8]);
    assert.match(rest.next ?? "", /^[A-Za-z0-9_-]+$/);
    const links = readLinks(headers.get("link"));
    assert.deepEqual(Object.keys(links), ["first", "next"]);
    const { searchParams } = new URL(links.next ?? "", app.url);
    assert.deepEqual(Object.fromEntries(searchParams), {
      cursor: rest.next,
      limit: "3",
      sort: "-n",
      mod: "1",
    });
    const second = await asker.list(links.next ?? "");
    assert.deepEqual(
      second.data.map(({ n }) => n),
      [17, 13, 9],
    );
    assert.deepEqual((await asker.list(links.first ?? "")).data, data);
  });

  it("may change limit, fields and total on the way", async () => {
    const { next } = await asker.list("/open?cursor=&limit=2&sort=n");
    const later = await asker.list(`/open?cursor=${next}&limit=1&sort=n&fields=n&total=none`);
    assert.deepEqual(later.data, [{ id: "r2", n: 2 }]);
  });

  it("goes on with the same filters and words in another order", async () => {
    await asker.define("worded", { schema, searchable: ["word"] });
    await asker.fill("worded", rows);
    const owned = { schema, searchable: ["word"], access: { read: "owner" } };
    await asker.define("owned-words", owned);
    const client = new Client(app, await app.token("owned-words:*", "worded:*"));
    for (const row of Object.values(rows)) await client.post("/owned-words", row);
    for (const name of ["worded", "owned-words"]) {
      const path = `/${name}?sort=n&limit=2`;
      const first = await client.json<ListBody>(
        `${path}&cursor=&mod[gte]=1&n[lt]=20&day[exists]=true&q=wörd 1`,
      );
      const cursor = `&cursor=${first.next}`;
      const second = `${path}${cursor}&mod[gte]=1&n[lt]=20&day[exists]=true&q=wörd 1`;
      const again = `/${name}?q=1 wörd&day[exists]=true${cursor}&n[lt]=20&limit=2&mod[gte]=1&sort=n`;
      const { data } = await client.json<ListBody>(again);
      assert.equal(data.length, 2);
      assert.deepEqual(data, (await client.json<ListBody>(second)).data);
    }
  });

  it("returns once everything that stays, while others create and delete", async () => {
    for (const [name, definition] of [
      ["busy", {}],
      ["busier", { indexed: ["n"] }],
    ] as const) {
      await asker.define(name, definition);
      await asker.fill(name, rows);
      for (const sort of ["n", "-n", "createdAt", "-createdAt"]) {
        const seen: string[] = [];
        let cursor: string | null | undefined = "";
        for (let step = 0; typeof cursor === "string"; step++) {
          const body: ListBody = await asker.list(`/${name}?limit=4&sort=${sort}&cursor=${cursor}`);
          seen.push(...idsOf(body).filter((id) => id in rows));
          cursor = body.next;
          // Even the resource at the cursor may be deleted.
          const last = body.data.at(-1);
          if (last !== undefined && !(last.id in rows)) {
            await app.request(`/${name}/${last.id}`, { method: "DELETE" });
          }
          await asker.fill(name, { [`${sort}${step}a`.replace("-", "x")]: { n: step * 3 + 0.5 } });
          if (step > 60) assert.fail("the walk does not end");
        }
        const order = Object.keys(rows);
        assert.deepEqual(seen, sort.startsWith("-") ? order.reverse() : order, sort);
      }
    }
  });

  it("continues after its last resource was deleted", async () => {
    for (const sort of ["n", "createdAt"]) {
      const name = `going-${sort.toLowerCase()}`;
      await asker.fill(name, { a: { n: 1 }, b: { n: 2 }, c: { n: 3 } });
      const { next } = await asker.list(`/${name}?cursor=&limit=2&sort=${sort}`);
      await app.request(`/${name}/b`, { method: "DELETE" });
      assert.deepEqual(await asker.ids(`/${name}?cursor=${next}&sort=${sort}`), ["c"]);
    }
  });
});

describe("a cursor behind the last match", () => {
  for (const collection of ["open", "indexed"])
    it(`has no resources in /${collection}, whatever it was read by`, async () => {
      const copy = `${collection}-before`;
      await asker.define(
        copy,
        collection === "open" ? {} : { schema, indexed: Object.keys(schema.properties) },
      );
      await asker.fill(copy, rows);
      for (const question of questions) {
        const whole = await asker.ids(`/${copy}?limit=1000&${question}`);
        const limit = whole.length - 1;
        const { next } = await asker.list(`/${copy}?limit=${limit}&cursor=&${question}`);
        await app.request(`/${copy}/${whole[limit]}`, { method: "DELETE" });
        // A small page is read in its order, a large one from an index.
        for (const size of [1, 1000])
          assert.deepEqual(
            await asker.ids(`/${copy}?limit=${size}&cursor=${next}&${question}`),
            [],
            question,
          );
        await asker.fill(copy, rows);
      }
    });
});

describe("an invalid cursor", () => {
  const foreign = async (path: string) => {
    const { next } = await asker.list("/open?cursor=&limit=2&sort=n&mod[gte]=1");
    const problem = assertProblem(await asker.get(`${path}&cursor=${next}`), "invalid-parameter");
    assert.deepEqual(pointersOf(problem), ["cursor"]);
    return problem.errors?.[0]?.detail ?? "";
  };

  for (const path of [
    "/open?sort=-n&mod[gte]=1",
    "/open?sort=n,mod&mod[gte]=1",
    "/open?sort=n&mod[gte]=2",
    "/open?sort=n&mod[gt]=1",
    "/open?sort=n",
    "/open?mod[gte]=1",
    "/indexed?sort=n&mod[gte]=1",
  ]) {
    it(`is rejected with another query: ${path}`, async () => {
      assert.match(await foreign(path), /another query/);
    });
  }

  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const malformed = [
    ...["x", "start", "null", "%00", "a b", "AAAA=", encoded({}), encoded([]), encoded([1, 2])],
    ...[encoded(["0123456789abcdef"]), encoded(["0123456789abcdef", "1"])],
    ...[encoded(["0123456789abcdef", 1.5, "x"]), encoded(["0123456789abcdef", 1, 2])],
    ...[encoded(["0123456789abcdef", 1, "a\0"]), encoded(["0123456789abcdef", 1, "\ud800"])],
  ];
  for (const cursor of malformed) {
    it(`is rejected in another format: ${cursor}`, async () => {
      const answer = await asker.get(`/open?sort=n&cursor=${encodeURIComponent(cursor)}`);
      const problem = assertProblem(answer, "invalid-parameter");
      assert.deepEqual(pointersOf(problem), ["cursor"]);
      assert.match(problem.errors?.[0]?.detail ?? "", /this is not a cursor/);
    });
  }

  it("is rejected with a valid prefix but an invalid position", async () => {
    const { next } = await asker.list("/open?cursor=&limit=2&sort=n");
    const [mark] = JSON.parse(Buffer.from(next ?? "", "base64url").toString());
    for (const position of [[5], [5, "n1", "n2"], [-1, "a\0"], ["5", "n1"]]) {
      const answer = await asker.get(`/open?sort=n&cursor=${encoded([mark, ...position])}`);
      assertProblem(answer, "invalid-parameter");
    }
    // Any key is a place in the order, also one that nothing has.
    assert.deepEqual(await asker.ids(`/open?sort=n&cursor=${encoded([mark, 5, "z"])}`), []);
    assert.equal((await asker.ids(`/open?sort=n&cursor=${encoded([mark, 0, ""])}`)).length, 20);
  });

  it("may be made up for any time, also for one that no column can have", async () => {
    const { next } = await asker.list("/open?cursor=&limit=2&sort=-updatedAt");
    const [mark] = JSON.parse(Buffer.from(next ?? "", "base64url").toString());
    for (const digits of ["0".repeat(16), "f".repeat(16), `fff8${"0".repeat(12)}`, "z", "8"])
      await asker.ids(`/open?sort=-updatedAt&cursor=${encoded([mark, 5, `t${digits}`])}`);
  });

  it("is rejected next to a page, or twice", async () => {
    const both = assertProblem(await asker.get("/open?page=1&cursor="), "invalid-parameter");
    assert.deepEqual(pointersOf(both), ["page"]);
    const twice = assertProblem(await asker.get("/open?cursor=&cursor="), "invalid-parameter");
    assert.deepEqual(pointersOf(twice), ["cursor"]);
  });

  it("is rejected when the collection was recreated", async () => {
    await asker.fill("short", { a: {}, b: {} });
    const { next } = await asker.list("/short?cursor=&limit=1");
    const gone = await app.request("/-/collections/short?confirm=short", { method: "DELETE" });
    assert.equal(gone.status, 204);
    await asker.fill("short", { a: {}, b: {} });
    assertProblem(await asker.get(`/short?cursor=${next}`), "invalid-parameter");
  });
});

describe("total=none", () => {
  for (const query of ["", "&mod[gte]=0", "&sort=word", "&mod[gte]=0&sort=-n"]) {
    it(`omits all that would have to be counted: ?total=none${query}`, async () => {
      const path = `/indexed?total=none${query}&limit=20`;
      const first = await asker.list(path);
      const { headers, data, ...rest } = first;
      assert.deepEqual(rest, { page: 1, limit: 20, more: true });
      assert.equal(data.length, 20);
      assert.equal(headers.get("x-total-count"), null);
      const links = readLinks(headers.get("link"));
      assert.deepEqual(Object.keys(links), ["first", "next"]);
      const second = await asker.list(links.next ?? "");
      assert.equal(second.more, false);
      assert.equal(second.data.length, 10);
      assert.deepEqual(Object.keys(readLinks(second.headers.get("link"))), ["first", "prev"]);
      const counted = await asker.list(`/indexed?total=exact${query}&limit=20`);
      assert.deepEqual(counted.data, data);
      assert.equal(counted.total, count);
    });
  }

  it("has a next and no total when reading by cursor", async () => {
    const { headers, data, ...rest } = await asker.list("/open?cursor=&total=none&limit=29");
    assert.equal(data.length, 29);
    assert.deepEqual(Object.keys(rest), ["limit", "next"]);
    assert.equal(headers.get("x-total-count"), null);
  });

  for (const total of ["", "no", "NONE", "0", "false"]) {
    it(`has one spelling: total=${total} is rejected`, async () => {
      const problem = assertProblem(await asker.get(`/open?total=${total}`), "invalid-parameter");
      assert.deepEqual(pointersOf(problem), ["total"]);
    });
  }
});
