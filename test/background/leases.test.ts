// Leases: one process at a time holds one, a late commit of a former holder leaves nothing, and alone nothing is written.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Leases } from "../../src/background/leases.ts";
import { Outage } from "../../src/model/outage.ts";
import { leasesName } from "../../src/model/system-collections.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import type { Change, Put, Store } from "../../src/store/store.ts";
import {
  type TestDatabase,
  TestDatabases,
  until,
  waiting,
} from "../store/postgres/test-databases.ts";

const databases = new TestDatabases();
const freeAfterMs = 15_000;

const put = (id: string): Put => ({
  ...{ kind: "put", collection: "things", id, fields: "{}", at: 1, expect: "nothing" },
});
const things: Change = { kind: "create-collection", collection: "things", at: 1 };
const idsOf = async (store: Store) => {
  const range = { offset: 0, limit: 100, order: "created" } as const;
  return (await store.slice("things", range))?.resources.map(({ id }) => id).sort();
};

/** A process that others see, whose clock a test moves. */
class Looker {
  now = 0;
  readonly leases: Leases;

  constructor(store: Store) {
    this.leases = new Leases(store, { isAlone: false, now: () => this.now });
  }

  async takes(work: () => Promise<void> = async () => undefined): Promise<boolean> {
    return this.leases.run("duty", work);
  }
}

