// Replicas of random stores that are written to meanwhile: every row is the same, on every pair of engines.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { checkReplica } from "../../src/copy/check.ts";
import { RowCopier } from "../../src/copy/rows.ts";
import { openPostgres } from "../../src/store/postgres/postgres.ts";
import { openPostgresReplica } from "../../src/store/postgres/replica.ts";
import { postgresSource } from "../../src/store/postgres/snapshot.ts";
import { openSqliteReplica } from "../../src/store/sqlite/replica.ts";
import { sqliteSource } from "../../src/store/sqlite/snapshot.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import type { Store } from "../../src/store/store.ts";
import {
  derivedTableNames,
  type SourceRow,
  sourceTableNames,
} from "../../src/store/transfer/source-tables.ts";
import {
  CannotLoad,
  type Replica,
  type Snapshot,
  type TransferSource,
} from "../../src/store/transfer/transfer.ts";
import { noTrack } from "../backup/stores.ts";
import fc from "../fast-check.ts";
import { holdBuilds, holdOfPostgres } from "../held-builds.ts";
import { newSeed, runs } from "../seeds.ts";
import { enginePairs, itOn } from "../short-run.ts";
import {
  all,
  create,
  define,
  idsFrom,
  once,
  put,
  remove,
  token,
} from "../store/contract/change-helpers.ts";
import { ask, is } from "../store/contract/query-helpers.ts";
import { batch, Sequence } from "../store/contract/random-sequences.ts";
import { TestDatabases } from "../store/postgres/test-databases.ts";

/** A place for one store. */
interface Engine {
  readonly name: "sqlite" | "postgres";
  open(): Promise<Store>;
  readonly source: TransferSource;
  replica(storeId: string): Promise<Replica>;
  /** Builds of indexes do not get further than so many rows from now on. */
  holdBuilds(rows: number): Promise<unknown>;
}

const databases = new TestDatabases();

async function onSqlite(test: (engine: Engine) => Promise<void>): Promise<void> {
  const path = await mkdtemp(join(tmpdir(), "restante-"));
  const file = join(path, "restante.db");
  try {
    await test({
      name: "sqlite",
      open: () => openSqlite({ path }),
      source: sqliteSource(file),
      replica: async (storeId) => openSqliteReplica(path, storeId),
      holdBuilds: async (rows) => holdBuilds(path, rows),
    });
  } finally {
    await rm(path, { recursive: true });
  }
}

const onPostgres = (test: (engine: Engine) => Promise<void>): Promise<void> =>
  databases.inEmpty(({ url, admin }) =>
    test({
      name: "postgres",
      open: () => openPostgres({ url, readers: 2 }),
      source: postgresSource(url),
      replica: (storeId) => openPostgresReplica({ url }, storeId),
      holdBuilds: (rows) => admin((sql) => sql.unsafe(holdOfPostgres(rows).hold)),
    }),
  );

const engines = { sqlite: onSqlite, postgres: onPostgres };

async function within<T extends { close(): Promise<void> }, R>(
  opened: Promise<T>,
  act: (it: T) => Promise<R>,
): Promise<R> {
  const it = await opened;
  try {
    return await act(it);
  } finally {
    await it.close();
  }
}

const files = { check: async () => true };

/** One round of a copy, as a process that was started anew does it. */
const copyRound = (from: TransferSource, to: Engine, act = async (_: Copy) => {}): Promise<void> =>
  within(from.snapshot(), (snapshot) =>
    within(to.replica(snapshot.store.id), async (replica) => {
      const rows = new RowCopier(replica, noTrack, async () => undefined);
      await rows.copy(snapshot, "rows");
      await act({ snapshot, replica, rows });
    }),
  );

interface Copy {
  readonly snapshot: Snapshot;
  readonly replica: Replica;
  readonly rows: RowCopier;
}

const finishCopy = async ({ snapshot, replica, rows }: Copy): Promise<void> => {
  await checkReplica(snapshot, replica, { rows, files, track: noTrack });
  await replica.publish();
};

/** All rows of a store, those that are computed from others too. */
const readAll = (source: TransferSource): Promise<unknown> =>
  within(source.snapshot(), async (snapshot) => {
    const { store, collections, tokens } = snapshot;
    const tables: Record<string, unknown> = {};
    for (const { name, part } of collections) {
      for (const table of sourceTableNames)
        tables[`${name} ${table}`] = await gather(snapshot.rows(part, table));
      for (const table of derivedTableNames)
        tables[`${name} ${table}`] = await gather(snapshot.derived(part, table));
    }
    return { store, collections, tokens, tables };
  });

