// Reads from a replica: whoever was answered reads what it wrote, on every node.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { openPostgres } from "../../../src/store/postgres/postgres.ts";
import type { Store } from "../../../src/store/store.ts";
import { PostgresServer } from "../../postgres-server.ts";

let primary: PostgresServer;
let standby: PostgresServer;
let url: string;
let readUrl: string;
const nodes: Store[] = [];

before(async () => {
  primary = await PostgresServer.start();
  url = await primary.database();
  standby = await primary.replica();
  readUrl = standby.url(new URL(url).pathname.slice(1));
  for (let count = 0; count < 2; count++) nodes.push(await openPostgres({ url, readUrl }));
});

after(async () => {
  for (const node of nodes) await node.close();
  await standby?.close();
  await primary?.close();
});

describe("a replica for reads", () => {
  it("shows every write as soon as it is acknowledged, whichever node is asked", async () => {
    await nodes[0]?.commit([{ kind: "found", collection: "people", at: 1 }]);
    for (let count = 0; count < 100; count++) {
      const [writer, reader] = count % 2 === 0 ? nodes : [...nodes].reverse();
      const put = { kind: "put", collection: "people", at: count, expect: "nothing" } as const;
      const id = `p${count}`;
      const [outcome] = (await writer?.commit([{ ...put, id, fields: "{}" }])) ?? [];
      assert.equal(outcome?.kind, "created");
      assert.equal((await reader?.find("people", id))?.id, id);
      assert.equal((await reader?.collection("people"))?.total, count + 1);
    }
  });

  it("is where the reads go", async () => {
    const [row] = await standby.admin(
      async (sql) =>
        sql`SELECT count(*)::int AS readers FROM pg_stat_activity WHERE application_name = 'restante'`,
      readUrl,
    );
    assert.ok(row?.readers >= 2, `${row?.readers}`);
  });

  it("does not make the store look read-only", async () => {
    assert.equal(await nodes[0]?.ready(), undefined);
  });

  it("must be a replica", async () => {
    await assert.rejects(openPostgres({ url, readUrl: url }), /is no replica/);
  });

  it("must be waited for", async () => {
    const set = (value: string) =>
      primary.admin(async (sql) => {
        await sql.unsafe(`ALTER SYSTEM SET synchronous_standby_names = '${value}'`);
        await sql`SELECT pg_reload_conf()`;
      });
    await set("");
    try {
      await assert.rejects(openPostgres({ url, readUrl }), /synchronous_standby_names/);
    } finally {
      await set("*");
    }
  });
});
