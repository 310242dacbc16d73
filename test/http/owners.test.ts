// Owners are subjects: a new token for the same subject owns what the old one owned, and an admin changes owners.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client, pointersOf } from "./client.ts";
import { assertProblem } from "./expect.ts";

const owned = { read: "owner", update: "owner", delete: "owner" };
const scopes = ["notes:*"];

interface Note {
  readonly id: string;
  readonly _owner?: string | null;
}

for (const store of storesHere("sqlite", ["sqlite", "postgres"]))
  describe(`owners, on ${store}`, () => {
    let app: TestApp;
    let admin: Client;

    before(async () => {
      app = await startApp(store === "postgres" ? { store } : {});
      admin = new Client(app);
      await admin.put("/-/collections/notes", { access: owned });
      await admin.put("/-/collections/open", {});
    });
    after(() => app.stop());

    async function issue(
      more: object = {},
    ): Promise<{ id: string; subject: string; client: Client }> {
      const { status, body } = await admin.post("/-/tokens", { name: "t", scopes, ...more });
      assert.equal(status, 201, body);
      const { id, subject, token } = JSON.parse(body);
      return { id, subject, client: new Client(app, token) };
    }

    async function createAs(client: Client, text = "x"): Promise<string> {
      const { status, body } = await client.post("/notes", { text });
      assert.equal(status, 201, body);
      return (JSON.parse(body) as Note).id;
    }

    async function ownerOf(id: string, collection = "notes"): Promise<unknown> {
      const { status, body } = await admin.get(`/${collection}/${id}?fields=*,_owner`);
      assert.equal(status, 200, body);
      return JSON.parse(body)._owner;
    }

    it("a token stands for its id unless a subject is given", async () => {
      const plain = await issue();
      assert.equal(plain.subject, plain.id);
      const named = await issue({ subject: "user:42 ~" });
      assert.equal(named.subject, "user:42 ~");
      const shown = JSON.parse((await admin.get(`/-/tokens/${named.id}`)).body);
      assert.equal(shown.subject, "user:42 ~");
    });

    it("a subject that is not 1 to 128 printable ASCII characters is 400", async () => {
      for (const subject of ["", "x".repeat(129), "é", "a\n", 7, null]) {
        const answer = await admin.post("/-/tokens", { name: "t", scopes, subject });
        assert.deepEqual(pointersOf(assertProblem(answer, "invalid-body")), ["/subject"]);
      }
      assert.equal((await issue({ subject: "x".repeat(128) })).subject.length, 128);
    });

    it("a new token for a subject owns what the old one owned", async () => {
      const old = await issue({ subject: "ann" });
      const id = await createAs(old.client);
      assert.equal((await admin.remove(`/-/tokens/${old.id}`)).status, 204);
      const { client } = await issue({ subject: "ann" });
      assert.equal((await client.get(`/notes/${id}`)).status, 200);
      assert.equal((await client.patch(`/notes/${id}`, { text: "y" })).status, 200);
      assert.equal(await ownerOf(id), "ann");
      const stranger = await issue();
      assertProblem(await stranger.client.get(`/notes/${id}`), "not-found");
      // A token whose subject is the id of an old token owns what that one created.
      const mine = await createAs(stranger.client);
      const heir = await issue({ subject: stranger.id });
      assert.equal((await heir.client.get(`/notes/${mine}`)).status, 200);
    });

    it("an admin reads the owner wherever fields are named, in every format", async () => {
      const { client, subject } = await issue();
      const id = await createAs(client, "shown");
      const withOwner = "fields=text,_owner";
      const one = JSON.parse((await admin.get(`/notes/${id}?${withOwner}`)).body);
      assert.deepEqual(one, { id, text: "shown", _owner: subject });
      const list = await admin.get(`/notes?${withOwner}&text=shown`);
      assert.deepEqual(JSON.parse(list.body).data, [one]);
      const lines = await admin.get(`/notes?${withOwner}&text=shown`, {
        accept: "application/x-ndjson",
      });
      assert.deepEqual(JSON.parse(lines.body), one);
      const csv = await admin.get(`/notes?fields=*,_owner&text=shown`, { accept: "text/csv" });
      const [head = "", row = ""] = csv.body.split("\r\n");
      assert.equal(head, "id,text,createdAt,updatedAt,_owner");
      assert.ok(row.endsWith(`,${subject}`), row);
      const feed = await admin.get(`/notes?since=0&${withOwner}`);
      assert.ok(feed.body.includes(JSON.stringify(one).slice(1, -1)), feed.body);
      await admin.put("/open/a", { n: 1 });
      assert.equal(await ownerOf("a", "open"), null);
      assert.ok(!(await admin.get(`/notes/${id}?fields=*`)).body.includes("_owner"));
    });

    it("nobody else reads it, not even from a page that was cached for an admin", async () => {
      const { client } = await issue({ scopes: ["open:*", "notes:*"] });
      await admin.put("/open/b", { n: 2 });
      const query = "/open?fields=*,_owner";
      assert.equal((await admin.get(query)).status, 200);
      assert.equal((await admin.get(query)).status, 200);
      const id = await createAs(client);
      const answers = [
        await client.get(query),
        await client.get("/open?since=0&fields=_owner"),
        await client.get(`/notes/${id}?fields=_owner`),
        await client.post("/notes?fields=_owner", { text: "x" }),
        await client.put("/notes/new?fields=_owner", { text: "x" }),
        await client.patch(`/notes/${id}?fields=_owner`, { text: "x" }),
        await client.post("/-/batch?fields=_owner", {
          operations: [{ method: "POST", path: "/notes", body: {} }],
        }),
      ];
      for (const answer of answers) {
        const { errors } = assertProblem(answer, "invalid-parameter");
        assert.deepEqual(errors, [
          { parameter: "fields", detail: "only admin tokens may read _owner" },
        ]);
      }
      assertProblem(await admin.get("/notes/new"), "not-found");
    });

    it("an admin sets and removes the owner by PATCH", async () => {
      const [ann, bob] = [await issue({ subject: "ann" }), await issue({ subject: "bob" })];
      const id = await createAs(ann.client);
      const path = `/notes/${id}`;
      const before = await admin.get(path);
      const set = await admin.patch(`${path}?fields=*,_owner`, { _owner: "bob", text: "moved" });
      assert.equal(set.status, 200, set.body);
      assert.equal(JSON.parse(set.body)._owner, "bob");
      assert.equal(JSON.parse(set.body).text, "moved");
      assert.notEqual(set.headers.get("etag"), before.headers.get("etag"));
      assertProblem(await ann.client.get(path), "not-found");
      assert.equal((await bob.client.get(path)).status, 200);
      assert.ok(
        JSON.parse((await bob.client.get("/notes")).body).data.some((n: Note) => n.id === id),
      );
      // Another change keeps it, and so does a PUT of what was read.
      await bob.client.patch(path, { text: "mine" });
      const whole = JSON.parse((await admin.get(`${path}?fields=*,_owner`)).body);
      await admin.put(path, { ...whole, _owner: "ann" });
      assert.equal(await ownerOf(id), "bob");
      const operations = [
        { op: "test", path: "/_owner", value: "bob" },
        { op: "replace", path: "/_owner", value: "ann" },
      ];
      const type = { "content-type": "application/json-patch+json" };
      assert.equal((await admin.patch(path, operations, type)).status, 200);
      assert.equal(await ownerOf(id), "ann");
      assert.equal((await admin.patch(path, { _owner: null })).status, 200);
      assert.equal(await ownerOf(id), null);
      for (const { client } of [ann, bob]) assertProblem(await client.get(path), "not-found");
      const unset = [{ op: "add", path: "/_owner", value: "bob" }];
      assert.equal((await admin.patch(path, unset, type)).status, 200);
      assert.equal((await bob.client.get(path)).status, 200);
    });

    it("an owner that is no subject is 400, and a caller who is no admin gets 403", async () => {
      const { client, subject } = await issue();
      const path = `/notes/${await createAs(client)}`;
      for (const owner of ["", "é", 7, {}, [], "x".repeat(129)]) {
        const problem = assertProblem(await admin.patch(path, { _owner: owner }), "invalid-body");
        assert.deepEqual(pointersOf(problem), ["/_owner"]);
      }
      const type = { "content-type": "application/json-patch+json" };
      for (const answer of [
        await client.patch(path, { _owner: "bob" }),
        await client.patch(path, '{"\\u005fowner":"bob"}'),
        await client.patch(path, { _owner: null }),
        await client.patch(path, { _owner: subject }),
        await client.patch(path, [{ op: "add", path: "/_owner", value: "bob" }], type),
        await client.patch(path, [{ op: "copy", from: "/_owner", path: "/text" }], type),
      ])
        assertProblem(answer, "insufficient-scope");
      assertProblem(await client.patch(path, [null], type), "invalid-body");
      assert.equal(await ownerOf(path.slice("/notes/".length)), subject);
    });

    it("works in a batch, where later operations see the new owner", async () => {
      const [ann, bob] = [await issue({ subject: "ann" }), await issue({ subject: "bob" })];
      const path = `/notes/${await createAs(ann.client)}`;
      const patch = { method: "PATCH", path, body: { _owner: "bob" } };
      const rejected = await ann.client.batch([patch]);
      assertProblem(rejected, "insufficient-scope");
      const more = { method: "PATCH", path, body: { text: "z" } };
      const { status, body } = await admin.batch([patch, more]);
      assert.equal(status, 200, body);
      assertProblem(await ann.client.get(path), "not-found");
      assert.equal(JSON.parse((await bob.client.get(path)).body).text, "z");
    });
  });
