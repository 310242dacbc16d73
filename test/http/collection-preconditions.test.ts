// Preconditions of a POST are about the collection (RFC 9110 §13.1.1), and hold until the commit.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client, concurrently } from "./client.ts";
import { type Answer, assertProblem } from "./expect.ts";

type Fields = Readonly<Record<string, string>>;

const past = "Thu, 01 Jan 2015 00:00:00 GMT";
const future = "Fri, 01 Jan 2100 00:00:00 GMT";

/** Every way to POST to a collection. */
const ways: Readonly<Record<string, readonly [type: string, body: string]>> = {
  JSON: ["application/json", '{"n":1}'],
  "a form": ["application/x-www-form-urlencoded", "n=1"],
  NDJSON: ["application/x-ndjson", '{"n":1}\n'],
  CSV: ["text/csv", "n\n1\n"],
};

for (const store of storesHere("sqlite", ["sqlite", "postgres"]))
  describe(`preconditions of a POST, on ${store}`, () => {
    let app: TestApp;
    let admin: Client;
    before(async () => {
      app = await startApp(store === "postgres" ? { store } : {});
      admin = new Client(app);
    });
    after(() => app.stop());

    for (const [way, [type, body]] of Object.entries(ways)) {
      const path = `/by-${way.toLowerCase().replace(" ", "-")}`;
      const post = (condition: Fields) =>
        admin.post(path, body, { "content-type": type, ...condition });
      const holds = async (condition: Fields) => {
        const { total } = await admin.json<{ total: number }>(path);
        const { status, body: answer } = await post(condition);
        assert.ok(status === 201 || status === 200, `${status} ${answer}`);
        assert.equal((await admin.json<{ total: number }>(path)).total, total + 1);
      };
      const fails = (condition: Fields, kind: "precondition-failed" | "malformed-request") =>
        admin.rejects(path.slice(1), kind, () => post(condition));

      it(`hold or fail with ${way} as with other methods`, async () => {
        await admin.post(path, { n: 0 });
        const stale = await admin.tag(path);
        await admin.post(path, { n: 0 });
        await holds({ "if-match": await admin.tag(path) });
        await holds({ "if-match": `"x", ${await admin.tag(`${path}?page=2&limit=1`)}` });
        await holds({ "if-match": "*" });
        await holds({ "if-none-match": stale });
        await holds({ "if-unmodified-since": future, "if-match": await admin.tag(path) });
        await holds({ "if-modified-since": future });
        const tag = await admin.tag(path);
        for (const field of [stale, `W/${tag}`, '"x"'])
          await fails({ "if-match": field }, "precondition-failed");
        for (const field of ["*", tag, `W/${tag}`])
          await fails({ "if-none-match": field }, "precondition-failed");
        await fails({ "if-unmodified-since": past }, "precondition-failed");
        for (const name of ["if-match", "if-none-match"])
          await fails({ [name]: "without quotes" }, "malformed-request");
      });
    }

    it("let one of many POSTs with the same tag succeed", async () => {
      await admin.post("/turns", {});
      const tag = await admin.tag("/turns");
      const answers = await concurrently(12, () => admin.post("/turns", {}, { "if-match": tag }));
      assert.equal(answers.filter(({ status }) => status === 201).length, 1);
      for (const answer of answers)
        if (answer.status !== 201) assertProblem(answer, "precondition-failed");
      assert.equal(await app.total("turns"), 2);
    });

    it("are checked after all else, and not for a replayed result", async () => {
      await admin.put("/-/collections/orders", { schema: { required: ["sum"] } });
      const wrong = { "if-match": '"x"' };
      assertProblem(await admin.post("/orders", {}, wrong), "invalid-body");
      const reader = new Client(app, await app.token("orders:read"));
      assertProblem(await reader.post("/orders", { sum: 1 }, wrong), "insufficient-scope");
      const once = { "if-match": await admin.tag("/orders"), "idempotency-key": '"k1"' };
      const first = await admin.post("/orders", { sum: 1 }, once);
      const again = await admin.post("/orders", { sum: 1 }, once);
      assert.deepEqual([first.status, again.status, again.body], [201, 201, first.body]);
      assert.equal(again.headers.get("idempotency-replayed"), "true");
      assert.equal(await app.total("orders"), 1);
    });

    it("of a collection that does not exist: no tag matches, and none is there", async () => {
      for (const field of ["*", '"x"'])
        assertProblem(await admin.post("/new", {}, { "if-match": field }), "precondition-failed");
      assertProblem(await admin.get("/new"), "not-found");
      const created = await admin.post("/new", {}, { "if-none-match": "*" });
      assert.equal(created.status, 201, created.body);
    });

    it("are about what the caller sees", async () => {
      const access = { read: "owner", update: "owner", delete: "owner" };
      await admin.put("/-/collections/notes", { access });
      const [ann, bob] = [
        new Client(app, await app.token("notes:*")),
        new Client(app, await app.token("notes:*")),
      ];
      const tag = await ann.tag("/notes");
      await bob.post("/notes", {});
      // What others write does not change it.
      const first = await ann.post("/notes", {}, { "if-match": tag });
      assert.equal(first.status, 201, first.body);
      assertProblem(await ann.post("/notes", {}, { "if-match": tag }), "precondition-failed");
      const whole = await admin.tag("/notes");
      assertProblem(await ann.post("/notes", {}, { "if-match": whole }), "precondition-failed");
      // There is no date that it could be compared with.
      const byDate = await ann.post("/notes", {}, { "if-unmodified-since": past });
      assert.equal(byDate.status, 201, byDate.body);
    });

    it("tell a caller who may not read nothing about the collection", async () => {
      await admin.post("/letters", {});
      const sender = new Client(app, await app.token("letters:create"));
      const tag = await admin.tag("/letters");
      const send = (condition: Fields): Promise<Answer> => sender.post("/letters", {}, condition);
      for (const field of [tag, '"x"'])
        assertProblem(await send({ "if-match": field }), "precondition-failed");
      for (const condition of [
        { "if-match": "*" },
        { "if-none-match": tag },
        { "if-unmodified-since": past },
      ])
        assert.equal((await send(condition)).status, 201);
    });
  });