const committingBy = (store: Store, commit: Store["commit"]): Store =>
  new Proxy(store, {
    get(target, name) {
      if (name === "commit") return commit;
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });

/** A holder whose process can be held up: its commits wait. */
class HeldUp {
  readonly store: Store;
  readonly waits = Promise.withResolvers<void>();
  #resumed: Promise<void> | undefined;
  #resume: (() => void) | undefined;

  constructor(store: Store) {
    this.store = committingBy(store, async (changes) => {
      if (this.#resumed !== undefined) this.waits.resolve();
      await this.#resumed;
      return store.commit(changes);
    });
  }

  stop(): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#resumed = promise;
    this.#resume = resolve;
  }

  resume(): void {
    this.#resume?.();
  }
}

/** Begins to hold a lease until it is told to end. */
async function hold(leases: Leases) {
  const taken = Promise.withResolvers<HeldLease>();
  const end = Promise.withResolvers<void>();
  const done = leases.run("duty", async (lease) => {
    taken.resolve(lease);
    await end.promise;
  });
  const finish = async () => {
    end.resolve();
    await done;
  };
  return { lease: await taken.promise, finish };
}
type HeldLease = Parameters<Parameters<Leases["run"]>[1]>[0];

const onPostgres = (test: (testDatabase: TestDatabase, store: Store) => Promise<void>) => () =>
  databases.in(async (testDatabase) => test(testDatabase, await testDatabase.open()));

describe("a lease on Postgres", () => {
  it(
    "is held by one of several at a time, and free when that one ends",
    onPostgres(async (testDatabase) => {
      let active = 0;
      let most = 0;
      const contend = async (): Promise<void> => {
        const leases = new Leases(await testDatabase.open(), { isAlone: false });
        for (let held = 0; held < 3; )
          held += Number(
            await leases.run("duty", async (lease) => {
              most = Math.max(most, ++active);
              await lease.renew();
              assert.ok(lease.isHeld);
              active--;
            }),
          );
      };
      await Promise.all([contend(), contend(), contend()]);
      assert.equal(most, 1);
    }),
  );

  it(
    "that is not renewed is free after 15 s of the clock of the one who looks, and not sooner",
    onPostgres(async (testDatabase, store) => {
      const killed = await testDatabase.open();
      const { lease } = await hold(new Leases(killed, { isAlone: false }));
      const looker = new Looker(store);
      assert.equal(await looker.takes(), false);
      looker.now = freeAfterMs - 1;
      assert.equal(await looker.takes(), false);
      // It is seen anew.
      await lease.renew();
      looker.now += freeAfterMs;
      assert.equal(await looker.takes(), false);
      await killed.close();
      // A renewal by its own timer may have come before.
      assert.equal(await looker.takes(), false);
      looker.now += freeAfterMs - 1;
      assert.equal(await looker.takes(), false);
      looker.now += 1;
      assert.equal(await looker.takes(), true);
      assert.equal(await store.find(leasesName, "duty"), undefined);
    }),
  );

  it(
    "lets no late commit of a former holder pass, also while the new one writes",
    onPostgres(async (testDatabase, store) => {
      await store.commit([things]);
      const former = new HeldUp(await testDatabase.open());
      const { lease, finish } = await hold(new Leases(former.store, { isAlone: false }));
      assert.equal((await lease.commit([put("early")]))?.kind, "all");
      former.stop();
      const late = lease.commit([put("late"), put("later")]);
      await former.waits.promise;
      const looker = new Looker(store);
      assert.equal(await looker.takes(), false);
      looker.now += freeAfterMs;
      const next = await hold(looker.leases);
      await next.lease.commit([put("next")]);
      former.resume();
      assert.deepEqual(await late, { kind: "none", index: 0, outcome: { kind: "stale" } });
      assert.equal(lease.isHeld, false);
      await lease.renew();
      assert.equal((await lease.commit([put("latest")]))?.kind, "none");
      assert.equal(next.lease.isHeld, true);
      await finish();
      assert.equal((await next.lease.commit([put("last")]))?.kind, "all");
      await next.finish();
      assert.deepEqual(await idsOf(store), ["early", "last", "next"]);
    }),
  );

  it(
    "is not held any more, for what has effects elsewhere, when it was not renewed in time",
    onPostgres(async (_, store) => {
      const holder = new Looker(store);
      const { lease, finish } = await hold(holder.leases);
      holder.now += freeAfterMs - 1;
      assert.equal(lease.isHeld, true);
      await lease.renew();
      holder.now += freeAfterMs - 1;
      assert.equal(lease.isHeld, true);
      holder.now += 1;
      assert.equal(lease.isHeld, false);
      await finish();
    }),
  );

  it(
    "stays held after a renewal whose outcome is not known",
    onPostgres(async (_, store) => {
      let isSilent = false;
      const silent = committingBy(store, async (changes) => {
        const outcomes = await store.commit(changes);
        if (isSilent) throw new Outage("unknown", "the answer was lost");
        return outcomes;
      });
      const { lease, finish } = await hold(new Leases(silent, { isAlone: false }));
      await store.commit([things]);
      isSilent = true;
      await assert.rejects(lease.renew());
      isSilent = false;
      const outcome = await lease.commit([put("a")]);
      assert.equal(outcome?.kind, "none");
      assert.equal(lease.isHeld, true);
      assert.equal((await lease.commit([put("a")]))?.kind, "all");
      await finish();
    }),
  );

  it(
    "is renewed beside commits, and none of them is stale",
    onPostgres(async (_, store) => {
      await store.commit([things]);
      const { lease, finish } = await hold(new Leases(store, { isAlone: false }));
      const outcomes = Array.from({ length: 10 }, (_, index) => {
        void lease.renew();
        return lease.commit([put(`a${index}`)]);
      });
      for (const outcome of await Promise.all(outcomes)) assert.equal(outcome?.kind, "all");
      await finish();
    }),
  );

  it(
    "does not make the commits that name it wait for writers of other leases",
    onPostgres(async (testDatabase, store) => {
      await store.commit([things]);
      const { lease, finish } = await hold(new Leases(store, { isAlone: false }));
      await testDatabase.admin((sql) =>
        sql.begin(async (transaction) => {
          await transaction`SELECT FROM heads JOIN collections USING (part)
            WHERE name = ${leasesName} FOR UPDATE OF heads`;
          assert.equal((await lease.commit([put("a")]))?.kind, "all");
        }),
      );
      await finish();
    }),
  );

  it(
    "makes a commit wait for the one who takes it, and fail then",
    onPostgres(async (testDatabase, store) => {
      await store.commit([things]);
      const { lease, finish } = await hold(new Leases(store, { isAlone: false }));
      let late: ReturnType<typeof lease.commit> | undefined;
      await testDatabase.admin((sql) =>
        sql.begin(async (transaction) => {
          await transaction`UPDATE resources SET revision = revision + 1, fields = '{"holder":"x"}'
            WHERE id = 'duty'`;
          late = lease.commit([put("a")]);
          await until(async () => (await waiting(testDatabase)) > 0);
        }),
      );
      const outcome = await late?.catch((error: unknown) => error);
      // The checksum is not that of the changed row, which is no reason to pass.
      assert.notEqual((outcome as { kind?: string }).kind, "all");
      assert.deepEqual(await idsOf(store), []);
      await finish();
    }),
  );
});

describe("a lease on the embedded store", () => {
  it("is held without a commit", async () => {
    const path = await mkdtemp(join(tmpdir(), "restante-"));
    const store = await openSqlite({ path });
    try {
      await store.commit([things]);
      const before = store.version?.();
      const leases = new Leases(store, { isAlone: true });
      const { lease, finish } = await hold(leases);
      assert.equal(await leases.run("duty", async () => assert.fail("it is held")), false);
      assert.equal(await leases.run("other", async () => undefined), true);
      await lease.renew();
      assert.equal(store.version?.(), before);
      assert.equal((await lease.commit([put("a")]))?.kind, "all");
      assert.equal(lease.isHeld, true);
      const after = store.version?.();
      await finish();
      assert.deepEqual([store.version?.(), store.collection(leasesName)], [after, undefined]);
    } finally {
      await store.close();
      await rm(path, { recursive: true });
    }
  });
});
