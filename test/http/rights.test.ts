// What callers may do: explained to administrators for any subject, and told to callers about themselves.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { AccessReport, OwnRights } from "../../src/model/schemas/access-query.ts";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client, pointersOf } from "./client.ts";
import { assertProblem, expectProblem } from "./expect.ts";

const text = { type: "string" };
const posts = {
  schema: {
    type: "object",
    properties: {
      title: text,
      body: text,
      author: text,
      status: text,
      project: text,
      tenant: text,
    },
  },
  references: { project: { collection: "projects" } },
  access: {
    read: [
      {
        name: "published",
        to: "everyone",
        where: { status: "published" },
        fields: ["title", "author"],
      },
      { name: "mine", to: "token", where: { author: "$me" } },
      { name: "in my project", to: "token", where: { "project.owner": "$me" } },
    ],
    create: [
      {
        name: "author",
        to: "token",
        fields: ["title", "body", "tenant"],
        set: { author: "$me", status: "draft" },
        check: { title: { exists: true } },
      },
    ],
    update: [
      {
        name: "own draft",
        to: "token",
        where: { author: "$me", status: "draft" },
        fields: ["title", "status"],
        check: { status: { in: ["draft", "submitted"] } },
      },
      { name: "publish", to: { role: "editor" }, fields: ["status"] },
    ],
    delete: [{ name: "own", to: "token", where: { $or: [{ author: "$me" }, { status: "spam" }] } }],
  },
  boundary: { tenant: { ne: "closed" } },
};

const values = {
  mine: { title: "mine", author: "ann", status: "draft" },
  published: { title: "known", author: "ann", status: "published" },
  shared: { title: "shared", author: "bob", status: "draft", project: "p" },
  closed: { title: "closed", author: "ann", status: "draft", tenant: "closed" },
};

const all = { scopes: ["posts:*"] };
const ann = { subject: "ann", ...all };
const bob = { subject: "bob", ...all };

