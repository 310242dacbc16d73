// New resources are inserted without loading state while only one process writes; the result is the same.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { newId } from "../../../src/model/id.ts";
import { Outage } from "../../../src/model/outage.ts";
import { entriesOf, indexPlanOf } from "../../../src/model/query/index-plan.ts";
import { withGroupCommit } from "../../../src/store/group-commit.ts";
import type { Outcome, Put, Store } from "../../../src/store/store.ts";
import {
  all,
  create,
  define,
  idsFrom,
  idsOf,
  kinds,
  once,
  put,
  remove,
  token,
  totalOf,
  written,
} from "../contract/change-helpers.ts";
import { type TestDatabase, TestDatabases, until } from "./test-databases.ts";

const databases = new TestDatabases();

/** However slow the machine is, the head that was written last is not too old. One connection has one epoch. */
const options = { cacheMs: 3_600_000, writers: 1 };

const insert = (fields = "{}", rules?: number): Put => ({
  ...put(newId(), { expect: "nothing", fields }),
  isNewId: true,
  ...(rules !== undefined && { rules }),
});

/** After the second of two writes the head is expected to stay the same. */
/** Ends the connections that wait for a lock. */
const endWaiting = (testDatabase: TestDatabase): Promise<void> =>
  until(() =>
    testDatabase.admin(async (sql) => {
      const ended = await sql`
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE wait_event_type = 'Lock' AND datname = current_database()`;
      return ended.length > 0;
    }),
  );

async function openWriter(testDatabase: TestDatabase, more = {}): Promise<Store> {
  const store = await testDatabase.open({ ...options, ...more });
  await store.commit([create()]);
  for (const _ of "12") assert.deepEqual(kinds(await store.commit([insert()])), ["created"]);
  return store;
}

/** Without this table, state cannot be loaded. */
async function withoutLoading<T>(testDatabase: TestDatabase, action: () => Promise<T>): Promise<T> {
  const rename = (from: string, to: string) =>
    testDatabase.admin((sql) => sql.unsafe(`ALTER TABLE ${from} RENAME TO ${to}`));
  await rename("tombstones", "hidden");
  try {
    return await action();
  } finally {
    await rename("hidden", "tombstones");
  }
}

/** Locks the heads during the action. */
const whileLocked = (testDatabase: TestDatabase, action: () => Promise<void>): Promise<void> =>
  testDatabase.admin(async (sql) => {
    await sql`BEGIN`;
    await sql`SELECT FROM heads FOR UPDATE`;
    try {
      await action();
    } finally {
      await sql`ROLLBACK`;
    }
  });

/** The steps of a build in the background wait while somebody has the lock. */
const waitingSteps = `
  CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM pg_advisory_xact_lock_shared(1);
    RETURN NEW;
  END $$;
  CREATE TRIGGER wait BEFORE UPDATE ON builds FOR EACH ROW
  WHEN (NEW.state LIKE '%"builder"%') EXECUTE FUNCTION wait()`;

const isOutage = (reason: Outage["reason"]) => (error: unknown) =>
  error instanceof Outage && error.reason === reason;

const revisions = (outcomes: readonly Outcome[]): readonly number[] =>
  outcomes.map((outcome) => written(outcome).revision);

