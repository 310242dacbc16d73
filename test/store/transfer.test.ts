// Copies random stores through Snapshot and Loader, between all engines, and compares every answer.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { PostgresLoader } from "../../src/store/postgres/loader.ts";
import { openPostgres } from "../../src/store/postgres/postgres.ts";
import { postgresSource } from "../../src/store/postgres/snapshot.ts";
import { openExistingDatabase, openNewDatabase } from "../../src/store/sqlite/open-loader.ts";
import { sqliteSource } from "../../src/store/sqlite/snapshot.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import type { Store } from "../../src/store/store.ts";
import { newParts } from "../../src/store/transfer/publication.ts";
import { sourceTableNames } from "../../src/store/transfer/source-tables.ts";
import {
  CannotLoad,
  type Loader,
  type Publication,
  type Snapshot,
  type TransferSource,
} from "../../src/store/transfer/transfer.ts";
import fc from "../fast-check.ts";
import { newSeed, runs } from "../seeds.ts";
import { enginePairs, itOn } from "../short-run.ts";
import { create, define, idsFrom, put, remove, token } from "./contract/change-helpers.ts";
import { batch, Sequence } from "./contract/random-sequences.ts";
import { TestDatabases } from "./postgres/test-databases.ts";

/** An empty store of one engine, which is opened, read and loaded in turn. */
interface Engine {
  open(): Promise<Store>;
  readonly source: TransferSource;
  loader(isNew: boolean): Promise<Loader>;
}

const databases = new TestDatabases();

async function onSqlite(test: (engine: Engine) => Promise<void>): Promise<void> {
  const path = await mkdtemp(join(tmpdir(), "restante-"));
  try {
    await test({
      open: () => openSqlite({ path }),
      source: sqliteSource(join(path, "restante.db")),
      loader: async (isNew) => (isNew ? openNewDatabase(path) : openExistingDatabase(path)),
    });
  } finally {
    await rm(path, { recursive: true });
  }
}

const onPostgres = (test: (engine: Engine) => Promise<void>): Promise<void> =>
  databases.in(({ url }) =>
    test({
      open: () => openPostgres({ url, readers: 2 }),
      source: postgresSource(url),
      loader: () => PostgresLoader.open({ url }),
    }),
  );

const engines = { sqlite: onSqlite, postgres: onPostgres };

async function load(
  { collections, rows }: Snapshot,
  loader: Loader,
  names: readonly string[] = collections.map(({ name }) => name),
  parts: ReadonlyMap<number, number> = new Map(),
): Promise<void> {
  for (const collection of collections.filter(({ name }) => names.includes(name))) {
    const part = parts.get(collection.part) ?? collection.part;
    const load = await loader.begin({ ...collection, part });
    for (const table of sourceTableNames)
      for await (const step of rows(collection.part, table)) await load.add(table, step);
    await load.finish();
  }
}

async function within<T extends { close(): Promise<void> }>(
  opened: Promise<T>,
  act: (it: T) => Promise<void>,
): Promise<void> {
  const it = await opened;
  try {
    await act(it);
  } finally {
    await it.close();
  }
}

const wholeOf = ({ store, tokens }: Snapshot): Publication => ({
  replaces: "nothing",
  whole: { store, tokens },
});

const copyWhole = (from: Engine, to: Engine): Promise<void> =>
  within(from.source.snapshot(), (snapshot) =>
    within(to.loader(true), async (loader) => {
      await load(snapshot, loader);
      await loader.publish(wholeOf(snapshot));
    }),
  );

for (const [from, to] of enginePairs)
  describe(`a copy from ${from} to ${to}`, () => {
    it("of a random store gives the same answers, and goes on like it", async () => {
      const seed = newSeed(`copy from ${from} to ${to}`);
      const samples = fc.sample(fc.array(batch, { minLength: 4, maxLength: 8 }), {
        numRuns: runs(2, 60),
        seed,
      });
      await engines[from]((source) =>
        engines[to](async (target) => {
          const sequences = samples.map((_, index) => new Sequence(index));
          const tokens = [token("a"), token("b", { usedAt: 7, expiresAt: 9, revokedAt: 8 })];
          const first: Store = await source.open();
          let before: unknown;
          try {
            for (const each of tokens) await first.commit([{ kind: "create-token", token: each }]);
            for (const [index, sequence] of sequences.entries())
              await run(sequence, first, samples[index]?.slice(0, -2) ?? []);
            before = await describeStore(first);
          } finally {
            await first.close();
          }
          await copyWhole(source, target);
          await within(target.open(), async (copy) => {
            assert.deepEqual(await describeStore(copy), before);
            for (const [index, sequence] of sequences.entries())
              await run(sequence, copy, samples[index]?.slice(-2) ?? []);
          });
        }),
      );
    });
  });

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

/** All that can be read: also feeds with their epochs, so that positions stay valid. */
async function describeStore(store: Store): Promise<unknown> {
  const collections = await store.collections();
  const contents = await Promise.all(
    collections.map(async ({ name }) => [
      await store.slice(name, { offset: 0, limit: 1_000, order: "created" }),
      await store.since(name, 0, { limit: 1_000 }),
      await store.since(name, 0, { limit: 1_000, owner: "ann" }),
      await store.rules(name),
    ]),
  );
  const tokens = await store.tokens();
  const found = await Promise.all(tokens.map(({ hash }) => store.token(hash)));
  return { collections, contents, tokens, found, secret: await store.secret() };
}