for (const store of storesHere(undefined, [undefined, "postgres"]))
  describe(`rights on ${store ?? "sqlite"}`, () => {
    let app: TestApp;
    let admin: Client;
    before(async () => {
      app = await startApp({ store });
      admin = new Client(app);
      await admin.put("/-/access", { roles: { editor: ["projects:read"] } });
      await admin.put("/-/collections/projects", {});
      await admin.put("/projects/p", { owner: "ann" });
      const defined = await admin.put("/-/collections/posts", posts);
      assert.equal(defined.status, 201, defined.body);
      for (const [id, fields] of Object.entries(values)) {
        const put = await admin.put(`/posts/${id}`, fields);
        assert.equal(put.status, 201, put.body);
      }
      await admin.put("/-/collections/notes", { access: { read: "owner", create: "public" } });
    });
    after(() => app.stop());

    const ask = (query: object, token?: string | null) =>
      app.request("/-/access", {
        method: "QUERY",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(query),
        ...(token !== undefined && { token }),
      });

    async function explain(query: object): Promise<AccessReport> {
      const response = await ask({ collection: "posts", ...query });
      const body = await response.text();
      assert.equal(response.status, 200, body);
      return JSON.parse(body);
    }

    const grantIn = (report: AccessReport, name: string) =>
      report.grants.find((grant) => grant.name === name) ?? assert.fail(`no grant ${name}`);

    const clientOf = async (subject: string, ...scopes: string[]) => {
      const made = await admin.post("/-/tokens", { name: subject, subject, scopes });
      return new Client(app, JSON.parse(made.body).token);
    };

    it("says which grant lets a subject read", async () => {
      const mine = await explain({ ...ann, verb: "read", id: "mine" });
      assert.deepEqual([mine.allowed, mine.status, mine.grant], [true, 200, "mine"]);
      const shared = await explain({ ...ann, verb: "read", id: "shared" });
      assert.equal(shared.grant, "in my project");
      assert.deepEqual(grantIn(shared, "in my project").where, [
        { field: "project.owner", wanted: "ann", found: "ann", holds: true },
      ]);
      const anyone = await explain({ verb: "read", id: "published" });
      assert.deepEqual([anyone.allowed, anyone.grant], [true, "published"]);
      assert.deepEqual(grantIn(anyone, "mine"), {
        name: "mine",
        to: false,
        missing: ["$me"],
        where: [{ field: "author", wanted: "$me", found: "ann", holds: false }],
        allows: false,
      });
    });

    it("shows times as texts", async () => {
      const old = {
        name: "old",
        to: "token",
        where: { createdAt: { lt: "2020-01-01T00:00:00Z" } },
      };
      await admin.put("/-/collections/logs", { access: { read: [old] } });
      await admin.put("/logs/a", {});
      const { createdAt } = await admin.json<{ createdAt: string }>("/logs/a");
      const report = await explain({ ...ann, collection: "logs", verb: "read", id: "a" });
      const [condition] = grantIn(report, "old").where ?? [];
      assert.deepEqual([condition?.found, condition?.holds], [createdAt, false]);
    });

    it("says which condition fails on which value", async () => {
      const hidden = await explain({ ...bob, verb: "read", id: "mine" });
      assert.deepEqual([hidden.allowed, hidden.status, hidden.grant], [false, 404, undefined]);
      assert.deepEqual(grantIn(hidden, "published").where, [
        { field: "status", wanted: "published", found: "draft", holds: false },
      ]);
      const update = await explain({ ...ann, verb: "update", id: "published" });
      assert.deepEqual([update.allowed, update.status], [false, 403]);
      assert.deepEqual(grantIn(update, "own draft"), {
        name: "own draft",
        to: true,
        where: [
          { field: "author", wanted: "ann", found: "ann", holds: true },
          { field: "status", wanted: "draft", found: "published", holds: false },
        ],
        allows: false,
      });
      assert.equal(grantIn(update, "publish").to, false);
    });

    it("shows combined conditions with their parts", async () => {
      const report = await explain({ ...bob, verb: "delete", id: "published" });
      assert.deepEqual([report.allowed, report.status], [false, 403]);
      assert.deepEqual(grantIn(report, "own").where, [
        {
          combined: "or",
          parts: [
            [{ field: "author", wanted: "bob", found: "ann", holds: false }],
            [{ field: "status", wanted: "spam", found: "published", holds: false }],
          ],
          holds: false,
        },
      ]);
      assert.equal((await explain({ ...ann, verb: "delete", id: "published" })).status, 204);
      assert.equal((await admin.get("/posts/published")).status, 200, "nothing is deleted");
    });

    it("tries a change, with its fields and the state after it", async () => {
      const change = { title: "new" };
      const allowed = await explain({ ...ann, verb: "update", id: "mine", change });
      assert.deepEqual([allowed.allowed, allowed.status, allowed.grant], [true, 200, "own draft"]);
      assert.deepEqual(grantIn(allowed, "own draft").check, [
        {
          field: "status",
          operator: "in",
          wanted: ["draft", "submitted"],
          found: "draft",
          holds: true,
        },
      ]);
      const state = await explain({
        ...{ ...ann, verb: "update", id: "mine" },
        change: { status: "published" },
      });
      assert.deepEqual([state.allowed, state.status], [false, 403]);
      assert.equal(grantIn(state, "own draft").check?.[0]?.found, "published");
      const field = await explain({ ...ann, verb: "update", id: "mine", change: { body: "x" } });
      assert.deepEqual(
        [field.status, field.errors?.map(({ pointer }) => pointer)],
        [403, ["/body"]],
      );
      assert.equal(grantIn(field, "own draft").errors?.[0]?.pointer, "/body");
      const { title } = JSON.parse((await admin.get("/posts/mine")).body);
      assert.equal(title, "mine", "nothing is changed");
    });

    it("tries a creation", async () => {
      const made = await explain({ ...ann, verb: "create", change: { title: "x" } });
      assert.deepEqual([made.allowed, made.status, made.grant], [true, 201, "author"]);
      const empty = await explain({ ...ann, verb: "create", change: { body: "x" } });
      assert.deepEqual(
        [empty.status, grantIn(empty, "author").check],
        [403, [{ field: "title", operator: "exists", wanted: true, found: null, holds: false }]],
      );
      const other = await explain({ ...ann, verb: "create", change: { title: "x", author: "b" } });
      assert.deepEqual(
        other.errors?.map(({ pointer }) => pointer),
        ["/author"],
      );
      const closed = await explain({
        ...{ ...ann, verb: "create" },
        change: { title: "x", tenant: "closed" },
      });
      assert.deepEqual(
        [closed.status, closed.boundary],
        [
          403,
          [{ field: "tenant", operator: "ne", wanted: "closed", found: "closed", holds: false }],
        ],
      );
      assert.equal(await app.total("posts"), Object.keys(values).length, "nothing is created");
    });

    it("names no grant to create for an id that is taken", async () => {
      const change = { title: "x" };
      for (const [id, status] of [
        ["mine", 412],
        ["published", 403],
        ["closed", 409],
      ] as const) {
        const report = await explain({ ...ann, verb: "create", id, change });
        assert.deepEqual([report.allowed, report.status, report.grant], [false, status, undefined]);
        assert.equal(grantIn(report, "author").allows, false, id);
      }
      const free = await explain({ ...ann, verb: "create", id: "free", change });
      assert.deepEqual([free.status, free.grant], [201, "author"]);
    });

    it("applies the boundary to every grant", async () => {
      const report = await explain({ ...ann, verb: "read", id: "closed" });
      assert.deepEqual([report.allowed, report.status], [false, 404]);
      assert.equal(grantIn(report, "mine").where?.[0]?.holds, true);
      assert.equal(grantIn(report, "mine").allows, false);
      assert.equal(report.boundary?.[0]?.holds, false);
    });

    it("counts the roles and scopes that are given, or else those of the subject's tokens", async () => {
      const none = await explain({ subject: "cara", verb: "update", id: "published" });
      assert.deepEqual([none.allowed, none.status, none.scopes], [false, 403, []]);
      await clientOf("cara", "posts:read", "notes:*");
      const read = await explain({ subject: "cara", verb: "read", id: "published" });
      assert.deepEqual(read.scopes, ["posts:read", "notes:*"]);
      const given = { subject: "cara", roles: ["editor"] };
      const editor = await explain({ ...given, verb: "update", id: "published" });
      assert.deepEqual([editor.allowed, editor.grant], [true, "publish"]);
      assert.deepEqual(editor.scopes, ["projects:read"], "those of the role");
      await admin.post("/-/tokens", {
        ...{ name: "editor", subject: "dan", roles: ["editor"], scopes: ["posts:read"] },
      });
      const held = await explain({ subject: "dan", verb: "update", id: "published" });
      assert.deepEqual([held.allowed, held.roles], [true, ["editor"]]);
      assert.deepEqual(held.scopes, ["posts:read", "projects:read"]);
      const boss = await explain({ scopes: ["admin"], verb: "delete", id: "closed" });
      assert.deepEqual([boss.allowed, boss.grants], [true, []]);
    });

    it("explains shorthands as well", async () => {
      const owner = await clientOf("ann", "notes:*");
      const { id } = JSON.parse((await owner.post("/notes", {})).body);
      const query = { collection: "notes", verb: "read", id, scopes: ["notes:read"] };
      const own = await explain({ ...query, subject: "ann" });
      assert.deepEqual([own.allowed, own.grant], [true, "owner"]);
      const other = await explain({ ...query, subject: "bob" });
      assert.equal(grantIn(other, "owner").missing, undefined);
      assert.deepEqual(
        [other.status, grantIn(other, "owner").where],
        [404, [{ field: "$owner", wanted: "bob", found: "ann", holds: false }]],
      );
      const anyone = await explain({ collection: "notes", verb: "create", change: {} });
      assert.deepEqual([anyone.allowed, anyone.grant], [true, "public"]);
    });

    it("decides as the requests of the subject", async () => {
      for (const subject of ["ann", "bob"]) {
        const client = await clientOf(subject, "posts:*");
        for (const id of [...Object.keys(values), "missing"]) {
          const query = { subject, scopes: ["posts:*"], id };
          const read = await client.get(`/posts/${id}`);
          assert.equal((await explain({ ...query, verb: "read" })).status, read.status, id);
          for (const change of [{ title: "again" }, { status: "published" }, { body: "x" }, {}]) {
            const { status } = await explain({ ...query, verb: "update", change });
            const patched = await client.patch(`/posts/${id}`, change);
            assert.equal(status, patched.status, `${subject} ${id} ${JSON.stringify(change)}`);
            if (values[id as keyof typeof values])
              await admin.put(`/posts/${id}`, values[id as keyof typeof values]);
          }
        }
      }
    });

    it("counts the scopes when no resource is named", async () => {
      for (const verb of ["read", "create"]) {
        const query = { collection: "projects", subject: "zoe", verb };
        const without = await explain({ ...query, scopes: ["posts:*"] });
        assert.deepEqual([without.allowed, without.status], [false, 403], verb);
        const held = await explain({ ...query, scopes: [`projects:${verb}`] });
        assert.equal(held.allowed, true, verb);
      }
    });

    it("is for administrators, and about collections that exist", async () => {
      const query = { collection: "posts", verb: "read" };
      await expectProblem(ask(query, null), "unauthenticated");
      await expectProblem(ask(query, await app.token("posts:*")), "insufficient-scope");
      await expectProblem(ask({ ...query, collection: "none" }), "not-found");
    });

    it("lists every error of a question", async () => {
      const problem = await expectProblem(
        ask({ collection: "posts", verb: "delete", change: {} }),
        "invalid-body",
      );
      assert.deepEqual(problem.errors?.map(({ pointer }) => pointer).sort(), ["/change", "/id"]);
      const other = await expectProblem(ask({ verb: "see", who: 1 }), "invalid-body");
      assert.deepEqual(other.errors?.map(({ pointer }) => pointer).sort(), [
        "/collection",
        "/verb",
        "/who",
      ]);
    });

    const ownRights = async (client: Client, path: string): Promise<OwnRights> =>
      client.json(`/-/access/${path}`);

    it("tells callers what they may do with a collection", async () => {
      const client = await clientOf("ann", "posts:*");
      assert.deepEqual(await ownRights(client, "posts"), {
        read: true,
        create: { fields: ["title", "body", "tenant"] },
        update: { fields: ["title", "status"] },
        delete: true,
      });
      const anonymous = new Client(app, null);
      const nothing = { read: false, create: false, update: false, delete: false };
      assert.deepEqual(await ownRights(anonymous, "posts"), { ...nothing, read: true });
      assert.deepEqual(await ownRights(anonymous, "notes"), { ...nothing, create: true });
      assert.deepEqual(await ownRights(admin, "posts"), {
        ...{ read: true, create: true, update: true, delete: true },
      });
      assert.deepEqual(await ownRights(anonymous, "projects"), nothing);
      assert.deepEqual(await ownRights(anonymous, "none"), nothing, "as one that exists");
      for (const path of ["projects/p", "projects/missing", "none/missing"])
        assert.deepEqual(await ownRights(anonymous, path), nothing, path);
      assert.equal((await admin.get("/-/access/none")).status, 404);
    });

    it("tells callers what they may do with a resource that they see", async () => {
      const client = await clientOf("ann", "posts:*");
      const create = { fields: ["title", "body", "tenant"] };
      assert.deepEqual(await ownRights(client, "posts/mine"), {
        ...{ read: true, create, update: { fields: ["title", "status"] }, delete: true },
      });
      assert.deepEqual(await ownRights(client, "posts/published"), {
        ...{ read: true, create, update: false, delete: true },
      });
      const missing = await client.get("/-/access/posts/missing");
      const hidden = await client.get("/-/access/posts/closed");
      const bodyOf = ({ body }: { body: string }) => {
        const { instance, requestId, ...rest } = JSON.parse(body);
        return rest;
      };
      assert.deepEqual([hidden.status, bodyOf(hidden)], [404, bodyOf(missing)]);
      const anonymous = new Client(app, null);
      assert.equal((await ownRights(anonymous, "posts/published")).read, true);
      assert.equal((await anonymous.get("/-/access/posts/mine")).status, 404);
      const writer = await clientOf("writer", "projects:update");
      assert.deepEqual(await ownRights(writer, "projects/p"), {
        ...{ read: false, create: false, update: true, delete: false },
      });
    });

    it("offers nothing that the boundary fixes as an array, or as a reference", async () => {
      const item = { type: "object", properties: { k: text } };
      const fields = ["title", "project", "lines"];
      const deals = {
        schema: { properties: { title: text, project: text, lines: { items: item } } },
        references: { project: { collection: "projects" } },
        access: { update: [{ name: "any", to: "token", fields }] },
        boundary: { "project.owner": "ann", "lines[].k": "x" },
      };
      assert.equal((await admin.put("/-/collections/deals", deals)).status, 201);
      await admin.put("/deals/d", { title: "a", project: "p", lines: [{ k: "x" }] });
      const client = await clientOf("ann", "deals:*", "projects:read");
      const { update } = await ownRights(client, "deals/d");
      assert.deepEqual(update, { fields: ["title"] });
      for (const change of [{ lines: [{ k: "x" }, { k: "y" }] }, { project: "q" }]) {
        const refused = assertProblem(await client.patch("/deals/d", change), "forbidden");
        assert.deepEqual(pointersOf(refused), [`/${Object.keys(change)}`]);
      }
      const set = { name: "any", to: "token", set: { lines: [] } };
      const wrong = await admin.put("/-/collections/deals", {
        ...deals,
        access: { update: [set] },
      });
      const problem = assertProblem(wrong, "invalid-body");
      assert.deepEqual(pointersOf(problem), ["/access/update/0/set/lines"]);
    });

    it("counts in a dry run how many resources subjects see, before and after", async () => {
      await clientOf("ann", "posts:*");
      const onlyMine = {
        ...posts,
        access: { read: [{ name: "mine", to: "token", where: { author: "$me" } }] },
      };
      const path = "/-/collections/posts?dry-run=true";
      const { status, body } = await admin.put(`${path}&subjects=ann,zoe`, onlyMine);
      assert.equal(status, 200, body);
      assert.deepEqual(JSON.parse(body).seen, [
        { before: 1, after: 0 },
        { subject: "ann", before: 3, after: 2 },
        { subject: "zoe", before: 1, after: 0 },
      ]);
      const opened = await admin.put("/-/collections/projects?dry-run=true&subjects=zoe", {
        access: { read: "public" },
      });
      assert.deepEqual(JSON.parse(opened.body).seen?.[1], { subject: "zoe", before: 0, after: 1 });
      const made = await admin.put("/-/collections/new?dry-run=true&subjects=ann", onlyMine);
      assert.deepEqual(JSON.parse(made.body).seen?.[1], { subject: "ann", before: 0, after: 0 });
      assert.equal((await admin.get("/-/collections/new")).status, 404);
      assert.equal(JSON.parse((await admin.put(path, onlyMine)).body).seen, undefined);
      const wrong = await admin.put("/-/collections/posts?subjects=ann", onlyMine);
      assert.deepEqual(pointersOf(assertProblem(wrong, "invalid-parameter")), ["subjects"]);
      assert.equal((await ownRights(admin, "posts")).read, true, "nothing is changed");
    });

    it("does not let a cache give the rights of one caller to another", async () => {
      const { headers } = await admin.get("/-/access/posts");
      assert.equal(headers.get("cache-control"), "no-store");
    });
  });
