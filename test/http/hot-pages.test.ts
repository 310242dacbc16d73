// Pages on Postgres: a page is rendered once while its collection does not change, in any server.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { newSecret } from "../../src/model/secret.ts";
import { PostgresServer } from "../postgres-server.ts";
import { startApp, type TestApp } from "./app.ts";

let server: PostgresServer;
let url: string;
let one: TestApp;
let other: TestApp;
before(async () => {
  server = await PostgresServer.shared();
  url = await server.preparedDatabase();
  const config = { store: url, adminToken: newSecret() };
  one = await startApp(config);
  other = await startApp(config);
});
after(async () => {
  await one.stop();
  await other.stop();
  await server.close();
});

const statusOf = async (app: TestApp, path: string): Promise<number> =>
  (await app.request(path)).status;

/** Damages every resource without a new revision, so that reading one is an error. */
const damage = (): Promise<void> =>
  server.admin(async (sql) => {
    await sql`UPDATE restante.resources SET checksum = checksum + 1`;
  }, url);

const queries = ["", "?page=1&limit=2", "?sort=-n", "?n[gt]=0"];

describe("a page on Postgres", () => {
  for (const [index, query] of queries.entries())
    it(`is read again only after a write: ${query || "without parameters"}`, async () => {
      const name = `things-${index}`;
      const path = `/${name}${query}`;
      await one.post(name, { n: 1 });
      assert.equal(await statusOf(one, path), 200);
      await damage();
      assert.deepEqual(await Promise.all([statusOf(one, path), statusOf(one, path)]), [200, 200]);
      // The write of another server counts too.
      await other.post(name, { n: 2 });
      assert.equal(await statusOf(one, path), 500);
    });
});
