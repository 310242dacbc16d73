// Conditional requests on a collection and on its definition: each precondition in each state, and races.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client, concurrently } from "./client.ts";
import { assertProblem } from "./expect.ts";

/** What happens between reading the tag and the request. */
const changes = ["nothing", "a resource", "the definition", "deleted"] as const;
type Between = (typeof changes)[number];

/** Fields of a request by the tag that was read, and whether they hold for a state with or without that tag. */
const preconditions: readonly {
  readonly fields: (tag: string) => Readonly<Record<string, string>>;
  readonly holds: (state: "same" | "other" | "none") => boolean;
}[] = [
  { fields: () => ({}), holds: () => true },
  { fields: (tag) => ({ "if-match": tag }), holds: (state) => state === "same" },
  { fields: (tag) => ({ "if-match": `"x", ${tag}` }), holds: (state) => state === "same" },
  { fields: (tag) => ({ "if-match": `W/${tag}` }), holds: () => false },
  { fields: () => ({ "if-match": "*" }), holds: (state) => state !== "none" },
  { fields: () => ({ "if-none-match": "*" }), holds: (state) => state === "none" },
  { fields: (tag) => ({ "if-none-match": tag }), holds: (state) => state !== "same" },
  { fields: (tag) => ({ "if-none-match": `W/${tag}` }), holds: (state) => state !== "same" },
];

for (const store of storesHere("sqlite", ["sqlite", "postgres"]))
  describe(`preconditions on a definition, on ${store}`, () => {
    let app: TestApp;
    let admin: Client;
    before(async () => {
      app = await startApp(store === "postgres" ? { store } : {});
      admin = new Client(app);
    });
    after(() => app.stop());

    const whole = "/-/collections/things";
    const urls = [whole, `${whole}/definition`];
    const drop = (fields = {}) => admin.remove(`${whole}?confirm=things`, fields);

    /** The definition as it is stored; undefined without the collection. */
    async function stored(): Promise<string | undefined> {
      const { status, body } = await admin.get(`${whole}/definition`);
      return status === 200 ? body : undefined;
    }

    async function change(between: Between): Promise<void> {
      if (between === "a resource") await admin.post("/things", {});
      if (between === "the definition") await admin.put(whole, { cache: { maxAge: 9 } });
      if (between === "deleted") await drop();
    }

    /** Returns the tag of a state, which is then changed. */
    async function prepare(path: string, between: Between): Promise<string> {
      await drop();
      await admin.put(whole, {});
      const tag = await admin.tag(path);
      await change(between);
      return tag;
    }

    /** What the tag means after the change: a resource changes the collection and not the definition. */
    const stateAfter = (path: string, between: Between) =>
      between === "deleted"
        ? "none"
        : between === "nothing" || (between === "a resource" && path !== whole)
          ? "same"
          : "other";

    it("hold as RFC 9110 says, for each way to change it", async () => {
      for (const path of urls)
        for (const between of changes)
          for (const { fields, holds } of preconditions) {
            const tag = await prepare(path, between);
            const sent = fields(tag);
            const state = stateAfter(path, between);
            const what = JSON.stringify({ path, between, sent });
            const former = await stored();

            const tried = await admin.put(`${path}?dry-run=true`, { indexed: ["a"] }, sent);
            assert.equal(tried.status, holds(state) ? 200 : 412, what);
            assert.equal(await stored(), former, what);

            const put = await admin.put(path, { indexed: ["a"] }, sent);
            if (!holds(state)) assertProblem(put, "precondition-failed");
            else assert.equal(put.status, state === "none" ? 201 : 200, what);
            assert.equal(await stored(), holds(state) ? '{"indexed":["a"]}' : former, what);
            if (!holds(state)) continue;
            // The collection has more than what was sent, so only a GET has its tag (RFC 9110 §9.3.4).
            const tagNow = path === whole ? null : await admin.tag(path);
            assert.equal(put.headers.get("etag"), tagNow, what);
          }
    });

    it("hold for a deletion", async () => {
      for (const between of changes)
        for (const { fields, holds } of preconditions) {
          const tag = await prepare(whole, between);
          const state = stateAfter(whole, between);
          const what = JSON.stringify({ between, sent: fields(tag) });
          const expected = state === "none" ? 404 : holds(state) ? 204 : 412;
          assert.equal((await drop(fields(tag))).status, expected, what);
          assert.equal((await admin.get(whole)).status, expected === 412 ? 200 : 404, what);
        }
    });

    it("are 304 or 412 for reads, and malformed ones 400", async () => {
      for (const path of urls) {
        const tag = await prepare(path, "nothing");
        const got = await admin.get(path);
        assert.equal(got.headers.get("cache-control"), "no-store");
        assert.equal((await admin.get(path, { "if-none-match": tag })).status, 304);
        assert.equal((await admin.get(path, { "if-none-match": '"x"' })).status, 200);
        assertProblem(await admin.get(path, { "if-match": '"x"' }), "precondition-failed");
        for (const name of ["if-match", "if-none-match"])
          assertProblem(await admin.put(path, {}, { [name]: "x" }), "malformed-request");
        assertProblem(await drop({ "if-match": "x" }), "malformed-request");
        await admin.post("/things", {});
        const isWhole = path === whole;
        assert.equal((await admin.get(path, { "if-none-match": tag })).status, isWhole ? 200 : 304);
      }
    });

    it("let one of several clients through that send the same at once, beside other writes", async () => {
      const path = `${whole}/definition`;
      for (let round = 0; round < 5; round++) {
        const isNew = round % 2 === 0;
        const tag = await prepare(path, isNew ? "deleted" : "nothing");
        const answers = await concurrently(8, (n) =>
          n < 5
            ? admin.put(
                path,
                { cache: { maxAge: n + 1 } },
                isNew ? { "if-none-match": "*" } : { "if-match": tag },
              )
            : admin.post("/others", {}),
        );
        const [first, ...rest] = answers
          .slice(0, 5)
          .map(({ status }) => status)
          .sort();
        assert.deepEqual([first, ...rest], [isNew ? 201 : 200, 412, 412, 412, 412]);
        const winner = answers.findIndex(({ status }) => status < 300);
        assert.equal((await admin.get(path)).body, `{"cache":{"maxAge":${winner + 1}}}`);
      }
    });
  });
