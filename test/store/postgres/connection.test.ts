// Connections: their settings, errors when opening, and the classification of errors.
// @runtimes both

import assert from "node:assert/strict";
import { createServer } from "node:net";
import { describe, it } from "node:test";
import postgres from "postgres";
import { Outage } from "../../../src/model/outage.ts";
import {
  allOrFirstError,
  Connection,
  rows,
  type Sql,
} from "../../../src/store/postgres/connection.ts";
import { outageOf } from "../../../src/store/postgres/errors.ts";
import { openPostgres } from "../../../src/store/postgres/postgres.ts";
import { sessions, type TestDatabase, TestDatabases, until } from "./test-databases.ts";

const databases = new TestDatabases("own");

async function onConnection(
  { url, schema }: TestDatabase,
  test: (connection: Connection) => Promise<void>,
  deadlineMs = 10_000,
): Promise<void> {
  const connection = await Connection.open({ url, schema, deadlineMs });
  try {
    await test(connection);
  } finally {
    await connection.close();
  }
}

describe("a connection", () => {
  const settingOf = async (connection: Connection, name: string) =>
    (await connection.run((sql) => rows(sql`SELECT current_setting(${name})`)))[0]?.[0];

  it("commits to disk, whatever the default of the server is", () =>
    databases.in(async (testDatabase) => {
      const database = new URL(testDatabase.url).pathname.slice(1);
      for (const [configured, expected] of [
        ["off", "on"],
        ["on", "on"],
        ["remote_apply", "remote_apply"],
      ] as const) {
        await testDatabase.admin((sql) =>
          sql.unsafe(`ALTER DATABASE ${database} SET synchronous_commit = ${configured}`),
        );
        await onConnection(testDatabase, async (connection) =>
          assert.equal(await settingOf(connection, "synchronous_commit"), expected),
        );
      }
    }));

  it("has no parallel workers, whatever the default of the server is", () =>
    databases.in(async (testDatabase) => {
      const database = new URL(testDatabase.url).pathname.slice(1);
      await testDatabase.admin((sql) =>
        sql.unsafe(`ALTER DATABASE ${database} SET max_parallel_workers_per_gather = 4`),
      );
      await onConnection(testDatabase, async (connection) =>
        assert.equal(await settingOf(connection, "max_parallel_workers_per_gather"), "0"),
      );
    }));

  it("ends statements and idle transactions at the deadline", () =>
    databases.in((testDatabase) =>
      onConnection(
        testDatabase,
        async (connection) => {
          for (const name of ["statement_timeout", "idle_in_transaction_session_timeout"])
            assert.equal(await settingOf(connection, name), "54321ms");
        },
        54_321,
      ),
    ));

  it("lets the server notice that this machine is gone", () =>
    databases.in((testDatabase) =>
      onConnection(testDatabase, async (connection) => {
        for (const [name, value] of [
          ["idle", "60"],
          ["interval", "10"],
          ["count", "6"],
        ])
          assert.equal(await settingOf(connection, `tcp_keepalives_${name}`), value);
      }),
    ));

  it("returns all results, or the first error, and continues after it", () =>
    databases.in((testDatabase) =>
      onConnection(testDatabase, async (connection) => {
        // Rows before the error must not be in the next result.
        const failing = connection.run((sql) =>
          allOrFirstError([
            rows(sql`BEGIN`),
            rows(sql`SELECT 10 / (3 - x) FROM generate_series(1, 5) AS x`),
            rows(sql`SELECT 2`),
            rows(sql`ROLLBACK`),
          ]),
        );
        await assert.rejects(failing, /division by zero/);
        const answers = await connection.run((sql) =>
          allOrFirstError([
            rows(sql`SELECT 1, 'a'`),
            rows(sql`SELECT ${2 ** 40}::bigint, NULL::text`),
          ]),
        );
        assert.deepEqual(answers, [[[1, "a"]], [[2 ** 40, null]]]);
        assert.equal(connection.isLost, false);
        assert.equal(connection.inFlight, 0);
      }),
    ));

  it("returns texts and numbers unchanged, also in arrays", () =>
    databases.in((testDatabase) =>
      onConnection(testDatabase, async (connection) => {
        const texts = ['"', "\\", "{}", ",", "NULL", "null", "", "é ☃ 𝄞", "\\u0000", "'", "\n\t "];
        const numbers = [0, -1, 2 ** 53 - 1, 1_700_000_000_000];
        const found = await connection.run((sql) =>
          rows(sql`SELECT text FROM unnest(${[...texts, null]}::text[]) AS texts (text)`),
        );
        assert.deepEqual(found.flat(), [...texts, null]);
        const odd = "a\0b";
        const same = await connection.run((sql) =>
          rows(sql`SELECT ${odd}::text, (${[odd]}::text[])[1]`),
        );
        assert.deepEqual(same, [["a\uffffb", "a\uffffb"]]);
        const counted = await connection.run((sql) =>
          rows(sql`SELECT number FROM unnest(${[...numbers, null]}::bigint[]) AS n (number)`),
        );
        assert.deepEqual(counted.flat(), [...numbers, null]);
      }),
    ));

  it("never runs a statement on another connection after its own was closed", () =>
    databases.inEmpty(async (testDatabase) => {
      await testDatabase.admin((sql) => sql`CREATE TABLE public.marks (mark text)`);
      const marks = async () =>
        (await testDatabase.admin((sql) => sql`SELECT mark FROM public.marks`)).map(
          ({ mark }) => mark,
        );
      const end = (sql: Sql) =>
        rows(sql`SELECT pg_terminate_backend(pg_backend_pid()), ${"now"}::text`);
      const insert = (sql: Sql, mark: string) =>
        rows(sql`INSERT INTO public.marks VALUES (${mark})`);
      await onConnection(testDatabase, async (connection) => {
        // The driver describes each new statement first, so that the later ones wait in its queue.
        const together = connection.run((sql) =>
          allOrFirstError([rows(sql`BEGIN`), end(sql), insert(sql, "queued"), rows(sql`COMMIT`)]),
        );
        await assert.rejects(together, (error) => outageOf(error)?.reason === "unavailable");
        const later = connection.run((sql) => insert(sql, "later"));
        await assert.rejects(later, (error) => outageOf(error)?.reason === "unavailable");
        assert.equal(connection.isLost, true);
      });
      assert.deepEqual(await marks(), []);
      await until(async () => (await sessions(testDatabase)) === 0);
      await onConnection(testDatabase, async (connection) => {
        await connection.run((sql) => rows(sql`BEGIN`));
        await testDatabase.admin(
          (sql) => sql`
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE application_name = 'restante'`,
        );
        await until(async () => connection.isLost);
        const later = connection.run((sql) => insert(sql, "after the end"));
        await assert.rejects(later, (error) => outageOf(error)?.reason === "unavailable");
      });
      assert.deepEqual(await marks(), []);
    }));

  it("closes after the statements that wait in the driver", () =>
    databases.inEmpty(async (testDatabase) => {
      let answers: Promise<readonly unknown[]> = Promise.resolve([]);
      await onConnection(testDatabase, async (connection) => {
        answers = connection.run((sql) =>
          allOrFirstError([1, 2, 3].map((n) => rows(sql`SELECT ${n}::bigint, pg_backend_pid()`))),
        );
      });
      const [[[, pid]]] = (await answers) as [[[number, number]]];
      assert.deepEqual(await answers, [[[1, pid]], [[2, pid]], [[3, pid]]]);
      await until(async () => (await sessions(testDatabase)) === 0);
    }));

  it("closes when the server does not respond any more", () =>
    databases.in((testDatabase) =>
      onConnection(
        testDatabase,
        async (connection) => {
          // The server's own deadline is put off, as if it had gone silent.
          await connection.run((sql) => rows(sql`SET statement_timeout = 0`));
          const [failed, also] = await Promise.allSettled([
            connection.run((sql) => rows(sql`SELECT pg_sleep(60)`)),
            connection.run((sql) => rows(sql`SELECT 1`)),
          ]);
          for (const each of [failed, also]) {
            assert.equal(each.status, "rejected");
            assert.equal(outageOf(each.reason)?.reason, "unavailable");
          }
          assert.equal(connection.isLost, true);
        },
        3_000,
      ),
    ));
});

