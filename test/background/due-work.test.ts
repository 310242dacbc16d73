// Work that is due: begun once by several contenders, again after a kill or a failure, with effects in the store once.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { DueWork, type DueWorkOptions } from "../../src/background/due-work.ts";
import { Tasks } from "../../src/lib/tasks.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import type { Change, Put, ResourceChange, Store } from "../../src/store/store.ts";
import { storesHere } from "../short-run.ts";
import { TestDatabases, until } from "../store/postgres/test-databases.ts";

const databases = new TestDatabases();
const [work, effects] = ["-work", "effects"];

/** Stores on the same data, as several processes or nodes have them. */
type Open = () => Promise<Store>;
const engines: Readonly<Record<string, (test: (open: Open) => Promise<void>) => Promise<void>>> = {
  postgres: (test) => databases.in((testDatabase) => test(() => testDatabase.open())),
  async sqlite(test) {
    const path = await mkdtemp(join(tmpdir(), "restante-"));
    const stores: Store[] = [];
    await test(async () => {
      const store = await openSqlite({ path });
      stores.push(store);
      return store;
    }).finally(async () => {
      for (const store of stores) await store.close();
      await rm(path, { recursive: true });
    });
  },
};

const definition = JSON.stringify({
  schema: { properties: { due: { type: "integer" } } },
  indexed: ["due"],
});
const begin: readonly Change[] = [
  { kind: "define", collection: work, definition, at: 1 },
  { kind: "create-collection", collection: effects, at: 1 },
];
const row = (id: string, due: number): Put => ({
  ...{ kind: "put", collection: work, id, fields: JSON.stringify({ due, tries: 0, n: id }) },
  ...{ at: 1, expect: "nothing" },
});
/** Fails when it was written before. */
const effectOf = (id: string): Put => ({
  ...{ kind: "put", collection: effects, id, fields: "{}", at: 1, expect: "nothing" },
});

const totalOf = async (store: Store, name: string) => (await store.collection(name))?.total ?? 0;
const fieldsOf = async (store: Store, id: string) => {
  const found = await store.find(work, id);
  return found && (JSON.parse(found.fields) as { readonly due: number; readonly tries: number });
};

type Perform = (work: {
  readonly n: string;
  readonly tries: number;
}) => Promise<readonly ResourceChange[]>;

class Worker {
  now: number;
  readonly #work: DueWork<{ readonly n: string }>;

  readonly failures: unknown[] = [];

  constructor(store: Store, perform: Perform, now = 1_000_000) {
    this.now = now;
    const tasks = new Tasks({ onFailure: (_, name, error) => this.failures.push([name, error]) });
    const options: DueWorkOptions<{ readonly n: string }> = {
      ...{ store, tasks, clock: () => this.now },
      ...{ name: "work", collection: work, retryMs: 1_000, perform },
    };
    this.#work = new DueWork(options);
  }

  close(): Promise<void> {
    return this.#work.close();
  }
}

/** Wakes workers, as any commit of another process does. */
const wake = (store: Store): Promise<unknown> =>
  store.commit([{ ...row("later", Number.MAX_SAFE_INTEGER), expect: "anything" }]);

for (const engine of storesHere("postgres", ["postgres", "sqlite"] as const)) {
  const run = engines[engine];
  if (run === undefined) throw new Error(engine);
  describe(`work that is due, on ${engine}`, () => {
    it("is done once, by one of several", () =>
      run(async (open) => {
        const store = await open();
        const ids = Array.from({ length: 40 }, (_, index) => `w${index}`);
        await store.commit([...begin, ...ids.map((id) => row(id, 1))]);
        const begun: string[] = [];
        const workers: Worker[] = [];
        for (let count = 0; count < 3; count++)
          workers.push(
            new Worker(await open(), async ({ n }) => {
              begun.push(n);
              return [effectOf(n)];
            }),
          );
        await until(async () => (await totalOf(store, work)) === 0);
        assert.deepEqual(begun.toSorted(), ids.toSorted());
        assert.equal(await totalOf(store, effects), ids.length);
        for (const worker of workers) await worker.close();
      }));

    it("is begun by the commit that adds it, and not before it is due", () =>
      run(async (open) => {
        const store = await open();
        await store.commit(begin);
        const worker = new Worker(await open(), async ({ n }) => [effectOf(n)], 1_000);
        await store.commit([row("early", 1_000), row("late", 1_001)]);
        await until(async () => (await totalOf(store, effects)) === 1);
        assert.deepEqual(await fieldsOf(store, "late"), { due: 1_001, tries: 0, n: "late" });
        assert.equal(await store.find(work, "early"), undefined);
        worker.now = 1_001;
        await wake(store);
        await until(async () => (await totalOf(store, effects)) === 2);
        await worker.close();
      }));

    it("is tried again after growing pauses when it fails, and what it wrote is not there", () =>
      run(async (open) => {
        const store = await open();
        await store.commit([...begin, effectOf("b")]);
        const tried: number[] = [];
        const worker = new Worker(await open(), async ({ n, tries }) => {
          if (n === "b") return [effectOf("c"), effectOf("b")];
          tried.push(tries);
          if (tries < 3) throw new Error("not yet");
          return [effectOf(n)];
        });
        await store.commit([row("a", 1), row("b", 1)]);
        for (const [tries, pause] of [
          [1, 1_000],
          [2, 2_000],
        ] as const) {
          const isTried = async (id: string) => {
            const { due = 0, tries: done } = (await fieldsOf(store, id)) ?? {};
            // Taken work is due in a minute.
            return done === tries && due < worker.now + 30_000;
          };
          await until(async () => (await isTried("a")) && (await isTried("b")));
          for (const id of ["a", "b"]) {
            const later = ((await fieldsOf(store, id))?.due ?? 0) - worker.now;
            assert.ok(later >= 0.8 * pause && later <= 1.2 * pause, `${later}`);
          }
          worker.now += 1.2 * pause;
          await wake(store);
        }
        await until(async () => (await store.find(work, "a")) === undefined);
        await worker.close();
        assert.ok(worker.failures.length > 0);
        assert.deepEqual(tried, [1, 2, 3]);
        assert.equal(await store.find(effects, "c"), undefined);
        assert.ok(await store.find(effects, "a"));
      }));

    it("is done by another when its process is killed, and what a late one returns has no effect", () =>
      run(async (open) => {
        const store = await open();
        await store.commit([...begin, row("a", 1)]);
        const [taken, going] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
        const heldUp = new Worker(await open(), async () => {
          taken.resolve();
          await going.promise;
          return [effectOf("late")];
        });
        await taken.promise;
        const tries: number[] = [];
        const other = new Worker(await open(), async (work) => {
          tries.push(work.tries);
          return [effectOf("done")];
        });
        await wake(store);
        other.now += 60_000;
        await wake(store);
        // The row that wakes is left.
        await until(async () => (await totalOf(store, work)) === 1);
        going.resolve();
        await heldUp.close();
        await other.close();
        assert.deepEqual(tries, [2]);
        assert.deepEqual(
          [await store.find(effects, "late"), (await store.find(effects, "done"))?.id],
          [undefined, "done"],
        );
      }));
  });
}
