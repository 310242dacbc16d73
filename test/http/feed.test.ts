// GET /{collection}?since=: a client keeps a copy up to date without missing or repeating a change.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { runs } from "../seeds.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client, concurrently, pointersOf } from "./client.ts";
import { assertProblem, readLinks } from "./expect.ts";

let app: TestApp;
let client: Client;
before(async () => {
  app = await startApp();
  client = new Client(app);
});
after(() => app.stop());

interface Item {
  readonly id: string;
  readonly [name: string]: unknown;
}

interface Change {
  readonly revision: number;
  readonly resource?: Item;
  readonly removed?: string;
  readonly removedAt?: string;
}

interface Feed {
  readonly changes: readonly Change[];
  readonly since: string;
  readonly next: string;
  readonly more: boolean;
}

const feed = (collection: string, since: string, limit?: number) =>
  client.json<Feed>(`/${collection}?since=${since}${limit === undefined ? "" : `&limit=${limit}`}`);

const idsOf = ({ changes }: Feed) =>
  changes.map(({ resource, removed }) => resource?.id ?? `-${removed}`);

describe("?since=", () => {
  it("0 returns everything, in the order of the changes", async () => {
    for (const id of ["a", "b", "c"]) await client.put(`/first/${id}`, { id, n: 1 });
    await client.patch("/first/a", { n: 2 });
    const { changes, since, next, more } = await feed("first", "0");
    assert.deepEqual(
      changes.map(({ resource }) => resource?.id),
      ["b", "c", "a"],
    );
    assert.equal(changes[2]?.resource?.n, 2);
    const revisions = changes.map(({ revision }) => revision);
    assert.deepEqual(
      revisions,
      [...revisions].sort((one, other) => one - other),
    );
    assert.deepEqual([since, more], ["0", false]);
    assert.match(next, /^[0-9a-z.]+-[0-9a-z]+-[0-9a-z]+$/);
    for (const { resource } of changes)
      assert.deepEqual(resource, await client.json<Item>(`/first/${resource?.id}`));
  });

  it("returns each resource once, in its current state, and removed ones by id and time", async () => {
    for (const id of ["a", "b", "c"]) await client.put(`/second/${id}`, { n: 1 });
    const { next } = await feed("second", "0");
    await client.put("/second/a", { n: 2 });
    await client.remove("/second/b");
    await client.put("/second/d", { n: 1 });
    await client.remove("/second/d");
    await client.put("/second/a", { n: 3 });
    await client.remove("/second/c");
    await client.put("/second/c", { n: 9 });
    const after = await feed("second", next);
    assert.deepEqual(idsOf(after), ["-b", "-d", "a", "c"]);
    const [b, , a, c] = after.changes;
    assert.deepEqual(Object.keys(b ?? {}), ["revision", "removed", "removedAt"]);
    assert.match(b?.removedAt ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.deepEqual(Object.keys(a ?? {}), ["revision", "resource"]);
    assert.deepEqual([a?.resource?.n, c?.resource?.n], [3, 9]);
    assert.deepEqual(idsOf(await feed("second", after.next)), []);
  });

  it("returns the same position while nothing changes", async () => {
    await client.put("/still/a", {});
    const { next } = await feed("still", "0");
    const again = await feed("still", next);
    assert.deepEqual(again, { changes: [], since: next, next, more: false });
  });

  it("continues by `next` while there is more, also by Link", async () => {
    for (let index = 0; index < 25; index++) await client.put(`/paged/p${index}`, { index });
    const seen: string[] = [];
    let path: string | undefined = "/paged?since=0&limit=10";
    const sizes: number[] = [];
    while (path !== undefined) {
      const { headers, body } = await client.get(path);
      const page: Feed = JSON.parse(body);
      sizes.push(page.changes.length);
      seen.push(...idsOf(page));
      const { next } = readLinks(headers.get("link"));
      assert.equal(next !== undefined, page.more);
      if (next !== undefined) assert.equal(next, `/paged?since=${page.next}&limit=10`);
      path = next;
    }
    assert.deepEqual(sizes, [10, 10, 5]);
    assert.deepEqual(
      seen,
      Array.from({ length: 25 }, (_, index) => `p${index}`),
    );
  });

  it("ends also when the last page is full", async () => {
    for (let index = 0; index < 4; index++) await client.put(`/even/p${index}`, {});
    const first = await feed("even", "0", 2);
    assert.equal(first.more, true);
    const second = await feed("even", first.next, 2);
    assert.deepEqual([idsOf(second), second.more], [["p2", "p3"], false]);
  });

  it("contains the writes of a batch in order, and no definitions", async () => {
    await client.put("/mixed/z", {});
    const { next } = await feed("mixed", "0");
    await client.batch([
      { method: "PUT", path: "/mixed/y", body: {} },
      { method: "PUT", path: "/mixed/x", body: {} },
      { method: "DELETE", path: "/mixed/z" },
      { method: "PATCH", path: "/mixed/y", body: { n: 1 } },
    ]);
    await client.put("/-/collections/mixed", {});
    const after = await feed("mixed", next);
    assert.deepEqual(idsOf(after), ["x", "-z", "y"]);
    assert.equal(after.more, false);
    assert.deepEqual(await feed("mixed", after.next), {
      changes: [],
      since: after.next,
      next: after.next,
      more: false,
    });
  });

  it("contains nothing about rejected requests", async () => {
    await client.put("/refused/a", {});
    const { next } = await feed("refused", "0");
    await client.put("/refused/a", {}, { "if-none-match": "*" });
    await client.put("/refused/b", "nonsense");
    await client.remove("/refused/b");
    await client.batch([
      { method: "PUT", path: "/refused/c", body: {} },
      { method: "DELETE", path: "/refused/b" },
    ]);
    assert.deepEqual(await feed("refused", next), { changes: [], since: next, next, more: false });
  });

  it("is 304 while nothing has changed, and 200 after a change", async () => {
    await client.put("/quiet/a", {});
    for (const since of ["0", (await feed("quiet", "0")).next]) {
      const path = `/quiet?since=${since}`;
      const first = await client.get(path);
      const etag = first.headers.get("etag") ?? "";
      assert.equal(first.headers.get("cache-control"), "private, no-cache");
      const again = await client.get(path, { "if-none-match": etag });
      assert.equal(again.status, 304);
      assert.equal(again.body, "");
      assert.equal(again.headers.get("etag"), etag);
      await client.put("/quiet/a", {});
      const changed = await client.get(path, { "if-none-match": etag });
      assert.equal(changed.status, 200);
      assert.notEqual(changed.headers.get("etag"), etag);
    }
  });

  it("is 410 for a position ahead of the collection, without revealing the current one", async () => {
    await client.put("/short/a", {});
    const { next } = await feed("short", "0");
    const [epoch = "", , time = ""] = next.split("-");
    const ahead = `${epoch}-zzzz-${time}`;
    const problem = assertProblem(await client.get(`/short?since=${ahead}`), "gone");
    assert.match(problem.detail, /since=0/);
    assert.doesNotMatch(JSON.stringify({ ...problem, requestId: "" }), /\b[1-9]\d*\b(?<!410)/);
  });

  it("is 410 for a position of a collection that was deleted and recreated", async () => {
    for (const id of ["a", "b", "c"]) await client.put(`/again/${id}`, {});
    const { next } = await feed("again", "0");
    const dropped = await client.remove("/-/collections/again?confirm=again");
    assert.equal(dropped.status, 204);
    for (const id of ["d", "e", "f", "g", "h"]) await client.put(`/again/${id}`, {});
    assertProblem(await client.get(`/again?since=${next}`), "gone");
    assert.deepEqual(idsOf(await feed("again", "0")), ["d", "e", "f", "g", "h"]);
  });

  it("is 410 for a position whose revision has another time, or of another collection", async () => {
    await client.put("/one/a", {});
    await client.put("/other/a", {});
    const { next } = await feed("one", "0");
    const [epoch, revision, time = ""] = next.split("-");
    const later = (Number.parseInt(time, 36) + 1).toString(36);
    assertProblem(await client.get(`/one?since=${epoch}-${revision}-${later}`), "gone");
    assertProblem(await client.get(`/other?since=${next}`), "gone");
    assert.equal((await client.get(`/one?since=${next}`)).status, 200);
  });

  const wrong: readonly [query: string, parameters: readonly string[]][] = [
    ["since=-1", ["since"]],
    ["since=", ["since"]],
    ["since=abc", ["since"]],
    ["since=1", ["since"]],
    ["since=1.5", ["since"]],
    ["since=1-1", ["since"]],
    ["since=1.1-1-", ["since"]],
    ["since=1.1-1-1-1-1", ["since"]],
    ["since=x.abc", ["since"]],
    ["since=1.1-zzzzzzzzzzz-1", ["since"]],
    ["since=0&since=0", ["since"]],
    ["since=0&page=1", ["page"]],
    ["since=0&sort=createdAt", ["sort"]],
    ["since=0&page=2&sort=-createdAt", ["page", "sort"]],
    ["since=0&limit=0", ["limit"]],
    ["since=0&limit=1001", ["limit"]],
    ["since=x&limit=x&page=1", ["limit", "since", "page"]],
    ["since=0&q=a", ["q"]],
    ["since=0&a[upto]=1", ["a[upto]"]],
  ];
  for (const [query, parameters] of wrong) {
    it(`is 400 for ${query}`, async () => {
      await client.put("/strict/a", {});
      const problem = assertProblem(await client.get(`/strict?${query}`), "invalid-parameter");
      assert.deepEqual(pointersOf(problem), parameters);
    });
  }

  it("has up to 1000 changes, and 20 by default", async () => {
    const operations = Array.from({ length: 30 }, (_, index) => ({
      method: "PUT",
      path: `/thirty/t${index}`,
      body: {},
    }));
    await client.batch(operations);
    assert.equal((await feed("thirty", "0")).changes.length, 20);
    assert.equal((await feed("thirty", "0", 1000)).changes.length, 30);
  });

  it("supports HEAD, 406 and 404, and needs the scope to read", async () => {
    await client.put("/asked/a", {});
    const path = "/asked?since=0";
    const head = await app.request(path, { method: "HEAD" });
    const { headers, body } = await client.get(path);
    assert.equal(head.status, 200);
    assert.equal(head.headers.get("content-length"), `${Buffer.byteLength(body)}`);
    assert.equal(head.headers.get("etag"), headers.get("etag"));
    assertProblem(await client.get(path, { accept: "text/html" }), "not-acceptable");
    assertProblem(await client.get("/nowhere?since=0"), "not-found");
    const other = new Client(app, await app.token("asked:create", "asked:update", "asked:delete"));
    assertProblem(await other.get(path), "insufficient-scope");
    assert.equal((await app.request(path, { token: null })).status, 401);
  });
});

describe("a copy", () => {
  /** What a client keeps of a collection: it only ever follows `next`. */
  class Copy {
    readonly items = new Map<string, Item>();
    /** The newest revision of each that was returned. */
    readonly reported = new Map<string, number>();
    readonly #collection: string;
    readonly #limit: number;
    #next = "0";
    #last = 0;

    constructor(collection: string, limit: number) {
      this.#collection = collection;
      this.#limit = limit;
    }

    /** One step; says whether there was more already. */
    async follow(): Promise<boolean> {
      const { changes, next, more } = await feed(this.#collection, this.#next, this.#limit);
      assert.ok(changes.length <= this.#limit);
      assert.equal(new Set(idsOf({ changes, since: "0", next, more })).size, changes.length);
      for (const change of changes) {
        assert.ok(change.revision > this.#last, "in order, and never one again");
        this.#last = change.revision;
        this.#take(change);
      }
      this.#next = next;
      return more;
    }

    async catchUp(): Promise<void> {
      while (await this.follow());
    }

    #take({ revision, resource, removed }: Change): void {
      const id = resource?.id ?? removed ?? "";
      assert.ok(revision > (this.reported.get(id) ?? 0));
      this.reported.set(id, revision);
      if (resource === undefined) this.items.delete(id);
      else this.items.set(id, resource);
    }
  }

  async function whole(collection: string): Promise<Map<string, Item>> {
    const all = new Map<string, Item>();
    for (let path: string | undefined = `/${collection}?limit=100`; path !== undefined; ) {
      const { headers, body } = await client.get(path);
      for (const item of JSON.parse(body).data as Item[]) all.set(item.id, item);
      path = readLinks(headers.get("link")).next;
    }
    return all;
  }

  it("that follows several concurrent writers ends up equal to the collection", async () => {
    await client.put("/busy/seed", {});
    const ids = Array.from({ length: 12 }, (_, index) => `shared-${index}`);
    let writing = 6;
    const write = async (writer: number): Promise<void> => {
      for (let turn = 0; turn < runs(12, 25); turn++) {
        const id = ids[(writer * 7 + turn * 5) % ids.length] ?? "";
        const path = `/busy/${id}`;
        const body = { writer, turn };
        switch ((writer + turn) % 6) {
          case 0:
            await client.remove(path);
            break;
          case 1:
            await client.patch(path, body);
            break;
          case 2:
            await client.post("/busy", body);
            break;
          case 3:
            await client.batch([
              { method: "PUT", path, body },
              { method: "DELETE", path },
              { method: "PUT", path, body },
              { method: "PUT", path: `/busy/own-${writer}-${turn}`, body },
            ]);
            break;
          default:
            await client.put(path, body);
        }
      }
      writing--;
    };
    const copies = [3, 7, 1000].map((limit) => new Copy("busy", limit));
    await Promise.all([
      concurrently(writing, write),
      ...copies.map(async (copy) => {
        while (writing > 0) await copy.follow();
        await copy.catchUp();
      }),
    ]);
    const expected = await whole("busy");
    for (const copy of copies)
      assert.deepEqual(new Map([...copy.items].sort()), new Map([...expected].sort()));
  });

  it("sees every revision of a resource in order, if it reads often enough", async () => {
    await client.put("/single/one", { n: 0 });
    const copy = new Copy("single", 5);
    const seen: number[] = [];
    for (let n = 1; n <= 20; n++) {
      await client.patch("/single/one", { n });
      await copy.catchUp();
      seen.push(copy.items.get("one")?.n as number);
    }
    assert.deepEqual(
      seen,
      Array.from({ length: 20 }, (_, index) => index + 1),
    );
  });
});

describe("?since= after a new definition", () => {
  const integer = { type: "integer" };
  const any = {};
  const hidden = { type: "integer", writeOnly: true };
  const schemaOf = (n: object) => ({ schema: { type: "object", properties: { n } } });
  const owned = { access: { read: "owner" } };
  const filters = ["", "n=1", "n[ne]=1", "n[gte]=1", `where=${encodeURIComponent('{"n":"1"}')}`];

  /** The copies of a caller, one for each filter, and what was read last. */
  async function begin(name: string, definition: object) {
    await client.put(`/-/collections/${name}`, { ...definition, schema: {} });
    const caller = new Client(app, await app.token(`${name}:*`));
    for (const n of [0, 1, "1", 2]) await caller.post(`/${name}`, { n });
    await client.put(`/-/collections/${name}`, definition);
    const read = async (filter: string, since: string) =>
      caller.get(`/${name}?since=${since}&${filter}`);
    const positions = new Map<string, string>();
    for (const filter of filters) {
      const answer = await read(filter, "0");
      if (answer.status === 200) positions.set(filter, JSON.parse(answer.body).next);
    }
    const shown = async (filter: string) => {
      const { data } = await caller.json<{ data: Item[] }>(`/${name}?${filter}`);
      return data;
    };
    const copied = async (filter: string) => {
      const answer = await read(filter, "0");
      return (JSON.parse(answer.body) as Feed).changes.map(({ resource }) => resource);
    };
    return { read, positions, shown, copied };
  }

  const shapes = { any, integer, hidden };
  for (const [from, before] of Object.entries(shapes))
    for (const [to, after] of Object.entries(shapes))
      for (const access of [{}, owned])
        it(`is 410 where resources match or are shown otherwise: ${from} to ${to}${access === owned ? ", of owners" : ""}`, async () => {
          const name = `redefined-${from}-${to}-${access === owned ? "owned" : "all"}`;
          const definition = { ...schemaOf(before), ...access };
          const { read, positions, shown, copied } = await begin(name, definition);
          const listed = new Map<string, readonly Item[]>();
          for (const filter of positions.keys()) listed.set(filter, await shown(filter));
          const next = { ...schemaOf(after), ...access, indexed: after === hidden ? [] : ["n"] };
          await client.put(`/-/collections/${name}`, next);
          for (const [filter, since] of positions) {
            const answer = await read(filter, since);
            if (answer.status === 400) continue;
            if (answer.status === 410) {
              assert.notEqual(before, after, filter);
              assert.deepEqual(await copied(filter), await shown(filter), filter);
            } else {
              assert.deepEqual((JSON.parse(answer.body) as Feed).changes, [], filter);
              assert.deepEqual(await shown(filter), listed.get(filter), filter);
            }
          }
          // Without filters and hidden fields a copy stays.
          if (![before, after].includes(hidden))
            assert.equal((await read("", positions.get("") ?? "")).status, 200);
        });

  it("is 410 with other filters", async () => {
    for (const n of [1, 2]) await client.post("/refiltered", { n });
    const { next } = await client.json<Feed>("/refiltered?since=0&n=1");
    assert.equal((await client.get(`/refiltered?since=${next}&n=1&fields=n`)).status, 200);
    for (const filter of ["", "&n=2", "&n=1&n[gte]=0"])
      assertProblem(await client.get(`/refiltered?since=${next}${filter}`), "gone");
  });

  it("takes the same filters in another order", async () => {
    for (const [name, definition] of [
      ["reordered", {}],
      ["reordered-own", { access: { read: "owner" } }],
      [
        "reordered-rules",
        { access: { read: [{ name: "some", to: "token", where: { n: { gte: 0 } } }] } },
      ],
    ] as const) {
      await client.put(`/-/collections/${name}`, definition);
      const caller = new Client(app, await app.token(`${name}:*`));
      for (const n of [1, 2]) await caller.post(`/${name}`, { n });
      const { next } = await caller.json<Feed>(`/${name}?since=0&n[gte]=1&n[lt]=2&m[exists]=false`);
      const { changes } = await caller.json<Feed>(
        `/${name}?m[exists]=false&n[lt]=2&since=${next}&n[gte]=1`,
      );
      assert.deepEqual(changes, [], name);
    }
  });

  it("takes a position without filters with any, and then only with those", async () => {
    const withHidden = { schema: { type: "object", properties: { n: hidden, m: integer } } };
    for (const definition of [{}, withHidden]) {
      const name = `filtered-later-${Object.keys(definition).length}`;
      await client.put(`/-/collections/${name}`, definition);
      await client.post(`/${name}`, { m: 1 });
      const { next: whole } = await client.json<Feed>(`/${name}?since=0`);
      for (const m of [1, 2]) await client.post(`/${name}`, { m });
      const { changes, next } = await client.json<Feed>(`/${name}?since=${whole}&m=1`);
      assert.deepEqual(
        changes.map(({ resource }) => resource?.m),
        [1, undefined],
      );
      assert.equal((await client.get(`/${name}?since=${next}&m=1`)).status, 200);
      assertProblem(await client.get(`/${name}?since=${next}`), "gone");
    }
  });
});

describe("a feed of which little is shown", () => {
  const count = 2_100;
  const integer = { type: "integer" };
  const definitions = {
    plain: { schema: { properties: { n: integer } } },
    hiding: { schema: { properties: { n: integer, pin: { type: "string", writeOnly: true } } } },
    ruled: { access: { read: [{ name: "few", to: "token", where: { n: 1 } }] } },
  };
  before(async () => {
    const lines = Array.from({ length: count }, (_, n) => JSON.stringify({ n })).join("\n");
    for (const [name, definition] of Object.entries(definitions)) {
      await client.put(`/-/collections/${name}`, definition);
      const type = { "content-type": "application/x-ndjson" };
      assert.equal((await client.post(`/${name}`, lines, type)).status, 200);
    }
  });

  it("has the same pages with a filter, whether fields are hidden or not", async () => {
    const walk = async (name: string) => {
      const pages: number[] = [];
      for (let [since, isMore] = ["0", true]; isMore; ) {
        const read = await client.json<Feed>(`/${name}?since=${since}&n[gte]=${count - 5}&limit=3`);
        pages.push(read.changes.length);
        [since, isMore] = [read.next, read.more];
      }
      return pages;
    };
    assert.deepEqual(await walk("plain"), [0, 0, 3, 2]);
    assert.deepEqual(await walk("hiding"), [0, 0, 3, 2]);
  });

  it("is read no further when its client has left", async () => {
    const token = await app.token("ruled:read");
    const reader = new AbortController();
    const request = new Request("http://localhost/ruled?since=0", {
      headers: { authorization: `Bearer ${token}`, host: "localhost" },
      signal: reader.signal,
    });
    const answering = app.direct(request);
    reader.abort();
    const { status, headers } = await answering;
    assert.deepEqual([status, headers.get("content-type")], [503, "application/problem+json"]);
  });
});
