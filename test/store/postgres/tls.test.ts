// TLS to the database server, as `sslmode` in its URL asks for it.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { openPostgres } from "../../../src/store/postgres/postgres.ts";
import { makeCertificate } from "../../certificates.ts";
import { PostgresServer } from "../../postgres-server.ts";
import { start } from "../../process.ts";
import { create, put, totalOf } from "../contract/change-helpers.ts";
import { until } from "./test-databases.ts";

const certificate = makeCertificate();
let server: PostgresServer;
let hasTls: boolean;
before(async () => {
  server = await PostgresServer.start();
  hasTls = await server.useCertificate(certificate);
  if (hasTls)
    await until(async () => (await server.admin((sql) => sql`SHOW ssl`))[0]?.ssl === "on");
});
after(() => server?.close());

async function databaseWith(sslmode: string): Promise<string> {
  const url = new URL(await server.preparedDatabase());
  // The certificate is for this name.
  url.hostname = "localhost";
  url.searchParams.set("sslmode", sslmode);
  return url.href;
}

/** Whether the connections of stores to this database are encrypted, each. */
async function encrypted(url: string): Promise<readonly boolean[]> {
  const database = new URL(url).pathname.slice(1);
  const found = await server.admin(
    (sql) => sql`
      SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
      WHERE application_name = 'restante' AND datname = ${database}`,
  );
  return found.map(({ ssl }) => ssl);
}

function skipWithoutTls(context: TestContext): boolean {
  if (!hasTls) context.skip("this Postgres was built without TLS");
  return !hasTls;
}

describe("a database server with TLS", () => {
  for (const sslmode of ["require", "prefer"])
    it(`is used encrypted with sslmode=${sslmode}`, async (context) => {
      if (skipWithoutTls(context)) return;
      const url = await databaseWith(sslmode);
      const store = await openPostgres({ url });
      try {
        await store.commit([create(), put("a")]);
        assert.equal(await totalOf(store), 1);
        const all = await encrypted(url);
        assert.ok(all.length > 1 && all.every(Boolean), `${all}`);
      } finally {
        await store.close();
      }
    });

  it("is rejected by sslmode=verify-full when its authority is unknown", async (context) => {
    if (skipWithoutTls(context)) return;
    const url = await databaseWith("verify-full");
    await assert.rejects(openPostgres({ url }), /certificate|self.signed/i);
  });

  it("is used with sslmode=verify-full when NODE_EXTRA_CA_CERTS names its authority", async (context) => {
    if (skipWithoutTls(context)) return;
    const cwd = mkdtempSync(join(tmpdir(), "restante-"));
    const authority = join(cwd, "authority.crt");
    writeFileSync(authority, certificate.cert);
    const url = await databaseWith("verify-full");
    const running = await start(["--data", "data", "--store", url], {
      cwd,
      environment: { NODE_EXTRA_CA_CERTS: authority },
    });
    const all = await encrypted(url);
    running.signal("SIGTERM");
    assert.equal((await running.ended).code, 0);
    assert.ok(all.length > 1 && all.every(Boolean), `${all}`);
    rmSync(cwd, { recursive: true, force: true });
  });
});
