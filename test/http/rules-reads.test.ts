// Reads through rules: each caller sees the resources and fields that grants show it, and nothing else.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";
import { type Answer, answerOf, assertProblem } from "./expect.ts";

const access = {
  read: [
    {
      name: "published",
      to: "everyone",
      where: { status: "published" },
      fields: ["title", "body", "author", "status", "address.city"],
    },
    { name: "mine", to: "token", where: { author: "$me" } },
    { name: "watched", to: "token", where: { watcher: "$me" }, fields: ["title", "updatedAt"] },
  ],
  create: "token",
  update: "token",
  delete: "token",
};

const properties = {
  title: { type: "string" },
  body: { type: "string" },
  author: { type: "string" },
  watcher: { type: "string" },
  status: { type: "string" },
  salary: { type: "integer" },
  address: { type: "object", properties: { city: { type: "string" }, code: { type: "string" } } },
};

const definition = {
  schema: { type: "object", properties },
  indexed: ["title", "salary"],
  searchable: ["title"],
  access,
};

interface Listed {
  readonly data: readonly Readonly<Record<string, unknown>>[];
  readonly total: number;
  readonly next?: string | null;
}

const jsonOf = ({ status, body }: Answer): Readonly<Record<string, unknown>> => {
  assert.equal(status, 200, body);
  return JSON.parse(body);
};

const listOf = (answer: Answer): Listed => jsonOf(answer) as unknown as Listed;

const idsIn = (answer: Answer) => listOf(answer).data.map(({ id }) => id);

/** The same response, apart from what names the request. */
const withoutIds = ({ status, headers, body }: Answer) => {
  const fields = [...headers].filter(
    ([name]) => !["x-request-id", "date", "content-length"].includes(name),
  );
  const problem = JSON.parse(body);
  return { status, fields, problem: { ...problem, instance: "", requestId: "" } };
};

