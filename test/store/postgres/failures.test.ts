// Failures of a server: nothing acknowledged is lost, nothing is done twice, and everything recovers.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Sql } from "postgres";
import { Outage } from "../../../src/model/outage.ts";

import {
  all,
  create,
  idsFrom,
  idsOf,
  once,
  put,
  token,
  totalOf,
  written,
} from "../contract/change-helpers.ts";
import { type TestDatabase, TestDatabases, until, waiting } from "./test-databases.ts";

const databases = new TestDatabases("own");

const isOutage =
  (reason: Outage["reason"], words = /./) =>
  (error: unknown) => {
    assert.ok(error instanceof Outage, String(error));
    assert.equal(error.reason, reason, error.message);
    assert.match(error.message, words);
    return true;
  };

/** Holds a lock during the action. */
async function whileLocked(
  testDatabase: TestDatabase,
  lock: string,
  action: () => Promise<void>,
): Promise<void> {
  await testDatabase.admin(async (sql) => {
    await sql`BEGIN`;
    await sql.unsafe(lock);
    try {
      await action();
    } finally {
      await sql`ROLLBACK`;
    }
  });
}

const lockTable = "LOCK TABLE resources IN ACCESS EXCLUSIVE MODE";
const lockRow = "SELECT FROM heads FOR UPDATE";

/** Ends the connections of stores that are in the middle of something like this. */
async function terminate(testDatabase: TestDatabase, query: string): Promise<void> {
  await until(() =>
    testDatabase.admin(async (sql) => {
      const ended = await sql`
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE query LIKE ${query} AND state <> 'idle' AND application_name = 'restante'`;
      return ended.length > 0;
    }),
  );
}

describe("a lost connection", () => {
  it("while idle has no effect", () =>
    databases.in(async (testDatabase) => {
      const store = await testDatabase.open();
      await store.commit([create(), put("a"), { kind: "create-token", token: token("t") }]);
      for (let round = 0; round < 3; round++) {
        await testDatabase.admin(
          (sql) => sql`
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE application_name = 'restante'`,
        );
        const [resource, total, commit, known] = await Promise.all([
          store.find("things", "a"),
          totalOf(store),
          store.commit([put("a")]),
          store.token("hash of t"),
        ]);
        assert.ok(resource && total === 1 && known);
        assert.equal(commit[0]?.kind, "replaced");
        assert.equal(await store.ready(), undefined);
      }
    }));

  it("in the middle of a read has no effect, nor has the loss of the next one", () =>
    databases.in(async (testDatabase) => {
      const store = await testDatabase.open({ readers: 1 });
      await store.commit([create(), put("a")]);
      let reads: Promise<readonly unknown[]> = Promise.resolve([]);
      await whileLocked(testDatabase, lockTable, async () => {
        reads = Promise.all([store.find("things", "a"), idsOf(store), store.collection("things")]);
        for (let times = 0; times < 2; times++) {
          await terminate(testDatabase, "%head AS%");
          await until(async () => (await waiting(testDatabase)) > 0);
        }
      });
      assert.deepEqual((await reads)[1], ["a"]);
    }));

  it("before the commit is sent: the batch is applied once", () =>
    databases.in(async (testDatabase) => {
      const store = await testDatabase.open();
      await store.commit([create()]);
      let commit: Promise<readonly unknown[]> = Promise.resolve([]);
      await whileLocked(testDatabase, lockRow, async () => {
        commit = store.commit([put("a"), put("b", { expect: "nothing" })]);
        await terminate(testDatabase, "%FOR UPDATE%");
        await until(async () => (await waiting(testDatabase)) === 1);
      });
      assert.deepEqual(
        (await commit).map((outcome) => written(outcome as never).revision),
        [2, 3],
      );
      assert.equal(await totalOf(store), 2);
    }));

  it("during the commit leaves it unknown, and a key shows the result", () =>
    databases.in(async (testDatabase) => {
      const store = await testDatabase.open();
      await store.commit([create()]);
      await testDatabase.admin(sleepAtCommit);
      const unit = (id: string) => all([put(id)], once("k"));
      const commit = assert.rejects(
        store.commit([unit("a")]),
        isOutage("unknown", /during the commit/),
      );
      await terminate(testDatabase, "COMMIT");
      await commit;
      assert.notEqual(await store.ready(), "the database is read-only");
      await testDatabase.admin((sql) => sql`DROP TRIGGER slow ON resources`);
      const [first] = await store.commit([unit("b")]);
      const [again] = await store.commit([unit("c")]);
      assert.ok(first?.kind === "all" && again?.kind === "all" && again.isReplay);
      assert.deepEqual(again.outcomes, first.outcomes);
      assert.equal(await totalOf(store), 1);
    }));
});

