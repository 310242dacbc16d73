// Reads from a replica: a client reads what it wrote, on every node.

import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { after, before, describe, it } from "node:test";
import { openPostgres } from "../../../src/store/postgres/postgres.ts";
import type { Store } from "../../../src/store/store.ts";
import { PostgresServer } from "../../postgres-server.ts";
import { create, put, written } from "../contract/change-helpers.ts";
import { until } from "./test-databases.ts";

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
  it("has every write as soon as it is acknowledged, on each node", async () => {
    await nodes[0]?.commit([{ kind: "create-collection", collection: "people", at: 1 }]);
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

  it("is used for reads", async () => {
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
    await assert.rejects(openPostgres({ url, readUrl: url }), /is not a replica/);
  });

  it("must be synchronous", async () => {
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

/** A proxy that can be switched to another server; existing connections stay. */
async function movingAddress(first: string) {
  let target = new URL(first);
  const server = createServer((socket) => {
    const there = connect(Number(target.port), target.hostname);
    socket.pipe(there).pipe(socket);
    socket.on("error", () => there.destroy());
    there.on("error", () => socket.destroy());
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const moving = new URL(first);
  moving.port = String((server.address() as AddressInfo).port);
  return {
    url: moving.href,
    leadTo: (url: string) => {
      target = new URL(url);
    },
    close: () => server.close(),
  };
}

describe("a server that has become read-only", () => {
  it("is replaced by the new primary, for writes and reads", async () => {
    const address = await movingAddress(url);
    const store = await openPostgres({ url: address.url, schema: "moving" });
    try {
      await store.commit([create(), put("a")]);
      assert.ok(await store.find("things", "a"));
      await primary.admin(async (sql) => {
        await sql`ALTER SYSTEM SET synchronous_standby_names = ''`;
        await sql`ALTER SYSTEM SET default_transaction_read_only = on`;
        await sql`SELECT pg_reload_conf()`;
      });
      await until(async () => /read-only/.test((await store.ready()) ?? ""));
      await assert.rejects(store.commit([put("b")]), /read-only/);
      assert.ok(await store.find("things", "a"));
      await standby.admin((sql) => sql`SELECT pg_promote()`);
      await standby.admin(async (sql) => {
        await sql`ALTER SYSTEM SET synchronous_standby_names = ''`;
        await sql`SELECT pg_reload_conf()`;
      });
      address.leadTo(readUrl);
      const [outcome] = await store.commit([put("b")]);
      assert.deepEqual(await store.find("things", "b"), written(outcome));
      assert.equal(await store.ready(), undefined);
    } finally {
      await store.close();
      address.close();
    }
  });
});
