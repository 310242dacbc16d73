// Roles of tokens: how a token gets them, and that it has the scopes that they give at the time of each request.

import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client, pointersOf } from "./client.ts";
import { assertProblem } from "./expect.ts";

interface IssuedToken {
  readonly id: string;
  readonly token: string;
  readonly scopes: readonly string[];
  readonly roles: readonly string[];
}

for (const store of storesHere("sqlite", ["sqlite", "postgres"]))
  describe(`roles, on ${store}`, () => {
    let app: TestApp;
    let admin: Client;
    before(async () => {
      app = await startApp(store === "postgres" ? { store } : {});
      admin = new Client(app);
      for (const name of ["posts", "images"]) await app.post(name, { of: name });
    });
    beforeEach(() => setRoles({}));
    after(() => app.stop());

    const setRoles = async (roles: Readonly<Record<string, readonly string[]>>): Promise<void> => {
      const { status, body } = await admin.put("/-/access", { roles });
      assert.equal(status, 200, body);
    };

    const issue = async (request: object): Promise<IssuedToken> => {
      const { status, body } = await admin.post("/-/tokens", { name: "t", scopes: [], ...request });
      assert.equal(status, 201, body);
      return JSON.parse(body);
    };

    const clientWith = async (request: object): Promise<Client> =>
      new Client(app, (await issue(request)).token);

    it("are shown with the token, each once", async () => {
      const { token: _, ...made } = await issue({ roles: ["b", "a", "b"], scopes: ["posts:read"] });
      assert.deepEqual([made.scopes, made.roles], [["posts:read"], ["b", "a"]]);
      assert.deepEqual(await admin.json(`/-/tokens/${made.id}`), made);
      const { data } = await admin.json<{ data: readonly IssuedToken[] }>("/-/tokens");
      assert.deepEqual(
        data.find(({ id }) => id === made.id),
        made,
      );
      assert.deepEqual((await issue({ scopes: ["admin"] })).roles, []);
    });

    it("are rejected when they are malformed, and replace scopes only if there are some", async () => {
      const pointers = async (request: object) => {
        const answer = await admin.post("/-/tokens", { name: "t", ...request });
        return pointersOf(assertProblem(answer, "invalid-body"));
      };
      assert.deepEqual(await pointers({ scopes: [], roles: [] }), ["/scopes"]);
      assert.deepEqual(await pointers({ scopes: [] }), ["/scopes"]);
      assert.deepEqual(await pointers({ roles: ["a"] }), ["/scopes"]);
      assert.deepEqual(await pointers({ scopes: ["x"], roles: ["A", "a", 1, ""] }), [
        "/scopes/0",
        "/roles/0",
        "/roles/2",
        "/roles/3",
      ]);
      assert.deepEqual(await pointers({ scopes: ["admin"], roles: "a" }), ["/roles"]);
      const many = Array.from({ length: 101 }, (_, n) => `r${n}`);
      assert.deepEqual(await pointers({ scopes: ["admin"], roles: many }), ["/roles"]);
      assert.deepEqual((await issue({ roles: many.slice(1) })).roles, many.slice(1));
    });

    it("are part of what an Idempotency-Key stands for", async () => {
      const key = { "idempotency-key": '"roles"' };
      const post = (roles?: readonly string[]) =>
        admin.post("/-/tokens", { name: "once", subject: "s", scopes: ["a:read"], roles }, key);
      assert.equal((await post(["a", "b"])).status, 201);
      assertProblem(await post(["b", "a"]), "conflict");
      assertProblem(await post(["a"]), "key-reused");
      assertProblem(await post(), "key-reused");
    });

    it("give their scopes from the next request on, and take them as soon", async () => {
      const client = await clientWith({ roles: ["editor"], scopes: ["images:read"] });
      const statuses = async () => [
        (await client.get("/posts")).status,
        (await client.get("/images")).status,
        (await client.post("/posts", {})).status,
      ];
      for (let round = 0; round < 3; round++) {
        await setRoles({ other: ["admin"] });
        for (let repeated = 0; repeated < 3; repeated++)
          assert.deepEqual(await statuses(), [403, 200, 403]);
        await setRoles({ editor: ["posts:read"] });
        for (let repeated = 0; repeated < 3; repeated++)
          assert.deepEqual(await statuses(), [200, 200, 403]);
        await setRoles({ editor: ["posts:*"] });
        for (let repeated = 0; repeated < 3; repeated++)
          assert.deepEqual(await statuses(), [200, 200, 201]);
      }
      await setRoles({});
      const { detail } = assertProblem(await client.get("/posts"), "insufficient-scope");
      assert.equal(detail, "The token needs the scope posts:read.");
    });

    it("add up, and a role that the document does not name gives nothing", async () => {
      const roles = ["reader", "writer", "constructor", "later"];
      const client = await clientWith({ roles });
      await setRoles({ reader: ["posts:read"], writer: ["images:create"] });
      assert.equal((await client.get("/posts")).status, 200);
      assert.equal((await client.post("/images", {})).status, 201);
      assert.equal((await client.get("/images")).status, 403);
      await setRoles({ later: ["images:read"] });
      assert.equal((await client.get("/images")).status, 200);
      assert.equal((await client.get("/posts")).status, 403);
    });

    it("may make an administrator, who can then take the role away", async () => {
      const client = await clientWith({ roles: ["root"] });
      assertProblem(await client.get("/-/tokens"), "insufficient-scope");
      await setRoles({ root: ["admin"] });
      assert.equal((await client.get("/-/tokens")).status, 200);
      assert.equal((await client.get("/posts?fields=_owner")).status, 200);
      assert.equal((await client.put("/-/access", {})).status, 200);
      assertProblem(await client.put("/-/access", {}), "insufficient-scope");
      assertProblem(await client.get("/posts?fields=_owner"), "insufficient-scope");
    });

    it("do not help a token that is revoked", async () => {
      await setRoles({ root: ["admin"] });
      const { id, token } = await issue({ roles: ["root"] });
      const client = new Client(app, token);
      assert.equal((await client.get("/posts")).status, 200);
      assert.equal((await client.remove(`/-/tokens/${id}`)).status, 204);
      assertProblem(await client.get("/posts"), "unauthenticated");
      await setRoles({ root: ["admin", "posts:*"] });
      assertProblem(await client.get("/posts"), "unauthenticated");
    });

    it("show their collections in the OpenAPI document", async () => {
      const client = await clientWith({ roles: ["reader"] });
      const paths = async () =>
        Object.keys((await client.json<{ paths: object }>("/-/openapi.json")).paths);
      assert.ok(!(await paths()).includes("/posts"));
      await setRoles({ reader: ["posts:read"] });
      assert.ok((await paths()).includes("/posts"));
      assert.ok(!(await paths()).includes("/images"));
    });
  });