/** Raises an error in each commit that writes a resource, so many times. */
const failAtCommit = (code: string, times: number) => (sql: Sql) =>
  sql.unsafe(`
    CREATE SEQUENCE IF NOT EXISTS failures;
    SELECT setval('failures', 1);
    CREATE OR REPLACE FUNCTION fail_at_commit() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN
        IF nextval('failures') <= ${times + 1} THEN
          RAISE EXCEPTION 'failed at commit' USING ERRCODE = '${code}';
        END IF;
        RETURN NULL;
      END $$;
    DROP TRIGGER IF EXISTS failing ON resources;
    CREATE CONSTRAINT TRIGGER failing AFTER INSERT ON resources DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION fail_at_commit()`);

describe("an error at the commit", () => {
  it("that does not say whether it was stored is unknown, and a key shows the result", () =>
    databases.in(async (testDatabase) => {
      const store = await testDatabase.open();
      await store.commit([create()]);
      const codes = ["08006", "08P01", "57P01", "57014", "58030", "XX000", "XX001"];
      for (const [index, code] of codes.entries()) {
        await testDatabase.admin(failAtCommit(code, 1));
        const unit = (id: string) => all([put(id)], once(code));
        await assert.rejects(
          store.commit([unit(`a${index}`)]),
          isOutage("unknown", /during the commit/),
        );
        const [first] = await store.commit([unit(`b${index}`)]);
        const [again] = await store.commit([unit(`c${index}`)]);
        assert.ok(first?.kind === "all" && again?.kind === "all" && again.isReplay, code);
        assert.equal(await totalOf(store), index + 1);
      }
    }));

  it("that is a conflict repeats the whole batch", () =>
    databases.in(async (testDatabase) => {
      const store = await testDatabase.open();
      await store.commit([create()]);
      for (const [index, code] of ["40001", "40P01", "23505"].entries()) {
        await testDatabase.admin(failAtCommit(code, 3));
        const [outcome] = await store.commit([all([put(`a${index}`)], once(code))]);
        assert.ok(outcome?.kind === "all" && !outcome.isReplay, code);
        assert.equal(await totalOf(store), index + 1);
      }
    }));

  it("of another kind has stored nothing, and is reported as it is", () =>
    databases.in(async (testDatabase) => {
      const store = await testDatabase.open();
      await store.commit([create()]);
      await testDatabase.admin(failAtCommit("53100", 1));
      await assert.rejects(store.commit([put("a")]), isOutage("full"));
      assert.equal(await totalOf(store), 0);
      assert.equal((await store.commit([put("a")]))[0]?.kind, "created");
    }));
});

/** So that a commit lasts long enough to be broken. */
async function sleepAtCommit(sql: Sql): Promise<void> {
  await sql.unsafe(`
    CREATE FUNCTION sleep() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM pg_sleep(60); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON resources DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION sleep()`);
}

describe("a commit that waits for a standby", () => {
  it("and is cancelled is unknown, and not acknowledged", () =>
    databases.in(async (testDatabase) => {
      const store = await testDatabase.open();
      const waitFor = async (standby: string) => {
        await testDatabase.admin(async (sql) => {
          await sql.unsafe(`ALTER SYSTEM SET synchronous_standby_names = '${standby}'`);
          await sql`SELECT pg_reload_conf()`;
        });
        const isRead = async (sql: Sql) => {
          const [setting] = await sql`SELECT current_setting('synchronous_standby_names') AS value`;
          return setting?.value === standby;
        };
        await until(() => testDatabase.admin(isRead));
        // The process that makes checkpoints tells the others, before it makes one.
        await testDatabase.admin((sql) => sql`CHECKPOINT`);
      };
      const cancel = async (sql: Sql) => {
        const cancelled = await sql`
          SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`;
        return cancelled.length > 0;
      };
      await store.commit([create()]);
      for (const units of [[put("a")], [put("b"), put("c")]]) {
        await waitFor("nobody");
        try {
          const commit = assert.rejects(store.commit(units), isOutage("unknown", /standby/));
          await until(() => testDatabase.admin(cancel));
          await commit;
        } finally {
          await waitFor("");
        }
        // The next one has a new connection, which is ready for it after this.
        await store.commit([put("a")]);
      }
      // This server still has them. A new leader would not.
      assert.deepEqual(await idsOf(store), ["a", "b", "c"]);
      assert.equal((await store.commit([put("d")]))[0]?.kind, "created");
    }));
});

