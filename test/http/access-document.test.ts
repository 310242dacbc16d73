// The access document: how it is read and replaced, what is rejected, and that it is no collection.

import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client, concurrently, pointersOf } from "./client.ts";
import { type Answer, assertProblem, type ProblemBody } from "./expect.ts";

const path = "/-/access";

for (const store of storesHere("sqlite", ["sqlite", "postgres"]))
  describe(`the access document, on ${store}`, () => {
    let app: TestApp;
    let admin: Client;
    before(async () => {
      app = await startApp(store === "postgres" ? { store } : {});
      admin = new Client(app);
    });
    after(() => app.stop());

    const shown = async (): Promise<unknown> => (await admin.json<object>(path)) as unknown;

    it("is empty at first", async () => {
      assert.deepEqual(await shown(), { roles: {}, sets: {} });
      assert.equal((await admin.put(path, {}, { "if-none-match": "*" })).status, 412);
    });

    it("is replaced as a whole, and shown with its defaults", async () => {
      const roles = { editor: ["posts:*", "images:create"], root: ["admin"], nobody: [] };
      const replaced = await admin.put(path, { roles });
      assert.equal(replaced.status, 200, replaced.body);
      assert.equal(replaced.headers.get("cache-control"), "no-store");
      const got = await admin.get(path);
      assert.deepEqual([got.status, got.body], [200, JSON.stringify({ roles, sets: {} })]);
      assert.equal(got.headers.get("cache-control"), "private, no-cache");
      // What is stored has a member more than what was sent, so only a GET has the tag (RFC 9110 §9.3.4).
      assert.equal(replaced.headers.get("etag"), null);
      const unchanged = await admin.put(path, got.body);
      assert.equal(unchanged.headers.get("etag"), got.headers.get("etag"));
      assert.equal(got.headers.get("last-modified"), null);
      const head = await app.request(path, { method: "HEAD" });
      assert.deepEqual([head.status, await head.text()], [200, ""]);
      assert.equal(head.headers.get("etag"), got.headers.get("etag"));
      assert.equal((await admin.put(path, {})).body, '{"roles":{},"sets":{}}');
      assert.deepEqual(await shown(), { roles: {}, sets: {} });
    });

    it("is 304 for a client that has it, also compressed", async () => {
      const scopes = Array.from({ length: 100 }, (_, n) => `collection-${n}:read`);
      await admin.put(path, { roles: { reader: scopes } });
      for (const coding of ["identity", "gzip"]) {
        const headers = { "accept-encoding": coding };
        const etag = (await admin.get(path, headers)).headers.get("etag") ?? "";
        const again = await admin.get(path, { ...headers, "if-none-match": etag });
        assert.deepEqual([again.status, again.body], [304, ""]);
        const body = { roles: { reader: scopes.slice(1) } };
        assert.equal((await admin.put(path, body, { "if-match": etag })).status, 200);
        assert.equal((await admin.get(path, { "if-none-match": etag })).status, 200);
        await admin.put(path, { roles: { reader: scopes } });
      }
    });

    it("is replaced only in the state that If-Match names", async () => {
      const tag = await admin.putAndReadTag(path, { roles: { a: [] } });
      const other = await admin.putAndReadTag(path, { roles: { b: [] } });
      const attempt = (fields: Readonly<Record<string, string>>) =>
        admin.put(path, { roles: { c: [] } }, fields);
      for (const failing of [
        { "if-match": tag },
        { "if-match": `W/${other}` },
        { "if-none-match": "*" },
        { "if-none-match": other },
      ])
        assertProblem(await attempt(failing), "precondition-failed");
      assertProblem(await attempt({ "if-match": "b" }), "malformed-request");
      assertProblem(await attempt({ "if-none-match": "b" }), "malformed-request");
      assertProblem(await admin.get(path, { "if-match": tag }), "precondition-failed");
      assert.deepEqual(await shown(), { roles: { b: [] }, sets: {} });
      assert.equal((await attempt({ "if-match": `${tag}, ${other}` })).status, 200);
      assert.equal((await attempt({ "if-match": "*" })).status, 200);
      assert.equal((await attempt({ "if-none-match": tag })).status, 200);
      assert.deepEqual(await shown(), { roles: { c: [] }, sets: {} });
    });

    it("is replaced once by clients that send the same If-Match at once", async () => {
      for (let round = 0; round < 5; round++) {
        const tag = await admin.putAndReadTag(path, { roles: { [`round-${round}`]: [] } });
        const answers = await concurrently(6, (index) =>
          admin.put(path, { roles: { [`by-${index}`]: [] } }, { "if-match": tag }),
        );
        const statuses = answers.map(({ status }) => status).sort();
        assert.deepEqual(statuses, [200, 412, 412, 412, 412, 412]);
        const winner = answers.find(({ status }) => status === 200);
        assert.equal((await admin.get(path)).body, winner?.body);
      }
    });

    it("is rejected with all its errors, and does not change", async () => {
      const before = await admin.get(path);
      const pointers = async (body: unknown) =>
        pointersOf(assertProblem(await admin.put(path, body), "invalid-body"));
      assert.deepEqual(
        await pointers({
          roles: { ok: ["a:read"], Upper: [], _a: [], b: "admin", c: ["admin", "x", 1] },
          sets: [],
          groups: {},
        }),
        ["/roles/Upper", "/roles/_a", "/roles/b", "/roles/c/1", "/roles/c/2", "/sets", "/groups"],
      );
      assert.deepEqual(await pointers({ roles: [] }), ["/roles"]);
      assert.deepEqual(await pointers({ roles: null }), ["/roles"]);
      assert.deepEqual(await pointers('{"roles":{"a":[],"a":[]}}'), ["/roles/a"]);
      assert.deepEqual(await pointers("[]"), [""]);
      assert.deepEqual(await pointers("{"), [""]);
      assert.deepEqual(await pointers({ roles: { ["a".repeat(64)]: [] } }), [
        `/roles/${"a".repeat(64)}`,
      ]);
      const names = (count: number) => Array.from({ length: count }, (_, n) => `r${n}`);
      const roles = (count: number) => Object.fromEntries(names(count).map((name) => [name, []]));
      assert.deepEqual(await pointers({ roles: roles(101) }), ["/roles"]);
      assert.deepEqual(await pointers({ roles: { a: names(101).map((name) => `${name}:read`) } }), [
        "/roles/a",
      ]);
      assertProblem(await admin.put(`${path}?dry-run=true`, {}), "invalid-parameter");
      assertProblem(
        await admin.put(path, "roles=", { "content-type": "text/plain" }),
        "unsupported-media-type",
      );
      const after = await admin.get(path);
      assert.deepEqual(
        [after.body, after.headers.get("etag")],
        [before.body, before.headers.get("etag")],
      );
      assert.equal((await admin.put(path, { roles: roles(100) })).status, 200);
    });

    it("says what the name of a role and a scope are made of", async () => {
      const body = { roles: { "1": [], a: ["posts"] } };
      const { errors = [] } = assertProblem(await admin.put(path, body), "invalid-body");
      assert.match(errors[0]?.detail ?? "", /^"1" is not the name of a role: use 1 to 63 /);
      assert.match(errors[1]?.detail ?? "", /^"posts" is not a scope: use "admin", /);
    });

    it("is for administrators only, and has no other methods", async () => {
      const others = [
        [new Client(app, null), "unauthenticated"],
        [new Client(app, await app.token("*:*", "action:*")), "insufficient-scope"],
      ] as const;
      for (const [client, kind] of others) {
        assertProblem(await client.get(path), kind);
        assertProblem(await client.put(path, {}), kind);
        assertProblem(await client.put(path, "{", { "if-match": "x" }), kind);
      }
      for (const method of ["POST", "PATCH", "DELETE"]) {
        const { status, headers } = await app.request(path, { method });
        assert.deepEqual([status, headers.get("allow")], [405, "GET, HEAD, PUT, QUERY, OPTIONS"]);
      }
    });

    describe("is no collection", () => {
      beforeEach(async () => {
        assert.equal((await admin.put(path, { roles: { editor: ["posts:*"] } })).status, 200);
      });

      /** All requests to a name, as an administrator and as others. */
      const requestsTo = (name: string): readonly (readonly [string, string, unknown?])[] => [
        ["GET", `/${name}`],
        ["HEAD", `/${name}`],
        ["GET", `/${name}?since=0`],
        ["GET", `/${name}?roles=1`],
        ["GET", `/${name}?aggregate=count`],
        ["QUERY", `/${name}`, {}],
        ["POST", `/${name}`, { a: 1 }],
        ["PUT", `/${name}?a=1`, { a: 1 }],
        ["GET", `/${name}/a`],
        ["PUT", `/${name}/a`, { a: 1 }],
        ["PATCH", `/${name}/a`, { a: 1 }],
        ["DELETE", `/${name}/a`],
        ["GET", `/${name}/a/file`],
        ["GET", `/-/collections/${name}`],
        ["PUT", `/-/collections/${name}`, {}],
        ["PUT", `/-/collections/${name}?dry-run=true`, {}],
        ["DELETE", `/-/collections/${name}`],
        ["DELETE", `/-/collections/${name}?confirm=${name}`],
        ["POST", "/-/batch", { operations: [{ method: "POST", path: `/${name}`, body: {} }] }],
        ["POST", "/-/batch", { operations: [{ method: "DELETE", path: `/${name}/a` }] }],
      ];

      const send = async (name: string, token: string | null): Promise<readonly unknown[]> => {
        const answers: unknown[] = [];
        for (const [method, target, body] of requestsTo(name)) {
          const sent = body === undefined ? {} : { body: JSON.stringify(body) };
          const headers = { "content-type": "application/json" };
          const response = await app.request(target, { method, headers, token, ...sent });
          answers.push([method, target, response.status, await textOf(response, name)]);
        }
        return answers.map((answer) => JSON.parse(JSON.stringify(answer).replaceAll(name, "*")));
      };

      /** The problem without what differs in each response. */
      const textOf = async (response: Response, name: string): Promise<unknown> => {
        const text = await response.text();
        if (text === "") return "";
        const { requestId: _, instance: __, ...problem }: ProblemBody = JSON.parse(text);
        return JSON.stringify(problem).replaceAll(name, "*");
      };

      it("answers as a name that nothing has, whoever asks", async () => {
        const tokens = [app.admin, null, await app.token("*:*"), await app.token("people:read")];
        for (const token of tokens)
          for (const name of ["-access", "%2Daccess"])
            assert.deepEqual(
              await send(name, token),
              await send(name.replace("access", "absent"), token),
            );
        assert.deepEqual(await shown(), { roles: { editor: ["posts:*"] }, sets: {} });
      });

      it("is in no list of collections and in no document", async () => {
        await app.post("people", { name: "Ada" });
        const { data } = await admin.json<{ data: readonly { name: string }[] }>("/-/collections");
        assert.deepEqual(
          data.map(({ name }) => name),
          ["people"],
        );
        assert.doesNotMatch((await admin.get("/-/openapi.json")).body, /-access/);
      });

      it("is referred to by no definition", async () => {
        const references = { a: { collection: "-access" } };
        const rejected: Answer = await admin.put("/-/collections/people", { references });
        assert.deepEqual(pointersOf(assertProblem(rejected, "invalid-body")), [
          "/references/a/collection",
        ]);
      });

      it("leaves a collection named access alone", async () => {
        assert.equal((await admin.put("/-/collections/access", {})).status, 201);
        await app.post("access", { roles: 1 });
        assert.equal((await admin.get("/access")).status, 200);
        assert.equal((await admin.remove("/-/collections/access?confirm=access")).status, 204);
        assert.deepEqual(await shown(), { roles: { editor: ["posts:*"] }, sets: {} });
      });
    });
  });
