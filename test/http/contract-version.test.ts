// The version of the contract in the OpenAPI document: it follows what a caller sees, and never goes back.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { version as serverVersion } from "../../src/lib/program.ts";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";
import type { Answer } from "./expect.ts";

for (const store of storesHere("sqlite", ["sqlite", "postgres"]))
  describe(`the version of the contract, on ${store}`, () => {
    let app: TestApp;
    let admin: Client;
    let reader: Client;
    let nobody: Client;
    before(async () => {
      app = await startApp(store === "postgres" ? { store } : {});
      admin = new Client(app);
      nobody = new Client(app, null);
      await put("/-/access", { roles: { staff: ["notes:read"] } });
      const token = { name: "reader", scopes: ["news:read"], roles: ["staff"] };
      const made = JSON.parse((await admin.post("/-/tokens", token)).body);
      reader = new Client(app, made.token);
    });
    after(() => app.stop());

    const put = async (path: string, body: unknown) => {
      const { status, body: text } = await admin.put(path, body);
      assert.ok(status < 300, text);
    };
    const remove = async (name: string) => {
      const { status, body } = await admin.remove(`/-/collections/${name}?confirm=${name}`);
      assert.equal(status, 204, body);
    };
    const document = (client: Client): Promise<Answer> => client.get("/-/openapi.json");
    const infoOf = async (client: Client) => JSON.parse((await document(client)).body).info;
    const versionOf = async (client: Client): Promise<string> => (await infoOf(client)).version;
    const numberOf = (version: string): number => {
      const [, number] = /^1\.(\d+)\.0\+[0-9a-f]{8}$/.exec(version) ?? assert.fail(version);
      return Number(number);
    };
    const withAccess = (read: string) => ({ access: { read } });

    it("is beside that of the server", async () => {
      assert.equal((await infoOf(nobody))["x-restante-version"], serverVersion);
    });

    it("is another one after each change that a caller sees, and never goes back", async () => {
      const changes: readonly (() => Promise<unknown>)[] = [
        () => put("/-/collections/news", withAccess("public")),
        // Within a second, so that its time runs ahead of the clock.
        () => put("/-/collections/news", { ...withAccess("public"), indexed: ["at"] }),
        () => put("/-/collections/news", { ...withAccess("public"), searchable: ["text"] }),
        () => put("/-/collections/news", withAccess("public")),
        () => remove("news"),
        () => admin.post("/news", {}),
        () => put("/-/collections/news", withAccess("public")),
        () => put("/-/collections/news", withAccess("token")),
        () => put("/-/collections/notes", {}),
        () => put("/-/collections/notes", { indexed: ["at"] }),
        () => put("/-/collections/notes", { indexed: ["by"] }),
        () => put("/-/access", { roles: {} }),
        () => remove("notes"),
        () => remove("news"),
      ];
      let last = await Promise.all([admin, reader, nobody].map(versionOf));
      const seen = new Set(last.slice(0, 1));
      for (const [index, change] of changes.entries()) {
        await change();
        const now = await Promise.all([admin, reader, nobody].map(versionOf));
        for (const [caller, version] of now.entries())
          assert.ok(numberOf(version) >= numberOf(last[caller] ?? ""), `${index}: ${caller}`);
        const isAnother = (now[0] ?? "") !== last[0];
        assert.ok(isAnother, `${index}: the administrator's is the same`);
        seen.add(now[0] ?? "");
        last = now;
      }
      assert.equal(seen.size, changes.length + 1);
    });

    it("does not move with what a caller does not see", async () => {
      await put("/-/collections/news", withAccess("public"));
      await admin.post("/open", {});
      const opener = new Client(app, await app.token("open:read"));
      const seen = await document(nobody);
      const version = await versionOf(opener);
      const target = (collection: string) => ({ collection });
      await put("/-/collections/secret", {
        references: { news: target("news"), open: target("open") },
      });
      await admin.post("/secret", {});
      await put("/-/collections/secret", { indexed: ["at"] });
      await admin.post("/plans", {});
      await admin.post("/news", {});
      const again = await document(nobody);
      assert.equal(again.body, seen.body);
      assert.equal(again.headers.get("etag"), seen.headers.get("etag"));
      assert.equal(await versionOf(opener), version);
    });

    it("is the same where the contract is the same", async () => {
      const [one, other] = [
        await versionOf(admin),
        await versionOf(new Client(app, await app.token("admin"))),
      ];
      assert.equal(one, other);
    });
  });
