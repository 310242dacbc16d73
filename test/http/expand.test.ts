// `expand` shows the resources that a resource refers to, and its ETag covers them.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client, concurrently, pointersOf } from "./client.ts";
import { type Answer, answerOf, assertProblem } from "./expect.ts";

type Shown = Readonly<Record<string, unknown>> & {
  readonly id: string;
  readonly _expanded?: Readonly<Record<string, unknown>>;
};
interface Page {
  readonly data: readonly Shown[];
  readonly total?: number;
  readonly next?: string | null;
}

const ndjson = { accept: "application/x-ndjson" };
const to = (collection: string) => ({ collection, onDelete: "unset" });
const ok = ({ status, body }: Answer) => assert.ok(status < 300, `${status} ${body}`);
const shownIn = (value: unknown): readonly Shown[] => value as readonly Shown[];
const linesOf = (body: string): readonly Shown[] =>
  body
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

for (const store of storesHere("sqlite", ["sqlite", "postgres"])) {
  describe(`expand on ${store}`, () => {
    let app: TestApp;
    let client: Client;
    before(async () => {
      app = await startApp(store === "postgres" ? { store } : {});
      client = new Client(app);
      await define("companies", {});
      await define("customers", { references: { company: to("companies") } });
      await define("products", {
        schema: { properties: { name: { type: "string" }, cost: { writeOnly: true } } },
      });
      await define("orders", {
        references: {
          customer: to("customers"),
          "lines[].product": to("products"),
          "ship.to": to("customers"),
        },
      });
      ok(await client.put("/companies/acme", { name: "Acme" }));
      ok(await client.put("/customers/ada", { name: "Ada", company: "acme" }));
      ok(await client.put("/customers/bob", { name: "Bob" }));
      ok(await client.put("/products/pen", { name: "Pen", cost: 1 }));
      ok(await client.put("/products/ink", { name: "Ink" }));
      const lines = [{ product: "pen" }, { n: 1 }, { product: "ink" }, { product: "pen" }];
      ok(await client.put("/orders/1", { customer: "ada", lines, ship: { to: "bob" } }));
      ok(await client.put("/orders/2", { customer: "bob", lines: [] }));
      ok(await client.put("/orders/3", { customer: null }));
    });
    after(() => app.stop());

    async function define(name: string, definition: unknown): Promise<void> {
      ok(await client.put(`/-/collections/${name}`, definition));
    }
    const query = (path: string, body: unknown): Promise<Answer> =>
      answerOf(
        app.request(path, {
          method: "QUERY",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(body),
        }),
      );
    const errorOf = (answer: Answer, kind: "invalid-parameter" | "invalid-body"): string =>
      assertProblem(answer, kind).errors?.[0]?.detail ?? "";

    it("shows what a resource refers to, as a GET shows it", async () => {
      const ada = await client.json<Shown>("/customers/ada");
      const [pen, ink] = [
        await client.json<Shown>("/products/pen"),
        await client.json<Shown>("/products/ink"),
      ];
      assert.equal("cost" in pen, false);
      const one = await client.json<Shown>("/orders/1?expand=customer,lines[].product,ship.to");
      const bob = await client.json<Shown>("/customers/bob");
      assert.deepEqual(one._expanded, {
        customer: ada,
        "lines[].product": [pen, null, ink, pen],
        "ship.to": bob,
      });
      const { _expanded: _, ...plain } = one;
      assert.deepEqual(plain, await client.json("/orders/1"));
      const three = await client.json<Shown>("/orders/3?expand=customer,lines[].product");
      assert.deepEqual(three._expanded, { customer: null, "lines[].product": [] });
      const some = await client.json<Shown>("/orders/1?fields=ship&expand=customer");
      assert.deepEqual(some, { id: "1", ship: { to: "bob" }, _expanded: { customer: ada } });
    });

    it("is the same in lists, QUERY, cursors and exports", async () => {
      const expand = "customer,lines[].product";
      const wanted = await Promise.all(
        ["1", "2", "3"].map((id) => client.json<Shown>(`/orders/${id}?expand=${expand}`)),
      );
      const listed = await client.json<Page>(`/orders?expand=${expand}`);
      assert.deepEqual(listed.data, wanted);
      assert.equal(listed.total, 3);
      for (const asked of [expand, ["customer", "lines[].product"]]) {
        const queried = await query("/orders", { expand: asked });
        assert.deepEqual((JSON.parse(queried.body) as Page).data, wanted);
      }
      const first = await client.json<Page>(`/orders?cursor=&limit=2&expand=${expand}`);
      const rest = await client.json<Page>(`/orders?cursor=${first.next}&limit=2&expand=${expand}`);
      assert.deepEqual([...first.data, ...rest.data], wanted);
      for (const address of ["/orders?expand=", "/orders?limit=3&expand="]) {
        const exported = await client.get(address + expand, ndjson);
        assert.deepEqual(linesOf(exported.body), wanted);
      }
      const page = await client.get(`/orders?limit=1&expand=${expand}`);
      assert.match(page.headers.get("link") ?? "", /page=2&limit=1&expand=customer%2Clines/);
      const csv = await client.get(`/orders?expand=${expand}`, { accept: "text/csv" });
      assert.match(errorOf(csv, "invalid-parameter"), /ndjson/);
    });

    it("follows up to three references", async () => {
      await define("nodes", { references: { next: to("nodes"), "all[]": to("nodes") } });
      ok(await client.put("/nodes/a", {}));
      ok(await client.put("/nodes/b", { next: "a" }));
      ok(await client.put("/nodes/a", { next: "b", all: ["b", "a"] }));
      const two = await client.json<Shown>("/orders/1?expand=customer.company,customer");
      const company = await client.json("/companies/acme");
      const ada = await client.json<Shown>("/customers/ada");
      assert.deepEqual(two._expanded, { customer: { ...ada, _expanded: { company } } });
      const a = await client.json<Shown>("/nodes/a");
      const b = await client.json<Shown>("/nodes/b");
      const three = await client.json<Shown>("/nodes/a?expand=next.next.next,all[].next");
      const inner = { ...a, _expanded: { next: b } };
      assert.deepEqual(three._expanded, {
        next: { ...b, _expanded: { next: inner } },
        "all[]": [
          { ...b, _expanded: { next: a } },
          { ...a, _expanded: { next: b } },
        ],
      });
      const four = await client.get("/nodes/a?expand=next.next.next.next");
      assert.match(errorOf(four, "invalid-parameter"), /up to 3 references/);
    });

    it("rejects what is not a reference, and says what is", async () => {
      for (const [path, expected] of [
        ["/orders?expand=custmer", /"custmer".*: customer, lines\[\]\.product, ship\.to/],
        ["/orders/1?expand=", /customer, lines/],
        ["/orders/1?expand=lines", /customer, lines/],
        ["/orders?expand=customer.name", /"name" in "customer\.name".*: company/],
        ["/companies?expand=x", /has none/],
        ["/orders?expand=customer,customer", /twice/],
        [`/orders?expand=${Array.from({ length: 17 }, (_, n) => `f${n}`)}`, /up to 16/],
        ["/orders?expand=customer&since=0", /cannot be combined with since/],
      ] as const) {
        const answer = await client.get(path);
        assert.match(errorOf(answer, "invalid-parameter"), expected);
        assert.deepEqual(pointersOf(assertProblem(answer, "invalid-parameter")), ["expand"]);
      }
      const both = await query("/orders", { expand: ["customer", "lines"] });
      assert.deepEqual(pointersOf(assertProblem(both, "invalid-body")), ["/expand/1"]);
      const body = { customer: "ada" };
      assertProblem(await client.put("/orders/1?expand=customer", body), "invalid-parameter");
      ok(await client.get("/orders?expand[eq]=x"));
    });

    it("has an ETag that covers what is referred to", async () => {
      for (const path of [
        "/orders/1?expand=customer.company",
        "/orders?expand=customer.company",
        "/orders?limit=3&expand=customer.company",
      ])
        for (const headers of [{}, ndjson]) {
          if (path.startsWith("/orders/1") && headers === ndjson) continue;
          const read = (tag?: string | null) =>
            client.get(path, { ...headers, ...(tag && { "if-none-match": tag }) });
          const changes = [
            () => client.patch("/companies/acme", { name: `${path} 1` }),
            () => client.patch("/customers/ada", { name: `${path} 2` }),
            () => client.patch("/orders/1", { note: path }),
          ];
          for (const change of changes) {
            const tag = (await read()).headers.get("etag");
            assert.ok(tag);
            // The second is the first that can be repeated.
            for (let time = 0; time < 3; time++) {
              const same = await read(tag);
              assert.equal(same.status, 304);
              assert.equal(same.headers.get("last-modified"), null);
            }
            for (let time = 0; time < 2; time++) assert.equal((await read()).status, 200);
            ok(await change());
            const changed = await read(tag);
            assert.equal(changed.status, 200);
            assert.notEqual(changed.headers.get("etag"), tag);
          }
        }
      const tag = (await client.get("/orders/1?expand=customer")).headers.get("etag") ?? "";
      const date = new Date(Date.now() + 1000).toUTCString();
      const dated = await client.get("/orders/1?expand=customer", { "if-modified-since": date });
      assert.equal(dated.status, 200);
      const stale = await client.patch("/orders/1", { note: "x" }, { "if-match": tag });
      assertProblem(stale, "precondition-failed");
      const shown = await client.json<Shown>("/orders/1?expand=customer&fields=*,_etag");
      ok(await client.patch("/orders/1", { note: "x" }, { "if-match": String(shown._etag) }));
    });

    it("answers HEAD with the fields of a GET", async () => {
      for (const path of ["/orders/1?expand=customer", "/orders?expand=customer"]) {
        const head = await answerOf(app.request(path, { method: "HEAD" }));
        assert.equal(head.status, 200);
        assert.equal(head.body, "");
        assert.equal(
          head.headers.get("etag"),
          (await client.get(path, { "accept-encoding": "identity" })).headers.get("etag"),
        );
      }
    });

    it("shows null for what the caller may not read", async () => {
      await define("owned", { access: { read: "owner" }, references: { next: to("owned") } });
      await define("public", {
        access: { read: "public" },
        references: { own: to("owned"), customer: to("customers") },
      });
      const [one, two] = await Promise.all([
        app.token("owned:*", "public:*"),
        app.token("owned:*", "public:*"),
      ]);
      const [ada, bob] = [new Client(app, one), new Client(app, two)];
      const { id } = JSON.parse((await ada.post("/owned", { secret: "of Ada" })).body) as Shown;
      ok(await ada.put("/public/1", { own: id }));
      ok(await client.patch("/public/1", { customer: "ada" }));
      const paths = ["/public/1?expand=own.next,customer", "/public?expand=own.next,customer"];
      const show = async (reader: Client, path: string) => {
        const { headers, body, status } = await reader.get(path);
        assert.equal(status, 200, body);
        assert.equal(headers.get("cache-control"), "private, no-cache");
        assert.match(headers.get("vary") ?? "", /Authorization/);
        const read = JSON.parse(body) as Shown & Page;
        return { shown: (read.data?.[0] ?? read)._expanded, tag: headers.get("etag") ?? "" };
      };
      // Again, so that a prepared response of another caller would be seen.
      for (const path of paths)
        for (let time = 0; time < 3; time++) {
          const [all, own, other, none] = [
            await show(client, path),
            await show(ada, path),
            await show(bob, path),
            await show(new Client(app, null), path),
          ];
          assert.equal(shownIn([all.shown?.customer])[0]?.id, "ada");
          assert.equal(shownIn([own.shown?.own])[0]?.secret, "of Ada");
          assert.equal(own.shown?.customer, null);
          assert.deepEqual(other.shown, { own: null, customer: null });
          assert.deepEqual(none.shown, { own: null, customer: null });
          const stolen = await bob.get(path, { "if-none-match": own.tag });
          assert.equal(stolen.status, 200);
          assert.doesNotMatch(stolen.body, /of Ada/);
        }
      // Nothing about a collection that the caller may not read, not even its references.
      const hidden = await bob.json<Shown>("/public/1?expand=customer.anything");
      assert.deepEqual(hidden._expanded, { customer: null });
    });

    it("shows no elements of an array that the caller is not shown", async () => {
      await define("shelves", {
        access: {
          read: [
            { name: "all", to: "everyone", fields: ["name"] },
            { name: "open", to: "everyone", where: { open: true }, fields: ["books", "crates"] },
          ],
        },
        references: { "books[]": to("customers"), "crates[].of": to("customers") },
      });
      const members = { name: "A", books: ["ada"], crates: [{ of: "ada" }, {}] };
      ok(await client.put("/shelves/1", { ...members, open: true }));
      ok(await client.put("/shelves/2", members));
      const { data } = await new Client(app, null).json<Page>(
        "/shelves?expand=books[],crates[].of",
      );
      assert.deepEqual(
        data.map(({ _expanded }) => _expanded),
        [
          { "books[]": [null], "crates[].of": [null, null] },
          { "books[]": [], "crates[].of": [] },
        ],
      );
    });

    it("is public if everything in it is, for the shortest time", async () => {
      const access = { read: "public" };
      await define("shops", { access, cache: { maxAge: 60 } });
      await define("offers", {
        access,
        cache: { maxAge: 90 },
        references: { shop: to("shops"), customer: to("customers") },
      });
      const cacheOf = async (path: string) => (await client.get(path)).headers.get("cache-control");
      assert.equal(await cacheOf("/offers?expand=shop"), "public, max-age=60");
      assert.equal(await cacheOf("/offers?expand=shop,customer"), "private, no-cache");
    });

    it("follows the definitions as they change", async () => {
      await define("left", {});
      await define("right", { references: { to: to("left") } });
      ok(await client.put("/left/l", { name: "l" }));
      ok(await client.put("/right/r", { to: "l" }));
      for (const path of ["/right/r?expand=to", "/right?expand=to"]) {
        for (let time = 0; time < 3; time++) ok(await client.get(path));
        await define("left", { schema: { properties: { name: { writeOnly: true } } } });
        assert.doesNotMatch((await client.get(path)).body, /"name"/);
        await define("left", {});
        assert.match((await client.get(path)).body, /"name":"l"/);
      }
      await define("right", {});
      assertProblem(await client.get("/right?expand=to"), "invalid-parameter");
      ok(await client.remove("/left/l"));
      // Declared over what dangles.
      await define("right", { references: { to: to("left") } });
      const { _expanded } = await client.json<Shown>("/right/r?expand=to");
      assert.deepEqual(_expanded, { to: null });
    });

    it("is limited in bytes, and exports continue beyond", async () => {
      await define("big", {});
      await define("small", { references: { "big[]": to("big") } });
      const send = async (path: string, headers: Readonly<Record<string, string>> = {}) =>
        answerOf(
          fetch(app.url + path, {
            headers: {
              ...headers,
              "accept-encoding": "identity",
              authorization: `Bearer ${app.admin}`,
            },
          }),
        );
      const bigs = ["x", "y"];
      for (const id of bigs) ok(await client.put(`/big/${id}`, { text: id.repeat(800_000) }));
      await concurrently(22, (n) => client.put(`/small/s${n}`, { big: bigs }));
      for (const limit of [22, 1000]) {
        const problem = assertProblem(
          await send(`/small?limit=${limit}&expand=big[]`),
          "invalid-parameter",
        );
        assert.match(problem.detail, /32 MiB/);
        assert.match(problem.errors?.[0]?.detail ?? "", /smaller limit/);
      }
      const page = await send("/small?limit=20&expand=big[]");
      assert.equal(page.status, 200);
      assert.equal((JSON.parse(page.body) as Page).data.length, 20);
      const exported = await send("/small?expand=big[]", ndjson);
      assert.equal(exported.status, 200);
      assert.equal(exported.headers.get("etag"), null);
      const lines = linesOf(exported.body);
      assert.equal(lines.length, 22);
      for (const { _expanded } of lines)
        assert.deepEqual(
          shownIn(_expanded?.["big[]"]).map(({ id }) => id),
          bigs,
        );
    });

    it("finds many resources, up to a limit", async () => {
      await define("leaves", {});
      await define("trees", { references: { "leaves[]": to("leaves") } });
      const ids = Array.from({ length: 450 }, (_, n) => `l${n}`);
      const body = ids.map((id) => JSON.stringify({ name: id })).join("\n");
      ok(await client.post("/leaves", body, { "content-type": "application/x-ndjson" }));
      const { data } = await client.json<Page>("/leaves?limit=1000");
      ok(await client.put("/trees/t", { leaves: data.map(({ id }) => id) }));
      const tree = await client.json<Shown>("/trees/t?expand=leaves[]");
      assert.deepEqual(tree._expanded?.["leaves[]"], data);
      assert.deepEqual(
        data.map(({ name }) => name),
        ids,
      );
      // What dangles can only be there from before the reference was declared.
      await define("trees", {});
      const many = Array.from({ length: 10_001 }, (_, n) => `none${n}`);
      ok(await client.put("/trees/t", { leaves: many.slice(0, 10_000) }));
      ok(await client.put("/trees/u", { leaves: many }));
      await define("trees", { references: { "leaves[]": to("leaves") } });
      const nothing = await client.json<Shown>("/trees/t?expand=leaves[]");
      assert.deepEqual(nothing._expanded?.["leaves[]"], Array(10_000).fill(null));
      const problem = assertProblem(
        await client.get("/trees/u?expand=leaves[]"),
        "invalid-parameter",
      );
      assert.match(problem.detail, /more than 10000 expanded/);
    });
  });
}