describe("a deadline", () => {
  it("ends reads and commits that wait for others; nothing is stored", () =>
    databases.in(async (testDatabase) => {
      // What waits for nobody ends long before, and the server ends the rest, on any machine.
      const store = await testDatabase.open({ deadlineMs: 3_000, extraMs: 600_000 });
      await store.commit([create(), put("a")]);
      await whileLocked(testDatabase, lockTable, async () => {
        await Promise.all([
          assert.rejects(Promise.resolve(store.find("things", "a")), isOutage("busy", /in time/)),
          assert.rejects(idsOf(store), isOutage("busy")),
          assert.rejects(store.commit([put("b")]), isOutage("busy")),
        ]);
      });
      await whileLocked(testDatabase, lockRow, async () => {
        await assert.rejects(store.commit([put("c")]), isOutage("busy"));
        assert.ok(await store.find("things", "a"));
      });
      assert.deepEqual(await idsOf(store), ["a"]);
      assert.equal((await store.commit([put("d")]))[0]?.kind, "created");
      assert.equal(await store.ready(), undefined);
    }));
});

describe("overload", () => {
  it("rejects reads that would wait too long, and answers the others", () =>
    databases.in(async (testDatabase) => {
      const store = await testDatabase.open({ readers: 1 });
      await store.commit([create(), put("a")]);
      await idsOf(store);
      let answers: Promise<readonly PromiseSettledResult<unknown>[]> = Promise.resolve([]);
      await whileLocked(testDatabase, lockTable, async () => {
        answers = Promise.allSettled(idsFrom(300).map(() => idsOf(store)));
        await until(async () => (await waiting(testDatabase)) === 1);
      });
      const settled = await answers;
      const failed = settled.filter((each) => each.status === "rejected");
      assert.ok(failed.length >= 100 && failed.length < 300, String(failed.length));
      for (const { reason } of failed) isOutage("busy", /too many/)(reason);
      assert.deepEqual(await idsOf(store), ["a"]);
    }));

  it("works with the connections that a server accepts", () =>
    databases.in(async (testDatabase) => {
      const { server, url, schema } = testDatabase;
      await (await testDatabase.open()).close();
      await testDatabase.admin(async (sql) => {
        await sql`CREATE ROLE limited LOGIN CONNECTION LIMIT 3`;
        await sql`GRANT USAGE ON SCHEMA ${sql(schema)} TO limited`;
        await sql`GRANT ALL ON ALL TABLES IN SCHEMA ${sql(schema)} TO limited`;
      });
      const asLimited = server.url(new URL(url).pathname.slice(1), "limited");
      const store = await testDatabase.open({ url: asLimited, readers: 8 });
      await store.commit([create(), put("a")]);
      const reads = await Promise.all(idsFrom(200).map(() => idsOf(store, 0, 1)));
      assert.ok(reads.every((ids) => ids?.[0] === "a"));
      // The next node finds no room for its own.
      await assert.rejects(testDatabase.open({ url: asLimited }), /accepts no more connections/);
      assert.equal((await store.commit([put("b")]))[0]?.kind, "created");
    }));
});

/** From now on writes to heads fail, and so does what needs more room. */
const fillDisk = (sql: Sql) =>
  sql.unsafe(`
    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = '53100'; END $$;
    CREATE TRIGGER full_disk BEFORE UPDATE ON heads EXECUTE FUNCTION fail();
    CREATE FUNCTION no_room() RETURNS event_trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = '53100'; END $$;
    CREATE EVENT TRIGGER full_disk ON ddl_command_start WHEN TAG IN ('CREATE TABLE AS')
      EXECUTE FUNCTION no_room()`);

const makeRoom = (sql: Sql) =>
  sql.unsafe("DROP TRIGGER full_disk ON heads; DROP EVENT TRIGGER full_disk");