for (const store of storesHere("sqlite", ["sqlite", "postgres"])) {
  describe(`reads through rules, on ${store}`, () => {
    let app: TestApp;
    let admin: Client;
    let ann: Client;
    let bob: Client;
    let anyone: Client;

    const tokenOf = async (subject: string, ...scopes: string[]): Promise<Client> => {
      const made = await admin.post("/-/tokens", { name: subject, subject, scopes });
      assert.equal(made.status, 201, made.body);
      return new Client(app, JSON.parse(made.body).token);
    };

    const put = async (path: string, fields: object): Promise<void> => {
      const { status, body } = await admin.put(path, fields);
      assert.ok(status === 200 || status === 201, body);
    };

    const address = { city: "Bern", code: "3000" };
    const posts = {
      a1: { title: "alpha", body: "draft", author: "ann", status: "draft", salary: 7 },
      b1: { title: "beta", body: "draft", author: "bob", status: "draft", salary: 8 },
      p1: { title: "gamma", body: "x", author: "ann", status: "published", salary: 9, address },
      w1: { title: "delta", body: "y", author: "eve", watcher: "bob", status: "draft", salary: 1 },
    };

    before(async () => {
      app = await startApp(store === "postgres" ? { store } : {});
      admin = new Client(app);
      anyone = new Client(app, null);
      ann = await tokenOf("ann", "*:*");
      bob = await tokenOf("bob", "*:*");
      const defined = await admin.put("/-/collections/posts", definition);
      assert.equal(defined.status, 201, defined.body);
      for (const [id, fields] of Object.entries(posts)) await put(`/posts/${id}`, fields);
    });
    after(() => app.stop());

    it("shows one resource by the grants that hold", async () => {
      const whole = jsonOf(await ann.get("/posts/p1"));
      assert.equal(whole.salary, 9);
      assert.deepEqual(whole.address, address);
      assert.ok(typeof whole.updatedAt === "string");
      for (const caller of [anyone, bob]) {
        const { createdAt, ...shown } = jsonOf(await caller.get("/posts/p1"));
        assert.equal(typeof createdAt, "string");
        const { salary: _, address: __, ...fields } = posts.p1;
        assert.deepEqual(shown, { id: "p1", ...fields, address: { city: "Bern" } });
      }
      const watched = jsonOf(await bob.get("/posts/w1"));
      assert.deepEqual(Object.keys(watched), ["id", "title", "createdAt", "updatedAt"]);
      assert.deepEqual(jsonOf(await admin.get("/posts/a1")).salary, 7);
    });

    it("answers for a hidden resource as for a missing one", async () => {
      for (const [caller, id] of [
        [anyone, "a1"],
        [bob, "a1"],
        [ann, "w1"],
      ] as const)
        for (const path of ["", "?fields=title", "/file"]) {
          const hidden = await caller.get(`/posts/${id}${path}`);
          const missing = await caller.get(`/posts/n1${path}`);
          assertProblem(hidden, "not-found");
          assert.deepEqual(withoutIds(hidden), withoutIds(missing));
        }
    });

    it("lists what the caller sees, with its total", async () => {
      for (const [caller, ids] of [
        [anyone, ["p1"]],
        [ann, ["a1", "p1"]],
        [bob, ["b1", "p1", "w1"]],
        [admin, ["a1", "b1", "p1", "w1"]],
      ] as const)
        for (const query of ["", "?sort=title", "?limit=1000", "?total=none", "?cursor="]) {
          const answer = await caller.get(`/posts${query}`);
          assert.deepEqual(idsIn(answer).toSorted(), ids, query);
          if (!query.includes("=none")) assert.equal(listOf(answer).total, ids.length);
        }
      const shown = listOf(await bob.get("/posts")).data.map((each) => Object.keys(each).join());
      assert.deepEqual(shown, [
        "id,title,body,author,status,salary,createdAt,updatedAt",
        "id,title,body,author,status,address,createdAt",
        "id,title,createdAt,updatedAt",
      ]);
    });

    describe("validators", () => {
      const headOf = async (caller: Client, path: string) => (await caller.get(path)).headers;
      const tagOf = async (caller: Client, path: string) =>
        (await headOf(caller, path)).get("etag");

      it("of one resource change with what is shown, and with nothing else", async () => {
        const path = "/posts/p1";
        const before = { anyone: await tagOf(anyone, path), ann: await tagOf(ann, path) };
        assert.equal(await tagOf(bob, path), before.anyone);
        assert.notEqual(before.ann, before.anyone);
        assert.notEqual(before.ann, await tagOf(admin, path));
        const list = await tagOf(anyone, "/posts");
        await put(path, { ...posts.p1, salary: 10 });
        assert.equal(await tagOf(anyone, path), before.anyone);
        assert.equal(await tagOf(anyone, "/posts"), list);
        const again = await anyone.get("/posts", { "if-none-match": list ?? "" });
        assert.equal(again.status, 304);
        assert.notEqual(await tagOf(ann, path), before.ann);
        await put(path, { ...posts.p1, title: "other" });
        assert.notEqual(await tagOf(anyone, path), before.anyone);
        assert.notEqual(await tagOf(anyone, "/posts"), list);
        await put(path, posts.p1);
        assert.equal(await tagOf(anyone, path), before.anyone);
      });

      it("do not show revisions to who sees a part", async () => {
        for (const caller of [anyone, ann, bob])
          assert.doesNotMatch((await tagOf(caller, "/posts/p1")) ?? "", /^"[0-9a-z]+-[0-9a-z]+"/);
        assert.match((await tagOf(admin, "/posts/p1")) ?? "", /^"[0-9a-z]+-[0-9a-z]+"/);
      });

      it("answer 304 to the same view, and 200 to another", async () => {
        for (const caller of [anyone, ann, bob, admin]) {
          const headers = { "if-none-match": (await tagOf(caller, "/posts/p1")) ?? "" };
          assert.equal((await caller.get("/posts/p1", headers)).status, 304);
        }
        const headers = { "if-none-match": (await tagOf(ann, "/posts/p1")) ?? "" };
        for (const caller of [anyone, bob, admin])
          assert.equal((await caller.get("/posts/p1", headers)).status, 200);
      });

      it("are dates only where the time is shown", async () => {
        const dateOf = async (caller: Client, path: string) =>
          (await headOf(caller, path)).get("last-modified") !== null;
        assert.equal(await dateOf(anyone, "/posts/p1"), false);
        assert.equal(await dateOf(ann, "/posts/p1"), true);
        assert.equal(await dateOf(bob, "/posts/w1"), true);
        assert.equal(await dateOf(bob, "/posts"), false);
        assert.equal(await dateOf(admin, "/posts"), true);
        const since = { "if-modified-since": "Fri, 01 Jan 2100 00:00:00 GMT" };
        assert.equal((await anyone.get("/posts/p1", since)).status, 200);
        assert.equal((await ann.get("/posts/a1", since)).status, 304);
      });

      it("match If-Match in any view of the current state", async () => {
        await put("/posts/p1", posts.p1);
        const tags = await Promise.all(
          [anyone, ann, admin].map((caller) => tagOf(caller, "/posts/p1")),
        );
        for (const caller of [anyone, ann, bob, admin])
          for (const tag of tags) {
            const answer = await caller.get("/posts/p1", { "if-match": tag ?? "" });
            assert.equal(answer.status, 200, tag ?? "");
          }
        for (const caller of [anyone, ann, admin]) {
          const tag = await tagOf(caller, "/posts/p1");
          const changed = await ann.patch("/posts/p1", { body: "x" }, { "if-match": tag ?? "" });
          assert.equal(changed.status, 200, changed.body);
          await put("/posts/p1", posts.p1);
        }
        const { body } = await ann.patch(
          "/posts/p1",
          { title: "z" },
          { "if-match": tags[0] ?? "" },
        );
        assert.equal(JSON.parse(body).title, "z");
        const stale = await ann.patch("/posts/p1", { title: "y" }, { "if-match": tags[0] ?? "" });
        assertProblem(stale, "precondition-failed");
        for (const tag of ['"v0_x"', '"vzzzz_x"', '"v1_AAAAAAAAAAAAAAAAAAAAAA"'])
          assertProblem(await anyone.get("/posts/p1", { "if-match": tag }), "precondition-failed");
        await put("/posts/p1", posts.p1);
      });

      it("are public only where everyone sees the same, and private for admins", async () => {
        const cachingOf = async (caller: Client, path: string) => {
          const headers = await headOf(caller, path);
          const isByCaller = /\bAuthorization\b/.test(headers.get("vary") ?? "");
          return `${headers.get("cache-control")}${isByCaller ? ", by caller" : ""}`;
        };
        const [published] = access.read;
        const open = { ...definition, access: { ...access, read: [published] } };
        await put("/-/collections/news", { ...open, cache: { maxAge: 60 } });
        await put("/news/n1", posts.p1);
        for (const path of ["/news", "/news/n1", "/news?sort=title"]) {
          for (const caller of [anyone, bob])
            assert.equal(await cachingOf(caller, path), "public, max-age=60");
          assert.equal(await cachingOf(admin, path), "private, no-cache, by caller");
        }
        for (const path of ["/posts", "/posts/p1"]) {
          for (const caller of [bob, admin])
            assert.equal(await cachingOf(caller, path), "private, no-cache, by caller");
          assert.equal(await cachingOf(anyone, path), "public, no-cache, by caller");
        }
      });
    });

    describe("conditions, sort orders and searches", () => {
      const foundBy = async (caller: Client, query: string) =>
        idsIn(await caller.get(`/posts?${query}`)).toSorted();

      it("count a field as missing where it is not shown", async () => {
        // Each is found by an admin.
        assert.deepEqual(await foundBy(admin, "salary[gte]=8"), ["b1", "p1"]);
        assert.deepEqual(await foundBy(anyone, "salary=9"), []);
        assert.deepEqual(await foundBy(anyone, "salary[gte]=0"), []);
        assert.deepEqual(await foundBy(bob, "salary[gte]=0"), ["b1"]);
        assert.deepEqual(await foundBy(ann, "salary[gte]=0"), ["a1", "p1"]);
        assert.deepEqual(await foundBy(anyone, "salary[ne]=9"), ["p1"]);
        assert.deepEqual(await foundBy(bob, "salary[ne]=8"), ["p1", "w1"]);
        assert.deepEqual(await foundBy(bob, "salary[exists]=false"), ["p1", "w1"]);
        assert.deepEqual(await foundBy(bob, "watcher=bob"), []);
        assert.deepEqual(await foundBy(bob, "address.city=Bern"), ["p1"]);
        assert.deepEqual(await foundBy(bob, "address.code=3000"), []);
        const where = (value: object) => `where=${encodeURIComponent(JSON.stringify(value))}`;
        const not = where({ $not: { salary: { gte: 0 } } });
        assert.deepEqual(await foundBy(bob, not), ["p1", "w1"]);
        const either = where({ $or: [{ salary: 9 }, { title: "beta" }] });
        assert.deepEqual(await foundBy(bob, either), ["b1"]);
        assert.deepEqual(await foundBy(bob, "updatedAt[exists]=true"), ["b1", "w1"]);
      });

      it("by fields that are not always shown are unknown fields", async () => {
        const unknown = async (caller: Client, query: string, name: string) => {
          const answer = await caller.get(`/posts?${query}`);
          const { errors = [] } = assertProblem(answer, "invalid-parameter");
          const [{ parameter, detail } = { parameter: "", detail: "" }] = errors;
          assert.equal(parameter, name);
          assert.match(detail, /^there is no field /);
          assert.doesNotMatch(detail.replace(/^[^;]*;/, ""), /salary|watcher|code/);
        };
        await unknown(anyone, "sort=salary", "sort");
        await unknown(anyone, "sort=-updatedAt", "sort");
        await unknown(anyone, "aggregate=sum(salary)", "aggregate");
        await unknown(anyone, "aggregate=count&by=salary", "by");
        await unknown(anyone, "fields=unknown", "fields");
        const sorted = await bob.get("/posts?sort=salary");
        assert.match(sorted.body, /its fields are: id, title, createdAt"/);
        assert.equal(
          assertProblem(await bob.get("/posts?sort=celery"), "invalid-parameter").errors?.[0]
            ?.detail,
          JSON.parse(sorted.body).errors[0].detail.replace("salary", "celery"),
        );
        assertProblem(sorted, "invalid-parameter");
        assert.deepEqual(idsIn(await bob.get("/posts?sort=title")), ["b1", "w1", "p1"]);
        assert.deepEqual(idsIn(await admin.get("/posts?sort=salary")), ["w1", "a1", "b1", "p1"]);
      });

      it("find and count only what is seen", async () => {
        assert.deepEqual(await foundBy(anyone, "q=gamma"), ["p1"]);
        assert.deepEqual(await foundBy(anyone, "q=alpha"), []);
        assert.deepEqual(await foundBy(bob, "q=d*"), ["w1"]);
        const hidden = { ...definition, searchable: ["title", "salary"] };
        await put("/-/collections/drafts", hidden);
        await put("/drafts/p1", posts.p1);
        assertProblem(await anyone.get("/drafts?q=gamma"), "invalid-parameter");
        assert.equal(listOf(await admin.get("/drafts?q=gamma")).total, 1);
        for (const [caller, count] of [
          [anyone, 1],
          [ann, 2],
          [bob, 3],
          [admin, 4],
        ] as const) {
          const [group] = listOf(await caller.get("/posts?aggregate=count")).data;
          assert.deepEqual(group, { count });
        }
        const groups = listOf(await bob.get("/posts?aggregate=count&by=title")).data;
        assert.deepEqual(
          groups.map(({ title }) => title),
          ["beta", "delta", "gamma"],
        );
      });

      it("tell nothing about the type of a field that is never shown", async () => {
        for (const test of [
          "=x",
          "[gt]=x",
          "[ne]=x",
          "[in]=1,x",
          "[exists]=true",
          "[exists]=false",
        ]) {
          const [number, words] = await Promise.all(
            ["salary", "watcher"].map((field) => anyone.get(`/posts?${field}${test}`)),
          );
          assert.ok(number !== undefined && words !== undefined);
          assert.deepEqual([number.status, number.body], [200, words.body], test);
        }
        assertProblem(await bob.get("/posts?salary=x"), "invalid-parameter");
      });

      it("show the named fields that are readable", async () => {
        const one = jsonOf(await anyone.get("/posts/p1?fields=title,salary,address"));
        assert.deepEqual(one, { id: "p1", title: "gamma", address: { city: "Bern" } });
        const [first] = listOf(await anyone.get("/posts?fields=salary,_etag")).data;
        const etag = await anyone.tag("/posts/p1");
        assert.deepEqual(first, { id: "p1", _etag: etag });
      });
    });

    describe("other forms", () => {
      it("exports what is seen", async () => {
        const ndjson = await bob.get("/posts", { accept: "application/x-ndjson" });
        const rows = ndjson.body
          .trim()
          .split("\n")
          .map((line) => Object.keys(JSON.parse(line)).join());
        assert.deepEqual(rows, [
          "id,title,body,author,status,salary,createdAt,updatedAt",
          "id,title,body,author,status,address,createdAt",
          "id,title,createdAt,updatedAt",
        ]);
        const csv = await anyone.get("/posts", { accept: "text/csv" });
        const [head, row, ...more] = csv.body.trim().split("\r\n");
        assert.equal(head, "id,title,body,author,status,address,createdAt");
        assert.match(row ?? "", /^p1,gamma,x,ann,published,/);
        assert.doesNotMatch(csv.body, /3000/);
        assert.deepEqual(more, []);
      });

      it("lists by cursors that show no positions", async () => {
        const first = listOf(await bob.get("/posts?cursor=&limit=1"));
        const next = first.next ?? "";
        assert.throws(() => JSON.parse(Buffer.from(next, "base64url").toString()), SyntaxError);
        assert.equal(listOf(await bob.get("/posts?cursor=&limit=1")).next, next);
        assert.deepEqual(idsIn(await bob.get(`/posts?cursor=${next}&limit=1`)), ["p1"]);
        assertProblem(await ann.get(`/posts?cursor=${next}&limit=1`), "invalid-parameter");
        assertProblem(
          await bob.get(`/posts?cursor=${next}&limit=1&sort=title`),
          "invalid-parameter",
        );
        assertProblem(await bob.get("/posts?cursor=abc&limit=1"), "invalid-parameter");
        const seen: unknown[] = [];
        for (let cursor: string | null = ""; cursor !== null; ) {
          const page = listOf(await bob.get(`/posts?sort=-title&limit=1&cursor=${cursor}`));
          seen.push(...page.data.map(({ id }) => id));
          cursor = page.next ?? null;
        }
        assert.deepEqual(seen, ["p1", "w1", "b1"]);
      });

      it("answers QUERY with what is seen", async () => {
        const headers = { "content-type": "application/json" };
        const query = (token: string | null, body: object) =>
          answerOf(
            app.request("/posts", { method: "QUERY", token, headers, body: JSON.stringify(body) }),
          );
        const anyone = null;
        assert.deepEqual(idsIn(await query(anyone, { where: { title: "gamma" } })), ["p1"]);
        assert.deepEqual(idsIn(await query(anyone, { where: { salary: 9 } })), []);
        const rejected = await query(anyone, { sort: ["salary"] });
        assertProblem(rejected, "invalid-body");
      });

      it("shows files whose member is shown", async () => {
        const grants = [{ name: "all", to: "everyone", fields: ["photo"] }];
        await put("/-/collections/albums", { access: { read: grants } });
        const form = new FormData();
        form.set("title", "x");
        form.set("photo", new File(["a"], "a.txt", { type: "text/plain" }));
        form.set("scan", new File(["b"], "b.txt", { type: "text/plain" }));
        const made = await app.request("/albums", { method: "POST", body: form });
        const { id } = (await made.json()) as { id: string };
        const shown = jsonOf(await anyone.get(`/albums/${id}`));
        assert.deepEqual(Object.keys(shown), ["id", "photo", "createdAt"]);
        assert.equal((await anyone.get(`/albums/${id}/photo`)).body, "a");
        const hidden = await anyone.get(`/albums/${id}/scan`);
        assert.deepEqual(withoutIds(hidden), withoutIds(await anyone.get(`/albums/${id}/none`)));
        assert.equal((await admin.get(`/albums/${id}/scan`)).body, "b");
      });
    });

    describe("other collections", () => {
      before(async () => {
        const people = { type: "object", properties: { name: { type: "string" } } };
        const seen = [
          { name: "open", to: "everyone", where: { kind: "open" }, fields: ["name", "boss"] },
          { name: "self", to: "token", where: { user: "$me" } },
        ];
        const user = { type: "string" };
        await put("/-/collections/people", {
          schema: {
            ...people,
            properties: { ...people.properties, ...{ kind: user, user, boss: user, pay: user } },
          },
          references: { boss: { collection: "people" } },
          access: { read: seen },
        });
        await put("/people/eve", { name: "Eve", kind: "open", user: "eve", pay: "high" });
        const inner = { kind: "secret", user: "bob", boss: "eve", pay: "low" };
        await put("/people/bob", { name: "Bob", ...inner });
        const shown = [
          { name: "titles", to: "everyone", where: { secret: false }, fields: ["title", "by"] },
          { name: "short", to: "everyone", where: { secret: true }, fields: ["title"] },
        ];
        const properties = {
          ...{ title: { type: "string" }, by: { type: "string" }, secret: { type: "boolean" } },
        };
        await put("/-/collections/books", {
          schema: { type: "object", properties },
          references: { by: { collection: "people" } },
          access: { read: shown },
        });
        await put("/books/1", { title: "one", by: "eve", secret: false });
        await put("/books/2", { title: "two", by: "bob", secret: false });
        await put("/books/3", { title: "three", by: "eve", secret: true });
      });

      it("expands what is seen, through references that are shown", async () => {
        const expandedFor = async (caller: Client) =>
          listOf(await caller.get("/books?expand=by")).data.map(({ _expanded }) => {
            const { by } = _expanded as { by: Readonly<Record<string, unknown>> | null };
            return by && Object.keys(by).join();
          });
        const part = "id,name,createdAt";
        assert.deepEqual(await expandedFor(anyone), [part, null, null]);
        assert.deepEqual(await expandedFor(bob), [
          part,
          "id,name,kind,user,boss,pay,createdAt,updatedAt",
          null,
        ]);
        const one = jsonOf(await bob.get("/books/2?expand=by.boss"));
        const { by } = one._expanded as { by: { _expanded: { boss: object } } };
        assert.deepEqual(Object.keys(by._expanded.boss).join(), part);
        assert.deepEqual(jsonOf(await bob.get("/books/3?expand=by"))._expanded, { by: null });
        const lines = await anyone.get("/books?expand=by", { accept: "application/x-ndjson" });
        assert.doesNotMatch(lines.body, /pay|secret|Bob/);
      });

      it("answers conditions across references by what is seen there", async () => {
        const foundBy = async (caller: Client, query: string) =>
          idsIn(await caller.get(`/books?${query}`)).toSorted();
        assert.deepEqual(await foundBy(admin, "by.name=Eve"), ["1", "3"]);
        assert.deepEqual(await foundBy(anyone, "by.name=Eve"), ["1"]);
        assert.deepEqual(await foundBy(anyone, "by.name=Bob"), []);
        assert.deepEqual(await foundBy(bob, "by.name=Bob"), ["2"]);
        assert.deepEqual(await foundBy(anyone, "by.pay=high"), []);
        assert.deepEqual(await foundBy(bob, "by.pay=low"), ["2"]);
        assert.deepEqual(await foundBy(anyone, "by.name[ne]=Eve"), ["2", "3"]);
        assert.deepEqual(await foundBy(bob, "by.boss.name=Eve"), ["2"]);
        assert.deepEqual(await foundBy(anyone, "by.boss.name=Eve"), []);
        const explained = async (field: string) => {
          const answer = await anyone.get(`/books?sort=${field}`);
          return assertProblem(answer, "invalid-parameter").errors?.[0]?.detail ?? "";
        };
        // As if there were none, and the reference, which is not always shown, is not named.
        for (const field of ["by.name", "by", "by.pay"]) {
          const detail = await explained(field);
          assert.match(
            detail,
            /^there is no field "by[.a-z]*" in this collection; its fields are: /,
          );
          assert.doesNotMatch(detail.slice(detail.indexOf(";")), /\bby\b/);
          const unknown = field.replace("by", "zz");
          assert.equal((await explained(unknown)).replace(unknown, field), detail);
        }
        assert.equal((await admin.get("/books?sort=by.name")).status, 200);
      });

      it("decides by what a resource refers to", async () => {
        const mine = { name: "mine", to: "token", where: { "by.user": "$me" } };
        const open = { name: "open", to: "everyone", where: { "by.kind": "open" } };
        const properties = { title: { type: "string" }, by: { type: "string" } };
        await put("/-/collections/notes", {
          schema: { type: "object", properties },
          references: { by: { collection: "people" } },
          access: { read: [mine, { ...open, fields: ["title"] }] },
        });
        await put("/notes/1", { title: "one", by: "eve" });
        await put("/notes/2", { title: "two", by: "bob" });
        const shownTo = async (caller: Client) => {
          const { data, total } = listOf(await caller.get("/notes"));
          assert.equal(total, data.length);
          for (const { id, ...fields } of data)
            assert.deepEqual(jsonOf(await caller.get(`/notes/${id}`)), { id, ...fields });
          return data.map(({ id, by }) => `${id} ${by}`);
        };
        assert.deepEqual(await shownTo(anyone), ["1 undefined"]);
        assert.deepEqual(await shownTo(bob), ["1 undefined", "2 bob"]);
        const etag = await anyone.tag("/notes");
        await put("/people/bob", { name: "Bob", kind: "open", user: "eve" });
        assert.deepEqual(await shownTo(anyone), ["1 undefined", "2 undefined"]);
        assert.deepEqual(await shownTo(bob), ["1 undefined", "2 undefined"]);
        assert.notEqual(await anyone.tag("/notes"), etag);
        await put("/people/eve", { name: "Eve", kind: "shut", user: "bob" });
        assertProblem(await anyone.get("/notes/1"), "not-found");
        assert.deepEqual(await shownTo(bob), ["1 eve", "2 undefined"]);
      });
    });

    it("repeats a response only while the caller sees the same", async () => {
      const read = [
        { name: "mine", to: "token", where: { user: "$me" } },
        { name: "open", to: "everyone", where: { isOpen: true }, fields: ["title"] },
      ];
      await put("/-/collections/cards", { access: { read } });
      await put("/cards/1", { title: "a", user: "ann", isOpen: true });
      const keysOf = async (caller: Client, path: string) => {
        const { status, body } = await caller.get(path);
        return status === 200 ? body.replace(/"(createdAt|updatedAt)":"[^"]*"/g, "$1") : status;
      };
      const shownTo = async () => {
        const all: unknown[] = [];
        // Twice, so that each is repeated.
        for (const path of ["/cards/1", "/cards", "/cards/1", "/cards"])
          for (const caller of [anyone, ann, bob, admin]) all.push(await keysOf(caller, path));
        assert.deepEqual(all.slice(0, 8), all.slice(8));
        return all.slice(0, 4).map((each) => `${each}`.includes("user") || each);
      };
      const part = '{"id":"1","title":"a",createdAt}';
      assert.deepEqual(await shownTo(), [part, true, part, true]);
      await put("/cards/1", { title: "a", user: "bob", isOpen: true });
      assert.deepEqual(await shownTo(), [part, part, true, true]);
      await put("/cards/1", { title: "a", user: "bob", isOpen: false });
      assert.deepEqual(await shownTo(), [404, 404, true, true]);
      await put("/-/collections/cards", { access: { read: [read[1]] } });
      assert.deepEqual(await shownTo(), [404, 404, 404, true]);
      await put("/-/collections/cards", { access: { read: "token" } });
      assert.deepEqual(await shownTo(), [401, true, true, true]);
    });

    it("shows what is due by now", async () => {
      const due = { name: "due", to: "everyone", where: { from: { lte: "$now" } } };
      const from = { type: "string", format: "date-time" };
      const schema = { type: "object", properties: { from } };
      await put("/-/collections/offers", { schema, access: { read: [due] } });
      await put("/offers/past", { from: "2020-01-01T00:00:00Z" });
      await put("/offers/future", { from: "2999-01-01T00:00:00Z" });
      const soon = new Date(Date.now() + 300);
      await put("/offers/soon", { from: soon.toISOString() });
      const isShown = async () => idsIn(await anyone.get("/offers")).includes("soon");
      while (!(await isShown()) || (await anyone.get("/offers/soon")).status !== 200) {
        await sleep(20);
      }
      assert.ok(Date.now() >= soon.getTime());
      assert.deepEqual(idsIn(await anyone.get("/offers")), ["past", "soon"]);
      const [first, second] = [
        await anyone.get("/offers?cursor=&limit=1"),
        "/offers?limit=1&cursor=",
      ];
      assert.deepEqual(idsIn(await anyone.get(second + listOf(first).next)), ["soon"]);
    });

    it("lists the verbs that a caller can use in the OpenAPI document", async () => {
      const pathsFor = async (caller: Client) => {
        const { paths } = jsonOf(await caller.get("/-/openapi.json")) as {
          paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
        };
        return Object.keys(paths["/posts"] ?? {}).filter((name) => name !== "parameters");
      };
      assert.ok((await pathsFor(bob)).includes("post"));
      const forAnyone = await pathsFor(anyone);
      assert.ok(forAnyone.includes("get"), forAnyone.join());
      assert.ok(!forAnyone.includes("post"));
    });

    it("is 401 or 403 for a caller to whom no grant can apply", async () => {
      const read = [{ name: "mine", to: "token", where: { author: "$me" } }];
      await put("/-/collections/diaries", { access: { read } });
      await put("/diaries/1", { author: "ann" });
      const other = await tokenOf("eve", "posts:read");
      for (const path of ["/diaries", "/diaries/1", "/diaries/none"]) {
        assertProblem(await anyone.get(path), "unauthenticated");
        assertProblem(await other.get(path), "insufficient-scope");
      }
      assert.deepEqual(idsIn(await bob.get("/diaries")), []);
      assert.deepEqual(idsIn(await ann.get("/diaries")), ["1"]);
    });

    it("gives validators and cursors to owners that do not show how much others write", async () => {
      const read = "owner";
      await put("/-/collections/tasks", { access: { read, update: read, delete: read } });
      for (const id of ["1", "2", "3"])
        assert.equal((await ann.put(`/tasks/${id}`, { n: id })).status, 201);
      const tag = await ann.tag("/tasks/1");
      assert.doesNotMatch(tag, /^"[0-9a-z]+-[0-9a-z]+"/);
      assert.equal((await ann.get("/tasks/1", { "if-none-match": tag })).status, 304);
      const next = listOf(await ann.get("/tasks?cursor=&limit=2")).next ?? "";
      assert.throws(() => JSON.parse(Buffer.from(next, "base64url").toString()), SyntaxError);
      assert.deepEqual(idsIn(await ann.get(`/tasks?limit=2&cursor=${next}`)), ["3"]);
      assertProblem(await bob.get(`/tasks?limit=2&cursor=${next}`), "invalid-parameter");
      const changed = await ann.patch("/tasks/1", { n: 2 }, { "if-match": tag });
      assert.equal(changed.status, 200, changed.body);
      assert.equal(changed.headers.get("etag"), await ann.tag("/tasks/1"));
      assertProblem(
        await ann.patch("/tasks/1", { n: 3 }, { "if-match": tag }),
        "precondition-failed",
      );
      const whole = await admin.tag("/tasks/1");
      assert.equal((await ann.patch("/tasks/1", { n: 3 }, { "if-match": whole })).status, 200);
    });

    it("lists large pages of what is shown", async () => {
      const read = [{ name: "titles", to: "everyone", fields: ["title", "text"] }];
      await put("/-/collections/scrolls", { access: { read } });
      const text = "x".repeat(200_000);
      for (const id of ["1", "2", "3"]) await put(`/scrolls/${id}`, { title: id, text, pin: id });
      const first = await anyone.get("/scrolls");
      assert.deepEqual(
        listOf(first).data.map((each) => Object.keys(each).join()),
        Array.from({ length: 3 }, () => "id,title,text,createdAt"),
      );
      const tag = first.headers.get("etag") ?? "";
      await put("/scrolls/2", { title: "2", text, pin: "other" });
      assert.equal((await anyone.get("/scrolls", { "if-none-match": tag })).status, 304);
      await put("/scrolls/2", { title: "two", text, pin: "other" });
      assert.equal((await anyone.get("/scrolls", { "if-none-match": tag })).status, 200);
    });

    it("shows a team what is the team's, as long as a caller is in it", async () => {
      const text = { type: "string" };
      const memberships = { type: "object", properties: { user: text, team: text } };
      await put("/-/collections/memberships", { schema: memberships });
      const teams = { collection: "memberships", where: { user: "$me" }, field: "team" };
      await put("/-/access", { roles: {}, sets: { teams } });
      const team = { name: "team", to: "token", where: { team: { in: "$my.teams" } } };
      const plans = { type: "object", properties: { title: text, team: text } };
      await put("/-/collections/plans", { schema: plans, access: { read: [team] } });
      await put("/plans/1", { title: "one", team: "red" });
      await put("/plans/2", { title: "two", team: "blue" });
      const seenBy = async (caller: Client) => {
        const ids = idsIn(await caller.get("/plans"));
        for (const id of ["1", "2"])
          assert.equal((await caller.get(`/plans/${id}`)).status, ids.includes(id) ? 200 : 404);
        const filtered = idsIn(await caller.get("/plans?team[exists]=true&sort=title"));
        assert.deepEqual(filtered, ids);
        return ids;
      };
      assertProblem(await anyone.get("/plans"), "unauthenticated");
      assert.deepEqual(await seenBy(bob), []);
      await put("/memberships/1", { user: "bob", team: "red" });
      assert.deepEqual(await seenBy(bob), ["1"]);
      assert.deepEqual(await seenBy(ann), []);
      const tag = await bob.tag("/plans");
      await put("/memberships/2", { user: "ann", team: "blue" });
      assert.equal(await bob.tag("/plans"), tag);
      assert.deepEqual(await seenBy(ann), ["2"]);
      await put("/memberships/3", { user: "bob", team: "blue" });
      assert.deepEqual(await seenBy(bob), ["1", "2"]);
      assert.equal((await admin.remove("/memberships/1")).status, 204);
      assert.deepEqual(await seenBy(bob), ["2"]);
      assert.notEqual(await bob.tag("/plans"), tag);
    });
  });
}