/** The names of the indexes that have rows, when all builds have ended. */
async function indexesIn({ open, source }: Engine): Promise<readonly unknown[]> {
  const read = () =>
    within(source.snapshot(), async (snapshot) => {
      const [collection] = snapshot.collections;
      assert.ok(collection);
      const entries = await gather(snapshot.derived(collection.part, "entries"));
      return { build: collection.build, names: [...new Set(entries.map(([, field]) => field))] };
    });
  await within(open(), async () => {
    while ((await read()).build) await sleep(5);
  });
  return (await read()).names.sort();
}

async function gather<T>(steps: AsyncIterable<readonly T[]>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const step of steps) all.push(...step);
  return all;
}

type Batches = readonly (typeof batch extends fc.Arbitrary<infer T> ? T : never)[];

/** Commits the batches, and compares outcomes and answers with a simple model. */
async function run(sequence: Sequence, store: Store, batches: Batches): Promise<void> {
  for (const { steps, look } of batches) {
    const changes = sequence.changes(steps);
    const outcomes = await store.commit(changes);
    const kinds = (all: readonly { readonly kind: string }[]) => all.map(({ kind }) => kind);
    assert.deepEqual(kinds(outcomes), kinds(sequence.model.commit(changes)));
    await sequence.assertSameIn(store, look);
  }
}

async function* erase(steps: AsyncIterable<readonly SourceRow[]>) {
  for await (const step of steps) yield step.map((row) => row.with(3, "erased"));
}

for (const [from, to] of enginePairs)
  describe(`a replica of ${from} in ${to}`, () => {
    it("follows a random store, goes on like it, and comes back the same", async () => {
      const seed = newSeed(`replica of ${from} in ${to}`);
      const samples = fc.sample(fc.array(batch, { minLength: 8, maxLength: 12 }), {
        numRuns: runs(2, 40),
        seed,
      });
      await engines[from]((source) =>
        engines[to]((target) =>
          engines[from](async (third) => {
            const sequences = samples.map((_, index) => new Sequence(index));
            const runAll = async (store: Store, start: number, end?: number) => {
              for (const [index, sequence] of sequences.entries())
                await run(sequence, store, samples[index]?.slice(start, end) ?? []);
            };
            await within(source.open(), async (store) => {
              await store.commit([
                { kind: "create-token", token: token("a") },
                { kind: "create-token", token: token("b", { usedAt: 7, revokedAt: 8 }) },
              ]);
              await runAll(store, 0, 2);
              await copyRound(source.source, target);
              await runAll(store, 2, 4);
              await copyRound(source.source, target, async ({ rows, ...copy }) => {
                await runAll(store, 4, 6);
                // The same process goes on with a later snapshot.
                await within(source.source.snapshot(), async (snapshot) => {
                  await rows.copy(snapshot, "changes");
                  await finishCopy({ ...copy, snapshot, rows });
                });
              });
            });
            await copyRound(target.source, third, finishCopy);
            const rows = await readAll(source.source);
            assert.deepEqual(await readAll(target.source), rows);
            assert.deepEqual(await readAll(third.source), rows);
            await within(target.open(), (store) => runAll(store, 6));
          }),
        ),
      );
    });
  });

