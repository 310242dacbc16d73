// GET /{collection}: pages in a stable order, exact totals, and links.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { defaultConfig } from "../../src/server/config.ts";
import { openStore } from "../../src/server/open-store.ts";
import { startApp, type TestApp } from "./app.ts";
import { expectProblem, readLinks } from "./expect.ts";

interface Item {
  readonly id: string;
  readonly n: number;
}

interface Page {
  readonly data: readonly Item[];
  readonly page: number;
  readonly limit: number;
  readonly total: number;
  readonly pages: number;
}

const count = 45;
const numbers = (from: number, to: number): number[] =>
  Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);

/** `sieved` has lost two of three, `none` was never filled; deletion is not served over HTTP yet. */
const sieved = { made: 1500, kept: numbers(1, 1500).filter((n) => n % 3 === 0) };

const found = (collection: string) => ({ kind: "create-collection", collection, at: 0 }) as const;
const put = (collection: string, n: number) =>
  ({
    kind: "put",
    collection,
    id: `${n}`,
    fields: `{"n":${n}}`,
    at: n,
    expect: "nothing",
  }) as const;
const remove = (collection: string, n: number) =>
  ({ kind: "remove", collection, id: `${n}`, at: n, expect: "anything" }) as const;

let data: string;
let app: TestApp;
before(async () => {
  data = await mkdtemp(join(tmpdir(), "restante-"));
  const store = await openStore({ ...defaultConfig, data });
  const isLost = (n: number) => !sieved.kept.includes(n);
  await store.commit(["none", "people", "sieved"].map(found));
  await store.commit(numbers(1, count).map((n) => put("people", n)));
  await store.commit(numbers(1, sieved.made).map((n) => put("sieved", n)));
  await store.commit(
    numbers(1, sieved.made)
      .filter(isLost)
      .map((n) => remove("sieved", n)),
  );
  await store.close();
  app = await startApp({ data });
});
after(async () => {
  await app.stop();
  await rm(data, { recursive: true, force: true });
});

async function read(path: string): Promise<Page & { readonly headers: Headers }> {
  const response = await app.request(path);
  assert.equal(response.status, 200, path);
  return { ...((await response.json()) as Page), headers: response.headers };
}

const ns = (page: Page): number[] => page.data.map(({ n }) => n);

/** Follows `next` from a page to the end. */
async function walk(path: string): Promise<Page[]> {
  const pages: Page[] = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    const page: Awaited<ReturnType<typeof read>> = await read(next);
    pages.push(page);
    next = readLinks(page.headers.get("link")).next;
  }
  return pages;
}

describe("a page", () => {
  it("is the first with 20 resources by default", async () => {
    const { headers, data: items, ...envelope } = await read("/people");
    assert.deepEqual(envelope, { page: 1, limit: 20, total: count, pages: 3 });
    assert.deepEqual(
      items.map(({ n }) => n),
      numbers(1, 20),
    );
    assert.equal(headers.get("x-total-count"), `${count}`);
    assert.equal(headers.get("content-type"), "application/json");
    assert.equal(headers.get("cache-control"), "private, no-cache");
  });

  it("has its members in a fixed order", async () => {
    const text = await (await app.request("/people?page=2&limit=1")).text();
    assert.match(text, /^\{"data":\[\{.*\}\],"page":2,"limit":1,"total":45,"pages":45\}$/);
  });

  const windows: readonly (readonly [query: string, from: number, to: number, pages: number])[] = [
    ["page=2&limit=10", 11, 20, 5],
    ["limit=10&page=5", 41, 45, 5],
    ["page=3", 41, 45, 3],
    ["limit=45", 1, 45, 1],
    ["limit=44&page=2", 45, 45, 2],
    ["limit=1&page=45", 45, 45, 45],
    ["limit=1000", 1, 45, 1],
    ["page=2&limit=7&sort=createdAt", 8, 14, 7],
  ];
  for (const [query, from, to, pages] of windows) {
    it(`?${query} contains ${from} to ${to}`, async () => {
      const page = await read(`/people?${query}`);
      assert.deepEqual(ns(page), numbers(from, to));
      assert.equal(page.total, count);
      assert.equal(page.pages, pages);
    });
  }

  it("with sort=-createdAt has the reverse order", async () => {
    const backwards = numbers(1, count).reverse();
    assert.deepEqual(ns(await read("/people?sort=-createdAt&limit=1000")), backwards);
    const second = await read("/people?sort=-createdAt&limit=10&page=2");
    assert.deepEqual(ns(second), backwards.slice(10, 20));
  });

  it("contains each resource byte for byte as its own address does", async () => {
    const text = await (await app.request("/people?limit=2&page=3")).text();
    const { data: items } = JSON.parse(text) as Page;
    const own = await Promise.all(
      items.map(async ({ id }) => (await app.request(`/people/${id}`)).text()),
    );
    assert.ok(text.startsWith(`{"data":[${own.join(",")}],`), text);
  });

  for (const query of ["page=4", "page=46&limit=1", "page=999999999999999&limit=1000"]) {
    it(`past the end is empty: ?${query}`, async () => {
      const page = await read(`/people?${query}`);
      assert.deepEqual(page.data, []);
      assert.equal(page.total, count);
      const links = readLinks(page.headers.get("link"));
      assert.deepEqual(Object.keys(links).sort(), ["first", "last", "prev"]);
      assert.equal(links.prev, links.last);
      assert.ok((await read(links.prev ?? "")).data.length > 0);
    });
  }

  it("of an empty collection is empty, and the only one", async () => {
    const { headers, ...page } = await read("/none");
    assert.deepEqual(page, { data: [], page: 1, limit: 20, total: 0, pages: 0 });
    assert.equal(headers.get("x-total-count"), "0");
    const links = readLinks(headers.get("link"));
    assert.deepEqual(Object.keys(links).sort(), ["first", "last"]);
  });

  it("of an unknown collection is 404", async () => {
    await expectProblem(app.request("/nobody"), "not-found");
  });
});