/** The names of the indexes that have rows, when the build has ended. */
async function indexesWhenBuilt(source: TransferSource): Promise<readonly unknown[]> {
  for (;;) {
    const names = new Set<unknown>();
    let isBuilt = false;
    await within(source.snapshot(), async ({ collections: [collection], derived }) => {
      assert.ok(collection);
      isBuilt = collection.build === undefined;
      for await (const step of derived(collection.part, "entries"))
        for (const [, field] of step) names.add(field);
    });
    if (isBuilt) return [...names];
    await sleep(5);
  }
}

for (const [name, on] of Object.entries(engines))
  describe(`a loader of ${name}`, () => {
    const itHere = itOn(name);

    it("shows nothing before it publishes, and leaves nothing when it does not", () =>
      on((source) =>
        on(async (target) => {
          await within(source.open(), async (store) => {
            await store.commit([define('{"indexed":["of"]}'), ...idsFrom(30).map((id) => put(id))]);
          });
          await within(target.open(), (store) => store.commit([create("other")]).then(() => {}));
          await within(source.source.snapshot(), (snapshot) =>
            within(target.loader(false), (loader) => load(snapshot, loader)),
          );
          await within(target.open(), async (store) => {
            assert.deepEqual(
              (await store.collections()).map((collection) => collection.name),
              ["other"],
            );
          });
          // The same part again, also when the rows of the first time are not deleted yet.
          await within(source.source.snapshot(), (snapshot) =>
            within(target.loader(false), async (loader) => {
              const parts = newParts(snapshot.collections.map(({ part }) => part));
              await load(snapshot, loader, ["things"], parts);
              await loader.publish({ replaces: "nothing" });
            }),
          );
          await within(target.open(), async (store) => {
            assert.equal((await store.collection("things"))?.total, 30);
          });
        }),
      ));

    it("replaces a collection, and corrects who refers to whom", () =>
      on((source) =>
        on(async (target) => {
          const books = define('{"references":{"by":{"collection":"people"}}}', "books");
          await within(source.open(), async (store) => {
            await store.commit([books, put("ann", { collection: "people" })]);
            await store.commit([put("b", { collection: "books", fields: '{"by":"ann"}' })]);
          });
          const loadOne = (one: string, replaces: Publication["replaces"]) =>
            within(source.source.snapshot(), (snapshot) =>
              within(target.loader(false), async (loader) => {
                const parts = newParts(snapshot.collections.map(({ part }) => part));
                await load(snapshot, loader, [one], parts);
                await loader.publish({ replaces });
              }),
            );
          await within(target.open(), (store) => store.commit([create("other")]).then(() => {}));
          await assert.rejects(loadOne("books", "nothing"), CannotLoad);
          await loadOne("people", "nothing");
          await loadOne("books", "nothing");
          await assert.rejects(loadOne("books", "nothing"), CannotLoad);
          await loadOne("people", "same-names");
          await within(target.open(), async (store) => {
            const [outcome] = await store.commit([remove("ann", "anything", "people")]);
            assert.equal(outcome?.kind, "referenced");
            assert.deepEqual((await store.rules("people"))?.referrers, ["books"]);
            assert.equal((await store.rules("books"))?.referrers, undefined);
          });
        }),
      ));

    itHere("leaves no rows of former indexes where values are compared after it", () =>
      on((source) =>
        on(async (target) => {
          const fields = (n: number) => JSON.stringify({ n, text: "x".repeat(1_000) });
          const rows = idsFrom(1_500).map((id, n) => put(id, { fields: fields(n) }));
          await within(source.open(), async (store) => {
            await store.commit([define('{"indexed":["text"]}'), ...rows]);
            await store.commit([define('{"unique":["n"]}')]);
          });
          await copyWhole(source, target);
          await within(target.open(), async () => {
            assert.deepEqual(await indexesWhenBuilt(target.source), ["n"]);
          });
        }),
      ),
    );

    it("refuses a snapshot with too few resources", () =>
      on((source) =>
        on(async (target) => {
          await within(source.open(), (store) => store.commit([create(), put("a")]).then(() => {}));
          await within(source.source.snapshot(), (snapshot) =>
            within(target.loader(true), async (loader) => {
              const [things] = snapshot.collections;
              assert.ok(things);
              const part = await loader.begin(things);
              await assert.rejects(part.finish(), /things has 0 resources instead of 1/);
            }),
          );
        }),
      ));

    it("reads one state while others write, and holds writes", () =>
      on(async ({ open, source }) => {
        await within(open(), async (store) => {
          await store.commit([create(), put("a")]);
          const snapshot = await source.snapshot();
          try {
            await store.commit([put("b"), remove("a")]);
            const [things] = snapshot.collections;
            const ids: unknown[] = [];
            for await (const step of snapshot.rows(things?.part ?? 0, "resources"))
              ids.push(...step.map((row) => row[1]));
            assert.deepEqual(ids, ["a"]);
          } finally {
            await snapshot.close();
          }
          const hold = await source.holdWrites();
          const waiting = store.commit([put("c")]);
          const held = await source.snapshot();
          assert.equal(held.collections[0]?.head.total, 1);
          await held.close();
          await hold.release();
          assert.deepEqual(
            (await waiting).map(({ kind }) => kind),
            ["created"],
          );
        });
      }));
  });
