// What a caller is told about itself, and how it ends its own credential.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";
import { assertProblem, expectProblem } from "./expect.ts";

for (const store of storesHere("sqlite", ["sqlite", "postgres"]))
  describe(`a caller, on ${store}`, () => {
    let app: TestApp;
    let admin: Client;
    before(async () => {
      app = await startApp(store === "postgres" ? { store } : {});
      admin = new Client(app);
      const { status, body } = await admin.put("/-/access", { roles: { editor: ["posts:*"] } });
      assert.equal(status, 200, body);
    });
    after(() => app.stop());

    const issue = async (request: object) => {
      const { status, body } = await admin.post("/-/tokens", request);
      assert.equal(status, 201, body);
      const issued = JSON.parse(body);
      return { ...issued, client: new Client(app, issued.token) };
    };

    it("is told who it is and what it may do now", async () => {
      const expiresAt = "2999-01-31T12:00:00.000Z";
      const roles = ["editor", "ghost"];
      const made = { name: "Ann's phone", subject: "ann", scopes: ["notes:read"], roles };
      const { client } = await issue({ ...made, expiresAt });
      const { status, body, headers } = await client.get("/-/me");
      assert.equal(status, 200, body);
      assert.deepEqual(JSON.parse(body), {
        ...{ kind: "token", subject: "ann", name: "Ann's phone" },
        ...{ scopes: ["notes:read", "posts:*"], roles: ["editor"], expiresAt },
      });
      assert.equal(headers.get("cache-control"), "no-store");
      const { id, client: other } = await issue({ name: "t", scopes: ["notes:read"] });
      const { subject, expiresAt: never } = JSON.parse((await other.get("/-/me")).body);
      assert.deepEqual([subject, never], [id, null]);
      await expectProblem(app.request("/-/me", { token: null }), "unauthenticated");
    });

    it("ends its own token, and no other", async () => {
      const [one, other] = [
        await issue({ name: "one", scopes: ["notes:read"], subject: "ann" }),
        await issue({ name: "other", scopes: ["notes:read"], subject: "ann" }),
      ];
      const { status, body } = await one.client.remove("/-/me/credential");
      assert.deepEqual([status, body], [204, ""]);
      assertProblem(await one.client.get("/-/me"), "unauthenticated");
      assertProblem(await one.client.remove("/-/me/credential"), "unauthenticated");
      assert.equal((await other.client.get("/-/me")).status, 200);
      const { revokedAt } = JSON.parse((await admin.get(`/-/tokens/${one.id}`)).body);
      assert.ok(revokedAt !== null);
    });
  });