describe("parameters", () => {
  const outOfRange = [
    "0",
    "-1",
    "abc",
    "1.5",
    "1.0",
    "1e3",
    "0x10",
    "%205",
    "5%20",
    "+5",
    "05",
    "5abc",
    "",
    "%D9%A3",
    "Infinity",
    "NaN",
    "9007199254740993",
    "99999999999999999999999999",
    "1%00",
    "%zz",
  ];
  for (const name of ["page", "limit"]) {
    for (const value of outOfRange) {
      it(`${name}=${value} is rejected by name`, async () => {
        const response = app.request(`/people?${name}=${value}`);
        const { errors } = await expectProblem(response, "invalid-parameter");
        assert.deepEqual(
          errors?.map(({ parameter }) => parameter),
          [name],
        );
      });
    }
  }

  const rejected: readonly (readonly [query: string, ...names: string[]])[] = [
    ["limit=1001", "limit"],
    ["sort=", "sort"],
    ["sort=%2BcreatedAt", "sort"],
    ["page[]=1", "page[]"],
    ["=1", ""],
    ["page=1&page=2", "page"],
    ["page=1&page=1", "page"],
    ["page=1&p%61ge=1", "page"],
    ["limit=5&limit=5&x[y]", "limit", "x[y]"],
    ["page=0&limit=0&sort=", "page", "limit", "sort"],
  ];
  for (const [query, ...names] of rejected) {
    it(`?${query} is rejected, with every error at once`, async () => {
      const response = app.request(`/people?${query}`);
      const { errors } = await expectProblem(response, "invalid-parameter");
      assert.deepEqual(
        errors?.map(({ parameter }) => parameter),
        names,
      );
    });
  }
});

