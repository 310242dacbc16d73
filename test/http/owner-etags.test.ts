// Validators of lists for callers who see a part of a collection: they depend only on what the caller sees.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";

const access = { read: "owner", update: "owner", delete: "owner" };
const future = "Fri, 01 Jan 2100 00:00:00 GMT";
const past = "Thu, 01 Jan 2015 00:00:00 GMT";

const lists: readonly (readonly [path: string, accept: string])[] = [
  ["/notes", "application/json"],
  ["/notes?limit=2", "application/json"],
  ["/notes?sort=-createdAt", "application/json"],
  ["/notes?n[gte]=0&sort=-n", "application/json"],
  ["/notes?q=word", "application/json"],
  ["/notes?cursor=", "application/json"],
  ["/notes?total=none&fields=n", "application/json"],
  ["/notes", "application/x-ndjson"],
  ["/notes?page=1", "application/x-ndjson"],
  ["/notes", "text/csv"],
  ["/notes?limit=5", "text/csv"],
];

for (const store of storesHere("sqlite", ["sqlite", "postgres"])) {
  describe(`lists of a collection with owners, on ${store}`, () => {
    let app: TestApp;
    let admin: Client;
    let ann: Client;
    let bob: Client;
    let count = 1;
    before(async () => {
      app = await startApp(store === "postgres" ? { store } : {});
      admin = new Client(app);
      const definition = { access, indexed: ["n"], searchable: ["text"] };
      assert.equal((await admin.put("/-/collections/notes", definition)).status, 201);
      ann = new Client(app, await app.token("notes:*"));
      bob = new Client(app, await app.token("notes:*"));
      for (const [client, id] of [
        [ann, "a.1"],
        [bob, "b1"],
        [ann, "a.2"],
      ] as const)
        assert.equal((await client.put(`/notes/${id}`, { n: 1, text: "a word" })).status, 201);
    });
    after(() => app.stop());

    it("each shown validator is that of the resource, wherever it is shown", async () => {
      const etag = (await ann.get("/notes/a.1")).headers.get("etag");
      const shown: readonly (readonly [path: string, accept: string])[] = [
        ["/notes/a.1?fields=_etag", "application/json"],
        ["/notes?fields=_etag", "application/json"],
        ["/notes?fields=_etag&sort=-n", "application/json"],
        ["/notes?fields=_etag&since=0", "application/json"],
        ["/notes?fields=_etag&since=0&n=1", "application/json"],
        ["/notes?fields=_etag", "application/x-ndjson"],
        ["/notes?fields=_etag", "text/csv"],
      ];
      // No validator contains an id, because none has a dot.
      for (const [path, accept] of shown) {
        const { body } = await ann.get(path, { accept });
        const line = body.slice(body.indexOf("a.1"), body.indexOf("a.2") + 1 || undefined);
        assert.equal(/v0_[\w-]+/.exec(line)?.[0], etag?.slice(1, -1), `${path}: ${line}`);
      }
    });

    for (const [path, accept] of lists) {
      it(`${path} as ${accept} has a validator for each caller`, async () => {
        const anns = await ann.get(path, { accept });
        const bobs = await bob.get(path, { accept });
        for (const { status, headers, body } of [anns, bobs]) {
          assert.equal(status, 200, body);
          assert.match(headers.get("etag") ?? "", /^"[\w.-]+"$/);
          assert.equal(headers.get("last-modified"), null);
          assert.match(headers.get("vary") ?? "", /\bAuthorization\b/);
          assert.equal(headers.get("cache-control"), "private, no-cache");
        }
        const tag = anns.headers.get("etag") ?? "";
        assert.notEqual(bobs.headers.get("etag"), tag);
        const switched = await bob.get(path, { accept, "if-none-match": tag });
        assert.equal(switched.body, bobs.body);
        const again = await ann.get(path, { accept, "if-none-match": tag });
        assert.equal(again.status, 304);
        assert.equal(again.headers.get("etag"), tag);
        assert.match(again.headers.get("vary") ?? "", /\bAuthorization\b/);
      });

      it(`${path} as ${accept} does not depend on dates`, async () => {
        for (const field of ["if-modified-since", "if-unmodified-since"])
          for (const date of [future, past])
            assert.equal((await ann.get(path, { accept, [field]: date })).status, 200, field);
      });

      it(`${path} as ${accept} changes when its caller writes, and not when others do`, async () => {
        const tagOf = async () => (await ann.get(path, { accept })).headers.get("etag");
        const before = await tagOf();
        await bob.put("/notes/b1", { n: ++count, text: "another word" });
        await bob.put("/notes/b2", { n: 2, text: "a word" });
        await bob.remove("/notes/b2");
        await admin.put("/notes/admins", { n: 2, text: "a word" });
        assert.equal(await tagOf(), before);
        await ann.put("/notes/a.1", { n: ++count, text: "a word" });
        assert.notEqual(await tagOf(), before);
      });

      it(`${path} as ${accept} has the validators of the collection for a caller who sees all`, async () => {
        const { headers } = await admin.get(path, { accept });
        assert.match(headers.get("vary") ?? "", /\bAuthorization\b/);
        assert.notEqual(headers.get("last-modified"), null);
        const tag = headers.get("etag") ?? "";
        assert.equal((await admin.get(path, { accept, "if-none-match": tag })).status, 304);
        assert.equal((await ann.get(path, { accept, "if-none-match": tag })).status, 200);
      });
    }

    it("a resource and a feed have Vary: Authorization", async () => {
      const one = await ann.get("/notes/a.1");
      assert.match(one.headers.get("vary") ?? "", /\bAuthorization\b/);
      const changes = await admin.get("/notes?since=0");
      assert.match(changes.headers.get("vary") ?? "", /\bAuthorization\b/);
    });

    it("an export that is too large for one chunk has no validator for a caller who sees a part", async () => {
      await admin.put("/-/collections/many", { access });
      const carl = new Client(app, await app.token("many:*"));
      const lines = Array.from({ length: 501 }, (_, n) => JSON.stringify({ n })).join("\n");
      const type = { "content-type": "application/x-ndjson" };
      assert.equal((await carl.post("/many", lines, type)).status, 200);
      const { headers, body } = await carl.get("/many", { accept: "application/x-ndjson" });
      assert.equal(body.trimEnd().split("\n").length, 501);
      assert.equal(headers.get("etag"), null);
      assert.equal(headers.get("last-modified"), null);
      const conditional = { accept: "application/x-ndjson", "if-none-match": '"x"' };
      assert.equal((await carl.get("/many", conditional)).status, 200);
    });

    it("where everyone sees all, nothing varies by caller", async () => {
      await admin.put("/-/collections/shared", {});
      await admin.put("/shared/a", { n: 1 });
      for (const path of ["/shared", "/shared/a", "/shared?since=0"])
        assert.doesNotMatch((await admin.get(path)).headers.get("vary") ?? "", /Authorization/);
    });
  });
}