for (const [name, on] of Object.entries(engines))
  describe(`a replica in ${name}`, () => {
    const itHere = itOn(name);

    it("does not write what is there", () =>
      on((source) =>
        on(async (target) => {
          await within(source.open(), async (store) => {
            await store.commit([define('{"indexed":["of"]}'), ...idsFrom(30).map((id) => put(id))]);
          });
          await copyRound(source.source, target);
          await within(source.open(), (store) =>
            store.commit([put("new"), remove("id-3")]).then(() => {}),
          );
          await within(source.source.snapshot(), (snapshot) =>
            within(target.replica(snapshot.store.id), async (replica) => {
              const written: unknown[] = [];
              const counting: Replica = {
                state: () => replica.state(),
                begin: (collection) => replica.begin(collection),
                remove: (collection) => replica.remove(collection),
                finish: (state) => replica.finish(state),
                publish: () => replica.publish(),
                close: () => replica.close(),
                write(writes) {
                  written.push(...writes.inserted, ...writes.deleted);
                  return replica.write(writes);
                },
              };
              await new RowCopier(counting, noTrack, async () => undefined).copy(snapshot, "rows");
              assert.ok(written.length <= 4, JSON.stringify(written));
            }),
          );
        }),
      ));

    it("follows when whole ranges of positions are removed", () =>
      on((source) =>
        on(async (target) => {
          const ids = idsFrom(200);
          await within(source.open(), async (store) => {
            await store.commit([create(), ...ids.map((id) => put(id))]);
            await store.commit(ids.slice(10, 20).map((id) => remove(id)));
            await copyRound(source.source, target);
            await store.commit(ids.slice(0, 140).map((id) => remove(id)));
          });
          await copyRound(source.source, target, finishCopy);
          assert.deepEqual(await readAll(target.source), await readAll(source.source));
        }),
      ));

    it("follows keys that are erased while their collection does not change", () =>
      on((source) =>
        on(async (target) => {
          await within(source.open(), (store) =>
            store.commit([create(), all([put("a")], once("k"))]).then(() => {}),
          );
          await copyRound(source.source, target, async ({ snapshot, replica, rows }) => {
            const erased: Snapshot = {
              ...snapshot,
              rows: (part, table) =>
                table === "idempotency_keys"
                  ? erase(snapshot.rows(part, table))
                  : snapshot.rows(part, table),
            };
            const [things] = snapshot.collections;
            assert.ok(things);
            assert.equal(await rows.follow(erased), 2);
            const keys = await gather(
              (await replica.state()).rows(things.part, "idempotency_keys"),
            );
            assert.deepEqual(
              keys.map((row) => row[3]),
              ["erased"],
            );
          });
        }),
      ));

    itHere("keeps the files that a row still names, also when another one names them now", () =>
      on((source) =>
        on(async (target) => {
          const attach = (id: string, ...keys: string[]) => ({
            ...put(id),
            files: JSON.stringify(keys.map((key) => ({ key }))),
          });
          await within(source.open(), async (store) => {
            await store.commit([create(), attach("a", "1", "2"), attach("b", "3")]);
            await copyRound(source.source, target);
            // One stays, one goes, and one moves to a new resource.
            await store.commit([attach("a", "1"), put("b"), attach("c", "3")]);
          });
          await within(source.source.snapshot(), (snapshot) =>
            within(target.replica(snapshot.store.id), async (replica) => {
              const removed: string[] = [];
              const rows = new RowCopier(replica, noTrack, async (keys) => {
                removed.push(...keys);
              });
              await rows.copy(snapshot, "rows");
              assert.deepEqual(removed, ["2"]);
            }),
          );
        }),
      ),
    );

    itHere("has complete indexes while the source builds them", () =>
      on((source) =>
        on(async (target) => {
          const integer = { type: "integer" };
          const schema = { properties: { n: integer, of: integer } };
          const definition = { schema, unique: ["n"], indexed: ["of"] };
          const fields = (n: number) => JSON.stringify({ n, of: n % 3, text: "x".repeat(1_000) });
          await within(source.open(), async (store) => {
            await store.commit([
              define('{"indexed":["text"]}'),
              ...idsFrom(1_500).map((id, n) => put(id, { fields: fields(n) })),
            ]);
            await source.holdBuilds(600);
            await store.commit([define(JSON.stringify(definition))]);
          });
          await copyRound(source.source, target, async (copy) => {
            assert.ok(copy.snapshot.collections[0]?.build);
            await finishCopy(copy);
          });
          await within(target.open(), async (store) => {
            while ((await store.indexBuild("things"))?.isRunning) await sleep(5);
            const asked = await store.query("things", ask({ conditions: [is("of", "number", 2)] }));
            assert.equal(asked?.total, 500);
            const [outcome] = await store.commit([put("new", { fields: fields(7) })]);
            assert.equal(outcome?.kind, "conflict");
          });
          assert.deepEqual(await indexesIn(target), ["n", "of"]);
        }),
      ),
    );

    it("is of one store, and only where there is none", () =>
      on((source) =>
        on((other) =>
          on(async (target) => {
            for (const each of [source, other])
              await within(each.open(), (store) => store.commit([create("people")]).then(() => {}));
            await copyRound(source.source, target);
            await assert.rejects(copyRound(other.source, target), CannotLoad);
            await copyRound(source.source, target, finishCopy);
            if (name === "postgres")
              await assert.rejects(copyRound(source.source, target), /is not empty/);
          }),
        ),
      ));

    it("is not published when a row differs", () =>
      on((source) =>
        on(async (target) => {
          await within(source.open(), (store) =>
            store.commit([create(), put("a"), put("b")]).then(() => {}),
          );
          await copyRound(source.source, target, async (copy) => {
            const [things] = copy.snapshot.collections;
            assert.ok(things);
            for await (const [row] of copy.snapshot.rows(things.part, "resources")) {
              const { PartReplica } = await import("../../src/store/transfer/part-replica.ts");
              const deleted = row ? [row] : [];
              const difference = { rows: [], deleted, inserted: [] };
              const writes = new PartReplica(things).writesOf("resources", difference);
              assert.ok(writes);
              await copy.replica.write(writes);
            }
            await assert.rejects(finishCopy(copy), /the rows of resources of things/);
          });
        }),
      ));
  });