describe("opening", () => {
  const cases: readonly [text: string, change: (url: URL) => void, words: RegExp][] = [
    ["a port where nobody listens", (url) => (url.port = "1"), /broke.*REFUSED|cannot connect/],
    ["a host that is not there", (url) => (url.hostname = "nowhere.invalid"), /nowhere\.invalid/],
    ["a database that is not there", (url) => (url.pathname = "/none"), /database does not exist/],
    ["an unknown user", (url) => (url.username = "stranger"), /rejects the user/],
  ];
  for (const [text, change, words] of cases)
    it(`${text} is reported without the password`, () =>
      databases.in(async (testDatabase) => {
        const url = new URL(testDatabase.url);
        url.password = "geheim";
        change(url);
        await assert.rejects(testDatabase.open({ url: url.href }), (error) => {
          assert.match(String(error), /^Error: Cannot open postgres:/);
          assert.match(String(error), words);
          assert.doesNotMatch(String(error), /geheim/);
          return true;
        });
      }));

  it("a schema name must be plain", () =>
    databases.in(async (testDatabase) => {
      for (const schema of ["", "A", "a b", 'a"', "1a", "a".repeat(41), "a;drop"])
        await assert.rejects(testDatabase.open({ schema }), /is not a valid schema name/);
    }));

  it("a server without fsync is rejected", () =>
    databases.in(async (testDatabase) => {
      const { server } = testDatabase;
      const setFsync = async (value: string) => {
        await server.admin((sql) => sql.unsafe(`ALTER SYSTEM SET fsync = ${value}`));
        await server.admin((sql) => sql`SELECT pg_reload_conf()`);
        await server.stop("INT");
        await server.start();
      };
      await setFsync("off");
      try {
        await assert.rejects(testDatabase.open(), /fsync = off/);
      } finally {
        await setFsync("on");
      }
      await testDatabase.open();
    }));

  it("a server that is not Postgres is given up", async () => {
    const silent = createServer((socket) => void socket.on("error", () => undefined)).listen(
      0,
      "127.0.0.1",
    );
    await new Promise((resolve) => silent.once("listening", resolve));
    const address = silent.address();
    assert.ok(address && typeof address === "object");
    const url = `postgres://nobody@127.0.0.1:${address.port}/none`;
    await assert.rejects(openPostgres({ url }), /CONNECT_TIMEOUT/);
    silent.close();
  });
});

describe("errors", () => {
  const code = (code: string) => Object.assign(new Error("words"), { code });

  it("of the network mean that the server is unavailable", () => {
    for (const each of ["ECONNREFUSED", "ECONNRESET", "CONNECTION_CLOSED", "CONNECT_TIMEOUT"])
      assert.equal(outageOf(code(each))?.reason, "unavailable");
  });

  it("that close the connection mean that the server is unavailable, whatever their code is", () => {
    for (const code of ["25P03", "25P04", "42000", "99999"]) {
      const thrown = (severity: string) =>
        Object.assign(new postgres.PostgresError({ message: "words" } as never), {
          code,
          severity,
        });
      assert.equal(outageOf(thrown("FATAL"))?.reason, "unavailable");
      assert.equal(outageOf(thrown("ERROR")), undefined);
    }
  });

  it("in the code are not reported as outages", () => {
    for (const each of [new TypeError("oops"), code("UNDEFINED_VALUE"), "text", undefined])
      assert.equal(outageOf(each), undefined);
  });

  it("that are outages already stay the same", () => {
    const outage = new Outage("full", "no room");
    assert.equal(outageOf(outage), outage);
  });
});
