// Several nodes on one database: each sees what the others have written, and none undoes it.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { withGroupCommit } from "../../../src/store/group-commit.ts";
import type { Put, Store } from "../../../src/store/store.ts";
import {
  all,
  create,
  idsFrom,
  idsOf,
  once,
  put,
  remove,
  token,
  totalOf,
  written,
} from "../contract/change-helpers.ts";
import { type TestDatabase, TestDatabases, until } from "./test-databases.ts";

const databases = new TestDatabases();

async function openNodes(testDatabase: TestDatabase, count: number): Promise<readonly Store[]> {
  return Promise.all(
    Array.from({ length: count }, async () => withGroupCommit(await testDatabase.open())),
  );
}

describe("several nodes", () => {
  it("assign revisions in the order of commits, and count exactly", () =>
    databases.in(async (testDatabase) => {
      const nodes = await openNodes(testDatabase, 4);
      await nodes[0]?.commit([create()]);
      let lastSeen = 0;
      const writers = nodes.flatMap((node, number) =>
        idsFrom(6, `by-${number}`).map(async (writer) => {
          const revisions: number[] = [];
          for (const id of idsFrom(20, writer)) {
            const startedAfter = lastSeen;
            const [outcome] = await node.commit([put(id)]);
            const { revision } = written(outcome);
            // What was acknowledged to anyone before this write began comes before it.
            assert.ok(revision > startedAfter);
            lastSeen = Math.max(lastSeen, revision);
            revisions.push(revision);
          }
          return revisions;
        }),
      );
      const revisions = (await Promise.all(writers)).flat();
      assert.equal(new Set(revisions).size, 480);
      // Founding took the first, and none is left out.
      assert.deepEqual([Math.min(...revisions), Math.max(...revisions)], [2, 481]);
      for (const node of nodes) {
        assert.equal(await totalOf(node), 480);
        assert.equal((await idsOf(node))?.length, 480);
      }
    }));

  it("return pages, totals and revisions that agree at every moment", () =>
    databases.in(async (testDatabase) => {
      const [one, two, reader] = await openNodes(testDatabase, 3);
      assert.ok(one && two && reader);
      await one.commit([create()]);
      let isWriting = true;
      const writing = Promise.all(
        [one, two].map(async (node, number) => {
          for (let round = 0; round < 60; round++)
            await node.commit([
              put(`${number}-a-${round}`),
              put(`${number}-b-${round}`),
              remove(`${number}-a-${round - 1}`),
            ]);
        }),
      ).finally(() => {
        isWriting = false;
      });
      let looks = 0;
      while (isWriting) {
        await assertAgreement(reader);
        looks++;
      }
      await writing;
      assert.ok(looks > 5);
      assert.equal(await totalOf(reader), 122);
    }));

  it("create the same collections at once, each once", () =>
    databases.in(async (testDatabase) => {
      const nodes = await openNodes(testDatabase, 4);
      const names = idsFrom(10, "collection");
      await Promise.all(
        nodes.map((node, number) => {
          const order = number % 2 === 0 ? names : names.toReversed();
          return node.commit(
            order.flatMap((name) => [create(name), put(`x-${number}`, { collection: name })]),
          );
        }),
      );
      const collections = await nodes[0]?.collections();
      assert.deepEqual(
        collections?.map(({ name, total }) => [name, total]),
        names.map((name) => [name, 4]),
      );
    }));

  it("execute the same request with a key once", () =>
    databases.in(async (testDatabase) => {
      const nodes = await openNodes(testDatabase, 4);
      await nodes[0]?.commit([create()]);
      for (const key of idsFrom(15, "key")) {
        const unit = (number: number) => all([put(`${key}-${number}`)], once(key));
        const outcomes = (
          await Promise.all(nodes.map((node, number) => node.commit([unit(number)])))
        ).flat();
        assert.deepEqual(outcomes.map((each) => each.kind === "all" && each.isReplay).sort(), [
          false,
          true,
          true,
          true,
        ]);
        const [first, ...rest] = outcomes.map((each) => each.kind === "all" && each.outcomes);
        for (const each of rest) assert.deepEqual(each, first);
      }
      assert.equal(await totalOf(nodes[1] ?? assert.fail()), 15);
    }));

  it("recover from deadlocks", () =>
    databases.in(async (testDatabase) => {
      const nodes = await openNodes(testDatabase, 3);
      const names = idsFrom(5, "collection");
      await nodes[0]?.commit(names.map((name) => create(name)));
      const commits = nodes.flatMap((node, number) =>
        idsFrom(15, `commit-${number}`).map((id, index) => {
          const order = names.toSorted(() => (index % 2 === 0 ? 1 : -1));
          return node.commit([all(order.map((collection) => put(id, { collection })))]);
        }),
      );
      for (const [outcome] of await Promise.all(commits)) assert.equal(outcome?.kind, "all");
      for (const { total } of (await nodes[2]?.collections()) ?? []) assert.equal(total, 45);
    }));
});

/** One look at all, and one at a part: they agree where they are of the same moment. */
async function assertAgreement(reader: Store): Promise<void> {
  const all = await reader.slice("things", { offset: 0, limit: 1_000, order: "created" });
  const part = await reader.slice("things", { offset: 7, limit: 5, order: "created" });
  assert.ok(all && part);
  assert.equal(all.resources.length, all.collection.total);
  const { revision } = all.collection;
  assert.ok(all.resources.every((resource) => resource.revision <= revision));
  if (part.collection.revision === revision)
    assert.deepEqual(part.resources, all.resources.slice(7, 12));
}

