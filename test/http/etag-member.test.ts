// fields=*,_etag: every representation with its ETag, so that an edit needs no GET before it.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client, pointersOf } from "./client.ts";
import { type Answer, assertProblem, readLinks } from "./expect.ts";

interface Tagged {
  readonly id: string;
  readonly _etag: string;
  readonly [field: string]: unknown;
}

const parse = <T>({ status, body }: Answer): T => {
  assert.ok(status === 200 || status === 201, body);
  return JSON.parse(body);
};

const asked = "fields=*,_etag";
const schema = {
  properties: { name: { type: "string" }, pin: { type: "string", writeOnly: true } },
  additionalProperties: false,
};

for (const store of storesHere("sqlite", ["sqlite", "postgres"])) {
  describe(`fields=*,_etag, on ${store}`, () => {
    let app: TestApp;
    let admin: Client;
    before(async () => {
      app = await startApp(store === "postgres" ? { store } : {});
      admin = new Client(app);
      await admin.put("/-/collections/people", { schema, searchable: ["name"] });
      for (const id of ["a", "b", "c"]) await admin.put(`/people/${id}`, { name: id, pin: "1" });
      await admin.put("/open/a", { n: 1 });
    });
    after(() => app.stop());

    /** The tag is that of a GET, and an edit with it is done. */
    async function assertUsable(representation: Tagged, collection = "people"): Promise<void> {
      const path = `/${collection}/${representation.id}`;
      const { headers, body } = await admin.get(path);
      assert.equal(representation._etag, headers.get("etag"));
      const { _etag, ...rest } = representation;
      assert.deepEqual(rest, JSON.parse(body));
      const edited = await admin.patch(path, {}, { "if-match": _etag });
      assert.equal(edited.status, 200, edited.body);
      const stale = await admin.patch(path, {}, { "if-match": _etag });
      assertProblem(stale, "precondition-failed");
    }

    it("adds it to a resource, whose own ETag does not change", async () => {
      const plain = await admin.get("/people/a");
      const answer = await admin.get(`/people/a?${asked}`);
      assert.equal(answer.headers.get("etag"), plain.headers.get("etag"));
      const known = { "if-none-match": plain.headers.get("etag") ?? "" };
      assert.equal((await admin.get(`/people/a?${asked}`, known)).status, 304);
      await assertUsable(parse(answer));
      assert.ok(!plain.body.includes("_etag"));
    });

    it("adds it to lists, in every format, and to QUERY", async () => {
      for (const query of ["", "&limit=2", "&sort=-name", "&q=a", "&cursor=&limit=2"]) {
        const { data } = parse<{ data: Tagged[] }>(await admin.get(`/people?${asked}${query}`));
        assert.ok(data.length > 0);
        for (const item of data) await assertUsable(item);
      }
      const body = JSON.stringify({ fields: ["*", "_etag"], where: { name: "b" } });
      const headers = { "content-type": "application/json" };
      const response = await app.request("/people", { method: "QUERY", headers, body });
      const { data } = (await response.json()) as { data: Tagged[] };
      assert.equal(data.length, 1);
      for (const item of data) await assertUsable(item);
      const lines = await admin.get(`/people?${asked}`, { accept: "application/x-ndjson" });
      for (const line of lines.body.trimEnd().split("\n")) await assertUsable(JSON.parse(line));
      const csv = await admin.get(`/people?${asked}`, { accept: "text/csv" });
      const [head = "", row = ""] = csv.body.split("\r\n");
      assert.equal(head, "id,name,createdAt,updatedAt,_etag");
      const tag = (await admin.get("/people/a")).headers.get("etag") ?? "";
      assert.ok(row.endsWith(`"""${tag.slice(1, -1)}"""`), row);
    });

    it("works with single fields", async () => {
      const one = parse<Tagged>(await admin.get("/people/a?fields=_etag"));
      assert.deepEqual(Object.keys(one), ["id", "_etag"]);
      const few = parse<Tagged>(await admin.get("/people/a?fields=name,_etag"));
      assert.deepEqual(Object.keys(few), ["id", "name", "_etag"]);
      const all = await admin.get("/people/a?fields=*");
      assert.equal(all.body, (await admin.get("/people/a")).body);
    });

    it("adds it to feeds, and their links keep it", async () => {
      const answer = await admin.get(`/people?since=0&limit=2&${asked}`);
      const { changes } = parse<{ changes: { resource: Tagged }[] }>(answer);
      assert.equal(changes.length, 2);
      for (const { resource } of changes) await assertUsable(resource);
      const { next = "" } = readLinks(answer.headers.get("link"));
      assert.match(next, /fields=\*%2C_etag/);
    });

    it("adds it to the responses of POST, PUT and PATCH; PUT still sends no ETag header", async () => {
      const posted = await admin.post(`/people?${asked}`, { name: "p" });
      assert.equal(posted.headers.get("etag"), parse<Tagged>(posted)._etag);
      await assertUsable(parse(posted));
      for (const times of [1, 2]) {
        const put = await admin.put(`/people/put?${asked}`, { name: `p${times}` });
        assert.equal(put.headers.get("etag"), null);
        assert.equal(put.headers.get("last-modified"), null);
        assert.equal(put.headers.get("content-location"), `/people/put?${asked}`);
        await assertUsable(parse(put));
      }
      const patched = await admin.patch(`/people/a?${asked}`, { name: "x" });
      await assertUsable(parse(patched));
      const form = await admin.post(`/people?${asked}`, "name=f", {
        "content-type": "application/x-www-form-urlencoded",
      });
      await assertUsable(parse(form));
      const minimal = await admin.patch(`/people/a?${asked}`, {}, { prefer: "return=minimal" });
      assert.deepEqual([minimal.status, minimal.body], [204, ""]);
    });

    it("adds it to the results of a batch", async () => {
      const { results } = parse<{ results: { etag: string; body: Tagged }[] }>(
        await admin.post(`/-/batch?${asked}`, {
          operations: [
            { method: "POST", path: "/people", body: { name: "n" } },
            { method: "PUT", path: "/people/batched", body: { name: "n" } },
            { method: "PATCH", path: "/people/a", body: { name: "n" } },
          ],
        }),
      );
      for (const { etag, body } of results) {
        assert.equal(body._etag, etag);
        await assertUsable(body);
      }
    });

    it("and the other reserved names are ignored in bodies", async () => {
      const reserved = { _etag: '"x"', _expanded: { a: 1 }, _owner: "me" };
      for (const path of ["/people", "/open"]) {
        const read = parse<Tagged>(await admin.get(`${path}/a?${asked}`));
        const answers = [
          await admin.post(path, { ...reserved }),
          await admin.put(`${path}/a`, { ...read, ...reserved }),
          await admin.patch(`${path}/a`, reserved),
          await admin.jsonPatch(`${path}/a`, [{ op: "add", path: "/_owner", value: "me" }]),
          await admin.batch([{ method: "PUT", path: `${path}/a`, body: { ...reserved } }]),
        ];
        for (const { status, body } of answers) {
          assert.ok(status === 200 || status === 201, body);
          assert.doesNotMatch(body, /_etag|_expanded|_owner/);
        }
      }
      const nested = parse<Tagged>(await admin.put("/open/b", { in: { _etag: 1 } }));
      assert.deepEqual(nested.in, { _etag: 1 });
    });

    it("and the other reserved names cannot be used in filters or sort", async () => {
      for (const query of ["_etag=x", "_owner=x", "sort=_etag", "sort=_owner", "_expanded.a=1"])
        for (const path of ["/people", "/open"])
          assertProblem(await admin.get(`${path}?${query}`), "invalid-parameter");
      assertProblem(await admin.get("/people/a?fields=_expanded"), "invalid-parameter");
      assertProblem(await admin.get("/people/a?fields=nothing,_etag"), "invalid-parameter");
      assertProblem(await admin.get("/people/a?fields=pin"), "invalid-parameter");
      assertProblem(await admin.get("/people/a?fields=name,,"), "invalid-parameter");
      assertProblem(await admin.get("/people/a?page=1"), "invalid-parameter");
      const before = await admin.state("people");
      assertProblem(await admin.put("/people/a?fields=nothing", {}), "invalid-parameter");
      assertProblem(await admin.post("/people?fields=nothing", {}), "invalid-parameter");
      assert.deepEqual(await admin.state("people"), before);
    });

    it("is 400 in a definition", async () => {
      for (const name of ["_etag", "_expanded", "_owner"]) {
        for (const [definition, pointer] of [
          [{ schema: { properties: { [name]: {} } } }, `/schema/properties/${name}`],
          [{ schema: { allOf: [{ properties: { [name]: {} } }] } }, `/schema/properties/${name}`],
          [{ schema: { required: [name] } }, "/schema/required"],
          [{ indexed: [name] }, "/indexed/0"],
          [{ unique: [`${name}.a`] }, "/unique/0"],
          [{ searchable: ["a", name] }, "/searchable/1"],
          [{ honeypot: name }, "/honeypot"],
        ] as const) {
          const problem = assertProblem(
            await admin.put("/-/collections/refused", definition),
            "invalid-body",
          );
          assert.deepEqual(pointersOf(problem), [pointer], JSON.stringify(definition));
        }
      }
      const inner = { schema: { properties: { a: { properties: { _etag: {} } } } } };
      assert.equal((await admin.put("/-/collections/taken", inner)).status, 201);
    });
  });
}
