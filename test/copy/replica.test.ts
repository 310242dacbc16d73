// Replicas of random stores that are written to meanwhile: every row is the same, on every pair of engines.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { checkReplica } from "../../src/copy/check.ts";
import { RowCopier } from "../../src/copy/rows.ts";
import { openPostgres } from "../../src/store/postgres/postgres.ts";
import { openPostgresReplica } from "../../src/store/postgres/replica.ts";
import { postgresSource } from "../../src/store/postgres/snapshot.ts";
import { Connection } from "../../src/store/sqlite/connection.ts";
import { openSqliteReplica } from "../../src/store/sqlite/replica.ts";
import { sqliteSource } from "../../src/store/sqlite/snapshot.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import type { Store } from "../../src/store/store.ts";
import { sourceTables } from "../../src/store/transfer/source-tables.ts";
import {
  CannotLoad,
  type Replica,
  type Snapshot,
  type Source,
} from "../../src/store/transfer/transfer.ts";
import { noTrack } from "../backup/stores.ts";
import fc from "../fast-check.ts";
import { newSeed, runs } from "../seeds.ts";
import { runsOn } from "../short-run.ts";
import { define, found, idsFrom, put, remove, token } from "../store/contract/change-helpers.ts";
import { batch, Sequence } from "../store/contract/random-sequences.ts";
import { TestDatabases } from "../store/postgres/test-databases.ts";

/** A place for one store. */
interface Engine {
  readonly name: "sqlite" | "postgres";
  open(): Promise<Store>;
  readonly source: Source;
  replica(storeId: string): Promise<Replica>;
  /** All rows of a table, in any order. */
  dump(table: string): Promise<readonly string[]>;
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
      async dump(table) {
        const connection = new Connection(file, "scan");
        const rows = connection.query(`SELECT * FROM ${table}`).all();
        connection.close();
        return rows.map((row) => JSON.stringify(row));
      },
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
      dump: (table) =>
        admin(async (sql) => {
          const rows = await sql.unsafe(`SELECT * FROM ${table}`).values();
          return [...rows].map((row) => JSON.stringify(row, (_, each) => String(each)));
        }),
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
const copyRound = (from: Source, to: Engine, act = async (_: Copy) => {}): Promise<void> =>
  within(from.snapshot(), (snapshot) =>
    within(to.replica(snapshot.store.id), async (replica) => {
      const rows = new RowCopier(replica, noTrack);
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

const tables = [
  ...[...Object.keys(sourceTables), "entries", "words", "files", "positions"],
  ...["collections", "heads", "tokens", "token_uses"],
];

async function dumpAll({ dump }: Engine): Promise<Readonly<Record<string, readonly string[]>>> {
  const dumps: Record<string, readonly string[]> = {};
  for (const table of tables) dumps[table] = (await dump(table)).toSorted();
  return dumps;
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

/** Pairs that run here: all with `npm run test:long`, each once with `npm test`. */
const pairs = (["sqlite", "postgres"] as const)
  .flatMap((from) => (["sqlite", "postgres"] as const).map((to) => [from, to] as const))
  .filter(([from, to]) => runsOn(from === to ? "bun" : "node"));

for (const [from, to] of pairs)
  describe(`a replica of ${from} in ${to}`, () => {
    it("follows a random store, goes on like it, and comes back the same", async () => {
      const seed = newSeed(`replica of ${from} in ${to}`);
      const samples = fc.sample(fc.array(batch, { minLength: 8, maxLength: 12 }), {
        numRuns: runs(3, 40),
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
            assert.deepEqual(await dumpAll(third), await dumpAll(source));
            await within(target.open(), (store) => runAll(store, 6));
          }),
        ),
      );
    });
  });

for (const [name, on] of Object.entries(engines))
  describe(`a replica in ${name}`, () => {
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
              await new RowCopier(counting, noTrack).copy(snapshot, "rows");
              assert.ok(written.length <= 4, JSON.stringify(written));
            }),
          );
        }),
      ));

    it("is of one store, and only where there is none", () =>
      on((source) =>
        on((other) =>
          on(async (target) => {
            for (const each of [source, other])
              await within(each.open(), (store) => store.commit([found("people")]).then(() => {}));
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
            store.commit([found(), put("a"), put("b")]).then(() => {}),
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
