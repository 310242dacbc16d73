// Writes to collections with rules by every other way: batch, NDJSON, CSV, forms, uploads, upserts, keys and actions.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client, pointersOf } from "./client.ts";
import { type Answer, assertProblem } from "./expect.ts";
import { file, form, text as formText } from "./multipart.ts";

type Fields = Readonly<Record<string, unknown>>;

const text = { type: "string" };
const posts = {
  schema: {
    type: "object",
    properties: {
      ...{ slug: text, title: text, author: text, status: text, secret: text, photo: {} },
      views: { type: "integer" },
    },
  },
  unique: ["slug"],
  access: {
    read: [
      { name: "out", to: "token", where: { status: "out" }, fields: ["slug", "title", "status"] },
      { name: "mine", to: "token", where: { author: "$me" } },
    ],
    create: [
      {
        ...{ name: "author", to: "token", fields: ["slug", "title", "photo", "views"] },
        set: { author: "$me", status: "draft" },
      },
    ],
    update: [
      {
        ...{ name: "own", to: "token", where: { author: "$me", status: "draft" } },
        fields: ["slug", "title", "status", "views"],
      },
      { name: "correct", to: "token", where: { status: "out" }, fields: ["title"] },
    ],
    delete: [{ name: "own", to: "token", where: { author: "$me", status: "draft" } }],
  },
};

const ndjson = { "content-type": "application/x-ndjson" };
const csv = { "content-type": "text/csv" };

interface Line {
  readonly status: number;
  readonly problem?: { readonly errors?: readonly { readonly pointer: string }[] };
}

const linesOf = ({ status, body }: Answer): readonly Line[] => {
  assert.equal(status, 200, body);
  return body
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
};

const actions = fileURLToPath(new URL("actions", import.meta.url));