describe("a token", () => {
  it("works on all nodes as soon as it is created", () =>
    databases.in(async (testDatabase) => {
      const [one, other] = await openNodes(testDatabase, 2);
      for (const id of idsFrom(10)) {
        assert.equal(await other?.token(`hash of ${id}`), undefined);
        await one?.commit([{ kind: "create-token", token: token(id) }]);
        assert.deepEqual(await other?.token(`hash of ${id}`), token(id));
      }
    }));

  it("is cached, and removed from the cache when it is revoked on any node", () =>
    databases.in(async (testDatabase) => {
      // The cache is so long that only a notification can be the reason.
      const one = await testDatabase.open({ cacheMs: 1_000_000 });
      const other = await testDatabase.open({ cacheMs: 1_000_000 });
      for (const id of idsFrom(10)) {
        await one.commit([{ kind: "create-token", token: token(id) }]);
        const known = await other.token(`hash of ${id}`);
        assert.equal(await other.token(`hash of ${id}`), known);
        await one.commit([{ kind: "revoke-token", id, at: 9 }]);
        assert.equal((await one.token(`hash of ${id}`))?.revokedAt, 9);
        await until(async () => (await other.token(`hash of ${id}`))?.revokedAt === 9);
      }
    }));

  for (const isInsert of [true, false])
    it(`is not revoked before the end of ${isInsert ? "an insertion" : "a write"} by it`, () =>
      databases.in(async (testDatabase) => {
        const one = await testDatabase.open({ cacheMs: 3_600_000, writers: 1 });
        const other = await testDatabase.open();
        await one.commit([create(), put("a"), { kind: "create-token", token: token("t") }]);
        // After two insertions the head is known.
        for (const id of ["b", "c"]) await one.commit([{ ...put(id), isNewId: true }]);
        const write: Put = isInsert
          ? { ...put("d"), isNewId: true, callerToken: "t" }
          : { ...put("a"), callerToken: "t" };
        const order: string[] = [];
        const sent = await testDatabase.admin((sql) =>
          sql.begin(async (held) => {
            // The write has compared the token, and waits for what it locks or writes after that.
            if (isInsert) await held`SELECT part FROM heads FOR UPDATE`;
            else await held`LOCK TABLE resources IN SHARE MODE`;
            const waiting = async (count: number) => {
              const found = await held`SELECT FROM pg_locks WHERE NOT granted`;
              return found.length === count || order.length > 0;
            };
            const writing = one.commit([write]).then(([outcome]) => order.push(`${outcome?.kind}`));
            await until(() => waiting(1));
            const revocation = { kind: "revoke-token", id: "t", at: 9 } as const;
            const revoking = other.commit([revocation]).then(() => order.push("revoked"));
            await until(() => waiting(2));
            assert.deepEqual(order, []);
            return [writing, revoking];
          }),
        );
        await Promise.all(sent);
        assert.deepEqual(order, [isInsert ? "created" : "replaced", "revoked"]);
        assert.equal((await one.commit([{ ...write, id: "e" }]))[0]?.kind, "revoked");
      }));

  it("that is revoked without a notification is rejected within a second", () =>
    databases.in(async (testDatabase) => {
      const store = await testDatabase.open();
      await store.commit([{ kind: "create-token", token: token("t") }]);
      assert.equal((await store.token("hash of t"))?.revokedAt, null);
      await testDatabase.admin((sql) => sql`UPDATE tokens SET revoked = 9`);
      const { now } = performance;
      try {
        performance.now = () => now.call(performance) + 1_000;
        assert.equal((await store.token("hash of t"))?.revokedAt, 9);
      } finally {
        performance.now = now;
      }
    }));

  it("that is revoked while nobody listens is rejected after the next LISTEN", () =>
    databases.in(async (testDatabase) => {
      const one = await testDatabase.open();
      const other = await testDatabase.open({ cacheMs: 1_000_000 });
      await one.commit([{ kind: "create-token", token: token("t") }]);
      assert.equal((await other.token("hash of t"))?.revokedAt, null);
      await testDatabase.admin(
        (sql) => sql`
          SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE query LIKE 'LISTEN%' AND datname = current_database()`,
      );
      await one.commit([{ kind: "revoke-token", id: "t", at: 9 }]);
      await until(async () => (await other.token("hash of t"))?.revokedAt === 9);
    }));
});

describe("a process that lets another one commit", () => {
  it("sees at once what it has changed", () =>
    databases.in(async (testDatabase) => {
      const owner = withGroupCommit(await testDatabase.open());
      const worker = await testDatabase.open({ cacheMs: 3_600_000, committer: owner });
      await worker.commit([create(), { kind: "create-token", token: token("one") }]);
      assert.equal((await worker.token("hash of one"))?.revokedAt, null);
      await worker.commit([{ kind: "revoke-token", id: "one", at: 2 }]);
      assert.equal((await worker.token("hash of one"))?.revokedAt, 2);
      assert.equal(written((await worker.commit([put("a")]))[0]).revision, 2);
      assert.deepEqual(await idsOf(worker), ["a"]);
    }));

  it("leaves the work in the background to it", () =>
    databases.in(async (testDatabase) => {
      const retention = { removalsMs: 0, pauseMs: 1 };
      const owner = await testDatabase.open();
      const worker = await testDatabase.open({ retention, committer: owner });
      await worker.commit([create(), put("a")]);
      await worker.commit([remove("a")]);
      const removals = async () =>
        (await testDatabase.admin((sql) => sql`SELECT FROM tombstones`)).length;
      for (let reads = 0; reads < 50; reads++) await idsOf(worker);
      assert.equal(await removals(), 1);
      await testDatabase.open({ retention });
      await until(async () => (await removals()) === 0);
    }));
});