describe("new resources", () => {
  it("are inserted without loading state", () =>
    databases.in(async (testDatabase) => {
      const store = await openWriter(testDatabase);
      await withoutLoading(testDatabase, async () => {
        assert.deepEqual(revisions(await store.commit([insert(), insert()])), [4, 5]);
        assert.deepEqual(revisions(await store.commit([insert()])), [6]);
        // A process that does not know the head loads it, and nothing else.
        const other = await testDatabase.open(options);
        assert.deepEqual(revisions(await other.commit([insert()])), [7]);
        assert.deepEqual(revisions(await store.commit([insert()])), [8]);
        assert.deepEqual(kinds(await store.commit([all([insert()], once("k"))])), ["all"]);
        await assert.rejects(store.commit([put("a")]));
        await assert.rejects(store.commit([insert(), put("a", { expect: "nothing" })]));
      });
      assert.equal(await totalOf(store), 8);
      assert.equal((await idsOf(store))?.length, 8);
    }));

  it("are compared with the tokens of their callers in the same statement", () =>
    databases.in(async (testDatabase) => {
      const store = await openWriter(testDatabase);
      const callers = ["ann", "bob"];
      for (const id of callers) await store.commit([{ kind: "create-token", token: token(id) }]);
      const by = (callerToken: string): Put => ({ ...insert(), callerToken });
      const many = (callerToken: string) => idsFrom(200).map(() => by(callerToken));
      await withoutLoading(testDatabase, async () => {
        for (const changes of [
          [by("ann"), by("bob"), insert()],
          [by("bob"), ...many("ann")],
        ])
          assert.deepEqual(new Set(kinds(await store.commit(changes))), new Set(["created"]));
        await store.commit([{ kind: "revoke-token", id: "ann", at: 5 }]);
        for (const changes of [[by("ann")], many("ann")]) {
          assert.deepEqual(kinds(await store.commit([insert()])), ["created"]);
          assert.deepEqual(kinds(await store.commit([insert()])), ["created"]);
          assert.deepEqual(new Set(kinds(await store.commit(changes))), new Set(["revoked"]));
        }
      });
      assert.equal(await totalOf(store), 2 + 3 + 201 + 4);
    }));

  it("have their index entries and search terms", () =>
    databases.in(async (testDatabase) => {
      const definition = JSON.stringify({
        schema: { properties: { n: { type: "number" }, text: { type: "string" } } },
        ...{ indexed: ["n"], searchable: ["text"] },
      });
      const store = await testDatabase.open(options);
      await store.commit([define(definition)]);
      for (const n of [1, 2]) await store.commit([insert(`{"n":${n},"text":"loaded"}`)]);
      const fields = '{"n":3,"text":"direct"}';
      const [outcome] = await withoutLoading(testDatabase, () => store.commit([insert(fields)]));
      const expected = entriesOf(indexPlanOf(definition), written(outcome));
      await testDatabase.admin(async (sql) => {
        const entries = await sql`SELECT field, key FROM entries WHERE seq = 3`;
        assert.deepEqual(
          entries.map(({ field, key }) => `${field} ${key}`).sort(),
          expected.map(({ field, key }) => `${field} ${key}`).sort(),
        );
        assert.equal((await sql`SELECT FROM words WHERE seq = 3 AND word = 'direct'`).length, 1);
      });
    }));

  it("of several nodes get the revisions in the order of commits", () =>
    databases.in(async (testDatabase) => {
      const nodes = await Promise.all(
        idsFrom(3).map(async () => withGroupCommit(await testDatabase.open(options))),
      );
      await nodes[0]?.commit([create()]);
      const each = await Promise.all(
        nodes.flatMap((node) =>
          idsFrom(4).map(async () => {
            const seen: number[] = [];
            for (const _ of idsFrom(15)) seen.push(...revisions(await node.commit([insert()])));
            assert.deepEqual(
              seen,
              seen.toSorted((one, other) => one - other),
            );
            return seen;
          }),
        ),
      );
      const sorted = each.flat().sort((one, other) => one - other);
      assert.deepEqual(
        sorted,
        idsFrom(180).map((_, index) => index + 2),
      );
      for (const node of nodes) {
        assert.equal(await totalOf(node), 180);
        assert.equal(new Set(await idsOf(node)).size, 180);
      }
    }));

  it("follow what another node has written or defined", () =>
    databases.in(async (testDatabase) => {
      const store = await openWriter(testDatabase);
      const other = await testDatabase.open();
      const [first] = (await idsOf(store)) ?? [];
      await other.commit([remove(first ?? "")]);
      assert.deepEqual(revisions(await store.commit([insert()])), [5]);
      assert.equal(await totalOf(store), 2);
      await store.commit([insert()]);
      await other.commit([define('{"singular":"thing"}')]);
      const version = (await other.rules("things"))?.version;
      assert.deepEqual(kinds(await store.commit([insert("{}", 0)])), ["outdated"]);
      assert.deepEqual(kinds(await store.commit([insert("{}", version)])), ["created"]);
      await other.commit([{ kind: "drop", collection: "things", isEmptyOnly: false }]);
      assert.deepEqual(kinds(await store.commit([insert()])), ["missing"]);
      await other.commit([create()]);
      assert.deepEqual(revisions(await store.commit([insert()])), [2]);
    }));

  it("do not wait for a step of an index build", () =>
    databases.in(async (testDatabase) => {
      const store = await openWriter(testDatabase, { writers: 2 });
      const row = (n: number) => insert(`{"n":${n}}`);
      await store.commit(idsFrom(1_000).map((_, n) => row(n)));
      await testDatabase.admin(async (sql) => {
        await sql.unsafe(waitingSteps);
        await sql`SELECT pg_advisory_lock(1)`;
        await store.commit([define('{"indexed":["n"]}')]);
        const waiting = () =>
          sql`SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`;
        await until(async () => (await waiting()).length > 0);
        const before = await waiting();
        for (const n of [1, 2, 3, 4])
          assert.deepEqual(kinds(await store.commit([row(n)])), ["created"]);
        assert.deepEqual([...(await waiting())], [...before]);
      });
      await testDatabase.admin((sql) => sql`DROP FUNCTION wait CASCADE`);
      await until(async () => (await store.indexBuild("things")) === undefined);
      await testDatabase.admin(async (sql) => {
        assert.equal((await sql`SELECT FROM entries WHERE field = 'n'`).length, 1_006);
      });
    }));

  it("are not stored twice when an id exists already", () =>
    databases.in(async (testDatabase) => {
      const store = await openWriter(testDatabase);
      const change = insert();
      assert.deepEqual(kinds(await store.commit([change])), ["created"]);
      assert.deepEqual(kinds(await store.commit([insert(), change])), ["created", "taken"]);
      assert.equal(await totalOf(store), 4);
      // The same where the state is loaded.
      const mixed = await store.commit([put("a"), change, all([change, insert()])]);
      assert.deepEqual(kinds(mixed), ["created", "taken", "none"]);
      assert.equal(await totalOf(store), 5);
    }));

  it("that take too long are not stored", () =>
    databases.in(async (testDatabase) => {
      const store = await openWriter(testDatabase, { deadlineMs: 3_000, extraMs: 600_000 });
      await whileLocked(testDatabase, () =>
        assert.rejects(store.commit([insert()]), isOutage("busy")),
      );
      assert.equal(await totalOf(store), 2);
      assert.deepEqual(revisions(await store.commit([insert()])), [4]);
    }));

  it("are unknown when the connection breaks meanwhile", () =>
    databases.in(async (testDatabase) => {
      const store = await openWriter(testDatabase);
      await whileLocked(testDatabase, async () => {
        const commit = assert.rejects(store.commit([insert()]), isOutage("unknown"));
        await endWaiting(testDatabase);
        await commit;
      });
      assert.equal(await totalOf(store), 2);
      assert.deepEqual(revisions(await store.commit([insert()])), [4]);
    }));

  it("are applied in steps and stored together when they are many", () =>
    databases.in(async (testDatabase) => {
      const store = await openWriter(testDatabase);
      const many = () => idsFrom(130).map(() => insert());
      const following = (revision: number) => idsFrom(130).map((_, at) => revision + 1 + at);
      await withoutLoading(testDatabase, async () => {
        const changes = many();
        assert.deepEqual(revisions(await store.commit(changes)), following(3));
        const ids = changes.map(({ id }) => id);
        assert.deepEqual((await idsOf(store))?.slice(2), ids);
        const large = [1, 2, 3].map((at) => insert(JSON.stringify({ text: "x".repeat(at * 2e5) })));
        assert.deepEqual(revisions(await store.commit(large)), [134, 135, 136]);
      });
      // Another node has written.
      const other = await testDatabase.open(options);
      await other.commit([insert()]);
      assert.deepEqual(revisions(await store.commit(many())), following(137));
      await store.commit([insert()]);
      // One of the last has an id that exists.
      const [first] = (await idsOf(store)) ?? [];
      const taken = { ...insert(), id: first ?? "" };
      const outcomes = await store.commit([...many(), taken]);
      assert.deepEqual(kinds(outcomes), [...idsFrom(130).map(() => "created"), "taken"]);
      assert.deepEqual(revisions(outcomes.slice(0, -1)), following(268));
      assert.equal(await totalOf(store), 397);
    }));

  it("are stored after all when the connection breaks before the commit", () =>
    databases.in(async (testDatabase) => {
      const store = await openWriter(testDatabase);
      const commits: Promise<readonly Outcome[]>[] = [];
      await whileLocked(testDatabase, async () => {
        commits.push(store.commit(idsFrom(130).map(() => insert())));
        await endWaiting(testDatabase);
      });
      const [outcomes = []] = await Promise.all(commits);
      assert.deepEqual(new Set(kinds(outcomes)), new Set(["created"]));
      assert.equal(await totalOf(store), 132);
    }));
});