describe("Link", () => {
  const cases: readonly (readonly [query: string, links: Readonly<Record<string, number>>])[] = [
    ["limit=20", { first: 1, next: 2, last: 3 }],
    ["page=2&limit=20", { first: 1, prev: 1, next: 3, last: 3 }],
    ["page=3&limit=20", { first: 1, prev: 2, last: 3 }],
    ["page=9&limit=20", { first: 1, prev: 3, last: 3 }],
    ["limit=45", { first: 1, last: 1 }],
    ["limit=44", { first: 1, next: 2, last: 2 }],
  ];
  for (const [query, expected] of cases) {
    it(`of ?${query}`, async () => {
      const { headers, limit } = await read(`/people?${query}`);
      const links = Object.entries(readLinks(headers.get("link")));
      const targets = links.map(([relation, target]) => [relation, `${target}`]);
      const wanted = Object.entries(expected).map(([relation, page]) => [
        relation,
        `/people?page=${page}&limit=${limit}`,
      ]);
      assert.deepEqual(Object.fromEntries(targets), Object.fromEntries(wanted));
    });
  }

  it("keeps sort and limit", async () => {
    const { headers } = await read("/people?sort=-createdAt&limit=7&page=2");
    const links = readLinks(headers.get("link"));
    for (const target of Object.values(links)) {
      const { searchParams } = new URL(target, app.url);
      assert.equal(searchParams.get("sort"), "-createdAt");
      assert.equal(searchParams.get("limit"), "7");
    }
    assert.deepEqual(ns(await read(links.next ?? "")), numbers(25, 31).reverse());
  });

  it("of a long query has only next, so that clients can read the header", async () => {
    const filter = new URLSearchParams({
      where: JSON.stringify({ n: { ne: `"${"x".repeat(7_000)}"` } }),
    });
    const seen: unknown[] = [];
    let next: string | undefined = `/people?limit=20&${filter}`;
    for (let turn = 1; next !== undefined; turn++) {
      const page = await read(next);
      seen.push(...ns(page));
      const links = readLinks(page.headers.get("link"));
      assert.deepEqual(Object.keys(links), turn < 3 ? ["next"] : []);
      next = links.next;
    }
    assert.deepEqual(seen, numbers(1, count));
  });

  it("begins with the base URL and its path prefix", async () => {
    const base = "https://api.example.org/v1";
    const prefixed = await startApp({ baseUrl: base });
    try {
      await prefixed.post("people", {});
      const response = await prefixed.request("/people");
      const links = Object.values(readLinks(response.headers.get("link")));
      assert.deepEqual([...new Set(links)], [`${base}/people?page=1&limit=20`]);
    } finally {
      await prefixed.stop();
    }
  });

  for (const query of ["", "?limit=1", "?limit=7", "?limit=1000", "?limit=11&sort=-createdAt"]) {
    it(`next leads from /people${query} through every resource once`, async () => {
      const pages = await walk(`/people${query}`);
      const walked = pages.flatMap(ns);
      const expected = numbers(1, count);
      assert.deepEqual(walked, query.includes("sort") ? expected.reverse() : expected);
      assert.equal(pages.length, pages[0]?.pages);
    });
  }
});

describe("after deletions", () => {
  for (const limit of [20, 256, 1000]) {
    it(`pages of ${limit} contain exactly what is left, and the total counts it`, async () => {
      const pages = await walk(`/sieved?limit=${limit}`);
      assert.deepEqual(pages.flatMap(ns), sieved.kept);
      for (const page of pages) assert.equal(page.total, sieved.kept.length);
      for (const page of pages.slice(0, -1)) assert.equal(page.data.length, limit);
    });
  }

  it("any page starts at the computed position, in both orders", async () => {
    const newest = [...sieved.kept].reverse();
    for (const page of [1, 2, 13, 25, 42, 71, 72]) {
      const [from, to] = [(page - 1) * 7, page * 7];
      const query = `/sieved?limit=7&page=${page}`;
      assert.deepEqual(ns(await read(query)), sieved.kept.slice(from, to));
      assert.deepEqual(ns(await read(`${query}&sort=-createdAt`)), newest.slice(from, to));
    }
  });
});

describe("while a collection grows", () => {
  it("full pages do not change, and the total is exact after each POST", async () => {
    await Promise.all(numbers(1, 10).map((n) => app.post("growing", { n })));
    const first = (await read("/growing?limit=10")).data;
    for (const n of numbers(11, 22)) {
      await app.post("growing", { n });
      const { total, data: items } = await read("/growing?limit=10");
      assert.equal(total, n);
      assert.deepEqual(items, first);
    }
    assert.deepEqual(ns(await read("/growing?limit=10&page=2")), numbers(11, 20));
  });

  it("following the links returns everything that existed at the beginning once", async () => {
    await Promise.all(numbers(1, 40).map((n) => app.post("busy", { n })));
    let walking = true;
    const writer = async () => {
      while (walking) await app.post("busy", { n: 0 });
    };
    const writers = [writer(), writer(), writer()];
    try {
      const walked = await boundedWalk("/busy?limit=7", 12);
      const ids = walked.map(({ id }) => id);
      assert.equal(new Set(ids).size, ids.length);
      const old = walked.filter(({ n }) => n > 0).map(({ n }) => n);
      assert.deepEqual(
        old.sort((a, b) => a - b),
        numbers(1, 40),
      );
    } finally {
      walking = false;
      await Promise.all(writers);
    }
    const pages = await walk("/busy?limit=1000");
    assert.equal(pages.flatMap(ns).length, pages[0]?.total);
  });

  /** Writers may add pages faster than a walker reads them. */
  async function boundedWalk(path: string, pages: number): Promise<Item[]> {
    const items: Item[] = [];
    let next: string | undefined = path;
    for (let page = 0; page < pages && next !== undefined; page++) {
      const { data: found, headers } = await read(next);
      items.push(...found);
      next = readLinks(headers.get("link")).next;
    }
    return items;
  }
});