describe("a server that cannot write", () => {
  it("that is read-only: reads work, writes are rejected, and recover", () =>
    databases.in(async (testDatabase) => {
      const database = new URL(testDatabase.url).pathname.slice(1);
      const setReadOnly = (value: string) =>
        testDatabase.admin(async (sql) => {
          await sql.unsafe(`SET default_transaction_read_only = off`);
          await sql.unsafe(
            `ALTER DATABASE ${database} SET default_transaction_read_only = ${value}`,
          );
          await sql`
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE application_name = 'restante'`;
        });
      const store = await testDatabase.open();
      await store.commit([create(), put("a")]);
      await setReadOnly("on");
      try {
        await assert.rejects(store.commit([put("b")]), isOutage("unavailable", /read-only/));
        assert.match((await store.ready()) ?? "", /read-only/);
        assert.deepEqual(await idsOf(store), ["a"]);
        // Opening needs to write nothing when all is there.
        assert.deepEqual(await idsOf(await testDatabase.open()), ["a"]);
      } finally {
        await setReadOnly("off");
      }
      await until(async () => (await store.ready()) === undefined);
      assert.equal((await store.commit([put("b")]))[0]?.kind, "created");
      assert.deepEqual(await idsOf(store), ["a", "b"]);
    }));

  it("that is full: reported as such, nothing is stored, and it recovers", () =>
    databases.in(async (testDatabase) => {
      const store = await testDatabase.open();
      await store.commit([create(), put("a")]);
      const before = await store.collection("things");
      await testDatabase.admin(fillDisk);
      // What is written in place still works, and what needs room was not tried yet.
      assert.equal(await store.ready(), undefined);
      await assert.rejects(store.commit([put("b"), put("a")]), isOutage("full", /is full/));
      assert.match((await store.ready()) ?? "", /is full/);
      assert.deepEqual(await store.collection("things"), before);
      assert.deepEqual(await idsOf(store), ["a"]);
      await testDatabase.admin(makeRoom);
      assert.equal(await store.ready(), undefined);
      assert.equal((await store.commit([put("b")]))[0]?.kind, "created");
    }));

  it("that is full is reported until there is room, whatever else works", () =>
    databases.in(async (testDatabase) => {
      const owner = await testDatabase.open({ retention: { removalsMs: 0, pauseMs: 1 } });
      const worker = await testDatabase.open({ committer: owner });
      await owner.commit([create(), put("a")]);
      await testDatabase.admin(fillDisk);
      await assert.rejects(worker.commit([put("b")]), isOutage("full"));
      for (let reads = 0; reads < 50; reads++) await idsOf(owner);
      for (const store of [owner, worker]) assert.match((await store.ready()) ?? "", /is full/);
      await testDatabase.admin(makeRoom);
      for (const store of [owner, worker]) assert.equal(await store.ready(), undefined);
    }));

  it("that was full is ready again for a user who may create no table", () =>
    databases.in(async (testDatabase) => {
      const { server, url, schema } = testDatabase;
      await testDatabase.admin(async (sql) => {
        await sql`CREATE ROLE plain LOGIN`;
        await sql`GRANT USAGE ON SCHEMA ${sql(schema)} TO plain`;
        await sql`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${sql(schema)} TO plain`;
      });
      const asPlain = server.url(new URL(url).pathname.slice(1), "plain");
      const store = await testDatabase.open({ url: asPlain });
      await store.commit([create(), put("a")]);
      await testDatabase.admin(fillDisk);
      await assert.rejects(store.commit([put("b")]), isOutage("full"));
      await testDatabase.admin(makeRoom);
      assert.equal(await store.ready(), undefined);
    }));
});

describe("a read that needs room on a full disk", () => {
  it("is unavailable, and recovers", () =>
    databases.in(async (testDatabase) => {
      const store = await testDatabase.open();
      await store.commit([create(), put("a")]);
      const reads = [() => store.find("things", "a"), () => idsOf(store), () => totalOf(store)];
      await testDatabase.admin((sql) =>
        sql.unsafe(`
          CREATE FUNCTION fail() RETURNS boolean LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = '53100'; END $$;
          ALTER TABLE heads RENAME TO full_heads;
          CREATE VIEW heads AS SELECT * FROM full_heads WHERE fail()`),
      );
      for (const read of reads)
        await assert.rejects(async () => read(), isOutage("unavailable", /is full/));
      await testDatabase.admin((sql) =>
        sql.unsafe("DROP VIEW heads; ALTER TABLE full_heads RENAME TO heads"),
      );
      for (const read of reads) assert.ok(await read());
    }));
});

describe("a server that is gone", () => {
  it("is reported immediately, and everything recovers with it", () =>
    databases.in(async (testDatabase) => {
      const store = await testDatabase.open();
      await store.commit([create(), put("a")]);
      await testDatabase.server.stop("INT");
      try {
        await assert.rejects(Promise.resolve(store.find("things", "a")), isOutage("unavailable"));
        await assert.rejects(idsOf(store), isOutage("unavailable"));
        await assert.rejects(store.commit([put("b")]), isOutage("unavailable"));
        assert.notEqual(await store.ready(), undefined);
      } finally {
        await testDatabase.server.start();
      }
      assert.equal(await store.ready(), undefined);
      assert.deepEqual(await idsOf(store), ["a"]);
      assert.equal((await store.commit([put("b")]))[0]?.kind, "created");
    }));

  it("allows the store to be closed", () =>
    databases.in(async (testDatabase) => {
      const store = await testDatabase.open();
      await store.commit([create()]);
      await testDatabase.server.stop("QUIT");
      try {
        await store.close();
      } finally {
        await testDatabase.server.start();
      }
      await assert.rejects(
        Promise.resolve(store.find("things", "a")),
        isOutage("unavailable", /closed/),
      );
    }));
});
