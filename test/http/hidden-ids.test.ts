// An id of another owner's resource gets the same response as an unused id, whatever else is wrong.
// @tier all

import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import { itOn } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";
import type { Answer } from "./expect.ts";

const mine = [{ name: "mine", to: "owner" }];
const kinds = {
  shorthands: { read: "owner", update: "owner", delete: "owner" },
  grants: { read: mine, update: mine, delete: mine },
};
const schema = { properties: { n: { type: "integer" }, code: { type: "string" } } };

/** What depends on the request alone: its number and its address. */
const wordsOf = ({ status, body }: Answer, id: string): string =>
  `${status} ${body.replace(/"requestId":"[^"]*"/, "").replaceAll(`/${id}`, "/…")}`;

type Ask = (client: Client, path: string) => Promise<Answer>;

/** Each would be rejected for an unused id, or has no effect on one. */
const rejected: Readonly<Record<string, Ask>> = {
  "PUT, with an impossible If-Match": (client, path) => client.put(path, {}, { "if-match": '"x"' }),
  "PUT, with If-Match: *": (client, path) => client.put(path, {}, { "if-match": "*" }),
  "PUT, with an invalid body": (client, path) => client.put(path, { n: "x" }),
  "PUT, with malformed JSON": (client, path) => client.put(path, "{"),
  "PUT, with another id": (client, path) => client.put(path, { id: "another" }),
  "PUT, with a value that must be unique": (client, path) => client.put(path, { code: "mine" }),
  PATCH: (client, path) => client.patch(path, { n: "x" }),
  "PATCH, with a condition": (client, path) => client.patch(path, {}, { "if-match": '"x"' }),
  DELETE: (client, path) => client.remove(path),
  "DELETE, with a condition": (client, path) => client.remove(path, { "if-match": '"x"' }),
  GET: (client, path) => client.get(path),
  "GET of a file": (client, path) => client.get(`${path}/file`),
  "a PUT in a batch, with an impossible ifMatch": (client, path) =>
    client.batch([{ method: "PUT", path, body: {}, ifMatch: '"x"' }]),
  "a PUT in a batch, with an invalid body": (client, path) =>
    client.batch([{ method: "PUT", path, body: { n: "x" } }]),
  "a PUT in a batch, with a value that must be unique": (client, path) =>
    client.batch([{ method: "PUT", path, body: { code: "mine" } }]),
  "a PUT in a batch, with a fault after it": (client, path) =>
    client.batch([
      { method: "PUT", path, body: {} },
      { method: "PATCH", path, body: { n: 2 } },
      { method: "PUT", path: "/notes/new", body: { n: "x" } },
    ]),
  "a PUT in a batch, with a conflict after it": (client, path) =>
    client.batch([
      { method: "PUT", path, body: { n: 1 } },
      { method: "PUT", path, body: { n: 2 } },
      { method: "DELETE", path },
      { method: "POST", path: "/notes", body: { code: "mine" } },
    ]),
  "a PATCH in a batch": (client, path) => client.batch([{ method: "PATCH", path, body: {} }]),
  "a DELETE in a batch": (client, path) => client.batch([{ method: "DELETE", path }]),
};

const cases = ["sqlite", "postgres"].flatMap((store) =>
  Object.entries(kinds).map(([kind, access]) => ({ store, kind, access })),
);

for (const { store, kind, access } of cases) {
  const it = itOn(store);
  describe(`an id of another owner, by ${kind}, on ${store}`, () => {
    let app: TestApp;
    let admin: Client;
    let ann: Client;
    let bob: Client;
    let updater: Client;
    before(async () => {
      app = await startApp(store === "postgres" ? { store } : {});
      admin = new Client(app);
      ann = new Client(app, await app.token("notes:*"));
      bob = new Client(app, await app.token("notes:*"));
      updater = new Client(app, await app.token("notes:read", "notes:update"));
      await admin.put("/-/collections/notes", { access, schema, unique: ["code"] });
      assert.equal((await ann.put("/notes/taken", { n: 1, code: "anns" })).status, 201);
      assert.equal((await bob.put("/notes/mine", { n: 1, code: "mine" })).status, 201);
    });
    after(() => app.stop());

    for (const [words, ask] of Object.entries(rejected)) {
      it(`${words}: gets the response of an unused id`, async () => {
        const before = await admin.state("notes");
        for (const client of [bob, updater]) {
          const hidden = await ask(client, "/notes/taken");
          const nothing = await ask(client, "/notes/free");
          assert.equal(wordsOf(hidden, "taken"), wordsOf(nothing, "free"));
          assert.ok(hidden.status >= 400);
        }
        assert.deepEqual(await admin.state("notes"), before);
      });
    }

    it("a PUT that is otherwise valid is 409, alone and in a batch", async () => {
      const before = await admin.state("notes");
      const put = { method: "PUT", path: "/notes/taken", body: { n: 2, code: "new" } };
      assert.equal((await bob.put("/notes/taken", put.body)).status, 409);
      assert.equal((await bob.put("/notes/taken", {}, { "if-none-match": "*" })).status, 409);
      const batch = await bob.batch([{ method: "POST", path: "/notes", body: {} }, put]);
      assert.equal(batch.status, 409);
      assert.match(batch.body, /id is taken/);
      assert.match(batch.body, /\/operations\/1/);
      assert.deepEqual(await admin.state("notes"), before);
      assert.equal((await ann.put("/notes/taken", { n: 1, code: "anns" })).status, 200);
    });

    it("a collection that requires preconditions requires them for both", async () => {
      const definition = { access, preconditions: "required" };
      await admin.put("/-/collections/strict", definition);
      const [carl, dora] = [
        new Client(app, await app.token("strict:*")),
        new Client(app, await app.token("strict:*")),
      ];
      await carl.put("/strict/taken", {}, { "if-none-match": "*" });
      const answers = [
        await dora.put("/strict/taken", {}),
        await dora.put("/strict/free", {}),
      ] as const;
      assert.equal(wordsOf(answers[0], "taken"), wordsOf(answers[1], "free"));
      assert.equal(answers[0].status, 428);
    });
  });
}