for (const store of storesHere("sqlite", ["sqlite", "postgres"])) {
  describe(`other ways to write by rules, on ${store}`, () => {
    let app: TestApp;
    let admin: Client;
    let ann: Client;
    let bob: Client;
    const clientOf = async (subject: string, ...scopes: string[]) => {
      const made = await admin.post("/-/tokens", { name: subject, subject, scopes });
      assert.equal(made.status, 201, made.body);
      return new Client(app, JSON.parse(made.body).token);
    };
    const stored = (path: string) => admin.json<Fields>(path);
    const seed = async (path: string, fields: Fields) => {
      const { status, body } = await admin.put(path, fields);
      assert.ok(status < 300, body);
    };
    const bySlug = async (slug: string) =>
      (await admin.json<{ data: Fields[] }>(`/posts?slug=${slug}`)).data[0];

    before(async () => {
      app = await startApp({ actions, ...(store === "postgres" && { store }) });
      admin = new Client(app);
      const { status, body } = await admin.put("/-/collections/posts", posts);
      assert.equal(status, 201, body);
      ann = await clientOf("ann", "posts:*", "action:*");
      bob = await clientOf("bob", "posts:*");
    });
    after(() => app.stop());

    describe("a batch", () => {
      before(async () => {
        await seed("/posts/b1", { slug: "b1", author: "ann", status: "draft" });
        await seed("/posts/b2", { slug: "b2", author: "ann", status: "out", secret: "s" });
      });
      const patch = (id: string, body: unknown) => ({
        method: "PATCH",
        path: `/posts/${id}`,
        body,
      });

      it("does all or nothing, with the pointers of the fields", async () => {
        const operations = [patch("b2", { title: "x" }), patch("b2", { slug: "y" })];
        const problem = await admin.rejects("posts", "forbidden", () => bob.batch(operations));
        assert.deepEqual(pointersOf(problem), ["/operations/1/body/slug"]);
        const hidden = [patch("b2", { title: "x" }), patch("b1", { title: "y" })];
        await admin.rejects("posts", "not-found", () => bob.batch(hidden));
        const removal = [{ method: "DELETE", path: "/posts/b2" }];
        await admin.rejects("posts", "forbidden", () => bob.batch(removal));
      });

      it("shows each result as the caller sees it", async () => {
        const operations = [
          patch("b2", { title: "new" }),
          { method: "POST", path: "/posts", body: { slug: "made" } },
        ];
        const { status, body } = await bob.batch(operations);
        assert.equal(status, 200, body);
        const [changed, made] = JSON.parse(body).results;
        assert.deepEqual(Object.keys(changed.body).sort(), [
          ...["createdAt", "id", "slug", "status", "title"],
        ]);
        assert.equal(made.body.author, "bob");
        assert.equal((await stored("/posts/b2")).secret, "s");
      });

      it("decides each operation on what the operations before it leave", async () => {
        const submit = patch("b1", { status: "out" });
        const more = [submit, patch("b1", { status: "draft" })];
        const problem = await admin.rejects("posts", "forbidden", () => ann.batch(more));
        assert.deepEqual(pointersOf(problem), ["/operations/1/body/status"]);
        const done = await ann.batch([submit, patch("b1", { title: "t" })]);
        assert.equal(done.status, 200, done.body);
        const removed = [{ method: "DELETE", path: "/posts/b1" }];
        await admin.rejects("posts", "forbidden", () => ann.batch(removed));
      });
    });

    describe("NDJSON and CSV", () => {
      it("decide each line", async () => {
        const lines = [
          '{"slug":"n1"}',
          '{"slug":"n2","author":"ann"}',
          '{"slug":"n3","secret":"x"}',
        ];
        const results = linesOf(await bob.post("/posts", lines.join("\n"), ndjson));
        assert.deepEqual(
          results.map(({ status, problem }) => [status, problem?.errors?.[0]?.pointer]),
          [
            [201, undefined],
            [403, "/author"],
            [403, "/secret"],
          ],
        );
        assert.equal((await bySlug("n1"))?.author, "bob");
        assert.equal(await bySlug("n2"), undefined);
        const rows = linesOf(await bob.post("/posts", "slug,views\nc1,1\nc2,2\n", csv));
        assert.deepEqual(
          rows.map(({ status }) => status),
          [201, 201],
        );
        const { author, status, views } = (await bySlug("c2")) ?? {};
        assert.deepEqual([author, status, views], ["bob", "draft", 2]);
      });

      it("write all or nothing with atomic=true", async () => {
        const rows = "slug,author\na1,bob\na2,ann\n";
        const problem = await admin.rejects("posts", "forbidden", () =>
          bob.post("/posts?atomic=true", rows, csv),
        );
        assert.deepEqual(pointersOf(problem), ["/3/author"]);
      });

      it("try without writing with dry-run=true", async () => {
        const before = await admin.state("posts");
        const lines = '{"slug":"d1"}\n{"slug":"d2","author":"ann"}\n';
        const results = linesOf(await bob.post("/posts?dry-run=true", lines, ndjson));
        assert.deepEqual(
          results.map(({ status }) => status),
          [201, 403],
        );
        assert.deepEqual(await admin.state("posts"), before);
      });

      it("replace by the grants of update, and keep what is not seen", async () => {
        await seed("/posts/k1", { slug: "k1", author: "bob", status: "draft", secret: "s" });
        await seed("/posts/k2", { slug: "k2", author: "ann", status: "draft", secret: "s" });
        await seed("/posts/k3", { slug: "k3", author: "ann", status: "out", secret: "s" });
        const rows = [
          '{"slug":"k1","title":"new","author":"bob","status":"draft","secret":"s"}',
          '{"slug":"k2","title":"new"}',
          '{"slug":"k3","title":"new","status":"out"}',
          '{"slug":"k3","title":"new","status":"draft"}',
          '{"slug":"k4","title":"new"}',
        ];
        const results = linesOf(await bob.post("/posts?key=slug", rows.join("\n"), ndjson));
        assert.deepEqual(
          results.map(({ status }) => status),
          [200, 409, 200, 403, 201],
        );
        const byId = [
          '{"id":"k1","slug":"k1"}',
          '{"id":"k2","slug":"x"}',
          '{"id":"k5","slug":"k5"}',
        ];
        const put = linesOf(await bob.post("/posts?key=id", byId.join("\n"), ndjson));
        assert.deepEqual(
          put.map(({ status }) => status),
          [403, 409, 201],
        );
        const { secret, title, author } = await stored("/posts/k3");
        assert.deepEqual([secret, title, author], ["s", "new", "ann"]);
        assert.equal((await stored("/posts/k2")).title, undefined);
      });
    });

    it("replace what a caller may update who may not create", async () => {
      const update = [{ name: "any", to: "token", fields: ["title"] }];
      const create = [{ name: "one", to: { scope: "other:create" } }];
      const definition = { unique: ["slug"], access: { create, update } };
      assert.equal((await admin.put("/-/collections/fixed", definition)).status, 201);
      const scopes = ["fixed:read", "fixed:update", "free:read", "free:update"];
      const editor = await clientOf("eve", ...scopes);
      for (const name of ["fixed", "free"]) {
        await seed(`/${name}/1`, { slug: "a", title: "old" });
        const lines = '{"id":"1","slug":"a","title":"new"}\n{"id":"2","slug":"b"}\n';
        for (const [type, sent] of [
          [ndjson, lines],
          [csv, "id,slug,title\n1,a,newer\n2,b,x\n"],
        ] as const) {
          const results = linesOf(await editor.post(`/${name}?key=id`, sent, type));
          assert.deepEqual(
            results.map(({ status }) => status),
            [200, 403],
          );
        }
        assert.equal((await stored(`/${name}/1`)).title, "newer");
        const without = { ...ndjson };
        assert.equal((await editor.post(`/${name}`, lines, without)).status, 403);
        assert.equal((await editor.post(`/${name}?key=id`, { title: "x" })).status, 403);
      }
    });

    it("into the collection of the caller's own set are decided by the state before", async () => {
      const teams = { collection: "crew", where: { user: "$me" }, field: "team" };
      const own = { team: { in: "$my.crew" } };
      await seed("/crew/0", { user: "cap", team: "red" });
      assert.equal((await admin.put("/-/access", { sets: { crew: teams } })).status, 200);
      const access = { create: [{ name: "own team", to: "token", check: own }] };
      assert.equal((await admin.put("/-/collections/crew", { access })).status, 200);
      const captain = await clientOf("cap", "crew:*");
      const line = (n: number) => JSON.stringify({ user: `u${n}`, team: n % 10 ? "red" : "blue" });
      const sent = Array.from({ length: 600 }, (_, n) => line(n + 1)).join("\n");
      const results = linesOf(await captain.post("/crew", sent, ndjson));
      assert.equal(results.filter(({ status }) => status === 201).length, 540);
      assert.equal(results.filter(({ status }) => status === 403).length, 60);
      assert.equal(await app.total("crew"), 541);
    });

    describe("an upsert", () => {
      it("replaces what the caller sees and may change, and takes no value of others", async () => {
        await seed("/posts/u1", { slug: "u1", author: "ann", status: "out", secret: "s" });
        await seed("/posts/u2", { slug: "u2", author: "ann", status: "draft" });
        const put = (slug: string, fields: Fields) => bob.put(`/posts?slug=${slug}`, fields);
        const done = await put("u1", { title: "new", status: "out" });
        assert.deepEqual([done.status, JSON.parse(done.body).title], [200, "new"], done.body);
        assert.equal((await stored("/posts/u1")).secret, "s");
        await admin.rejects("posts", "forbidden", () => put("u1", { status: "draft" }));
        await admin.rejects("posts", "conflict", () => put("u2", { title: "x" }));
        const made = await put("u3", { title: "x" });
        assert.deepEqual([made.status, JSON.parse(made.body).author], [201, "bob"]);
      });
    });

    describe("forms and uploads", () => {
      const post = (
        headers: Readonly<Record<string, string>>,
        body: string | Buffer<ArrayBuffer>,
      ) => app.request("/posts", { method: "POST", headers, body, token: bobsToken });
      let bobsToken = "";
      before(async () => {
        const made = await admin.post("/-/tokens", {
          ...{ name: "forms", subject: "bob", scopes: ["posts:*"] },
        });
        bobsToken = JSON.parse(made.body).token;
      });

      it("are decided like JSON", async () => {
        const type = { "content-type": "application/x-www-form-urlencoded" };
        const done = await post(type, "slug=f1&views=3");
        assert.equal(done.status, 201);
        assert.equal(((await done.json()) as Fields).author, "bob");
        assert.equal((await post(type, "slug=f2&author=ann")).status, 403);
        assert.equal(await bySlug("f2"), undefined);
      });

      it("count files as fields, and keep none of a rejected one", async () => {
        const good = form([formText("slug", "f3"), file("photo", "a.png", "abc")]);
        const done = await post(good.headers, good.body);
        assert.equal(done.status, 201);
        const { id, photo } = (await done.json()) as { id: string; photo: { url: string } };
        const bad = form([formText("slug", "f4"), file("paper", "a.png", "abcd")]);
        const rejected = await post(bad.headers, bad.body);
        assert.equal(rejected.status, 403);
        assert.match(await rejected.text(), /"pointer":"\/paper/);
        // The file may not change, and it stays when it is sent back.
        const before = await bob.json<Fields>(`/posts/${id}`);
        assert.equal((await bob.put(`/posts/${id}`, { ...before, title: "t" })).status, 200);
        await admin.rejects("posts", "forbidden", () =>
          bob.put(`/posts/${id}`, { ...before, photo: null }),
        );
        assert.equal((await app.request(photo.url)).status, 200);
      });

      it("keep a file that the caller does not see", async () => {
        const sent = form([formText("slug", "f5"), file("photo", "a.png", "abcde")]);
        const done = await post(sent.headers, sent.body);
        const { id, photo } = (await done.json()) as { id: string; photo: { url: string } };
        assert.equal((await admin.patch(`/posts/${id}`, { status: "out" })).status, 200);
        const seen = { slug: "f5", status: "out", title: "by ann" };
        const put = await ann.put(`/posts/${id}`, seen);
        assert.equal(put.status, 200, put.body);
        assert.doesNotMatch(put.body, /photo/);
        assert.equal((await app.request(photo.url)).status, 200);
        const guess = await ann.patch(`/posts/${id}`, { photo });
        assert.deepEqual(pointersOf(assertProblem(guess, "forbidden")), ["/photo"]);
      });
    });

    describe("an Idempotency-Key", () => {
      it("replays what the caller of now sees", async () => {
        const key = { "idempotency-key": '"rule-1"' };
        const first = await ann.post("/posts", { slug: "once" }, key);
        assert.equal(first.status, 201, first.body);
        const again = await ann.post("/posts", { slug: "once" }, key);
        assert.deepEqual([again.status, again.body], [201, first.body]);
        assert.equal(again.headers.get("idempotency-replayed"), "true");
        const read = [{ ...posts.access.read[1], fields: ["slug"] }];
        const narrowed = { ...posts, access: { ...posts.access, read } };
        assert.equal((await admin.put("/-/collections/posts", narrowed)).status, 200);
        const less = await ann.post("/posts", { slug: "once" }, key);
        assert.deepEqual(Object.keys(JSON.parse(less.body)).sort(), ["createdAt", "id", "slug"]);
        const none = { ...posts.access, read: [{ name: "x", to: { scope: "nobody:read" } }] };
        assert.equal(
          (await admin.put("/-/collections/posts", { ...posts, access: none })).status,
          200,
        );
        const blind = await ann.post("/posts", { slug: "once" }, key);
        assert.deepEqual([blind.status, blind.body], [201, ""]);
        assert.equal((await admin.put("/-/collections/posts", posts)).status, 200);
      });
    });

    describe("an action", () => {
      it("writes as its caller", async () => {
        const call = (verb: string, ...args: unknown[]) =>
          ann.post("/-/actions/verbs", { verb, args });
        const made = await call("create", "posts", { slug: "act", views: 1 });
        assert.equal(made.status, 200, made.body);
        assert.equal(JSON.parse(made.body).body.author, "ann");
        await seed("/posts/act2", { slug: "act2", author: "bob", status: "draft" });
        await seed("/posts/act3", { slug: "act3", author: "bob", status: "out", secret: "s" });
        await admin.rejects("posts", "forbidden", () => call("create", "posts", { author: "bob" }));
        await admin.rejects("posts", "not-found", () => call("patch", "posts", "act2", {}));
        await admin.rejects("posts", "forbidden", () => call("remove", "posts", "act3"));
        await admin.rejects("posts", "conflict", () => call("put", "posts", "act2", {}));
        const changed = await call("patch", "posts", "act3", { title: "x" });
        const { body } = JSON.parse(changed.body);
        assert.deepEqual([body.title, body.secret], ["x", undefined]);
      });
    });
  });
}
