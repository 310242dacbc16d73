// Indexes, search and unique values of large collections are prepared in steps, beside other writes.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Collections } from "../../src/domain/collections.ts";
import { system } from "../../src/model/principal.ts";
import { Problem } from "../../src/model/problem.ts";
import { withGroupCommit } from "../../src/store/group-commit.ts";
import { Builder } from "../../src/store/postgres/builds.ts";
import { Connection } from "../../src/store/postgres/connection.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import type { BuildProgress, Change, Store } from "../../src/store/store.ts";
import { holdBuilds, holdOfPostgres, releaseBuilds } from "../held-builds.ts";
import { newSeed, randomNumbers, runs } from "../seeds.ts";
import { itLong, itOn } from "../short-run.ts";
import { create, define, kinds, put, remove } from "./contract/change-helpers.ts";
import { ask, by, is, wordsLike } from "./contract/query-helpers.ts";
import { type TestDatabase, TestDatabases } from "./postgres/test-databases.ts";
import { inDirectory, startChild } from "./sqlite/test-directory.ts";

/** Holds builds at so many rows, until the function that it returns is called. */
type Hold = (rows: number) => Promise<() => Promise<void>>;

/** Runs a test with a function that opens a store, each time as a new process would. */
type Engine = (
  /** `errors` has what the stores have logged. */
  test: (open: () => Promise<Store>, hold: Hold, errors: readonly string[]) => Promise<void>,
) => Promise<void>;

const holdOn =
  ({ admin }: TestDatabase): Hold =>
  async (rows) => {
    const { hold, release } = holdOfPostgres(rows);
    await admin((sql) => sql.unsafe(hold));
    return async () => {
      await admin((sql) => sql.unsafe(release));
    };
  };

const databases = new TestDatabases();
const engines: Readonly<Record<string, Engine>> = {
  async sqlite(test) {
    const path = await mkdtemp(join(tmpdir(), "restante-"));
    const stores: Store[] = [];
    const errors: string[] = [];
    const report = (_: string, message: string) => void errors.push(message);
    try {
      const open = async () => {
        await stores.at(-1)?.close();
        const store = await openSqlite({ path, report });
        stores.push(store);
        return store;
      };
      const hold: Hold = async (rows) => {
        holdBuilds(path, rows);
        return async () => releaseBuilds(path);
      };
      await test(open, hold, errors);
    } finally {
      await stores.at(-1)?.close();
      await rm(path, { recursive: true });
    }
  },
  postgres: (test) =>
    databases.in(async (database) => {
      const stores: Store[] = [];
      const errors: string[] = [];
      const open = async () => {
        await stores.at(-1)?.close();
        const store = await database.open({ onError: (message) => void errors.push(message) });
        stores.push(store);
        return store;
      };
      await test(open, holdOn(database), errors);
    }),
};

const count = runs(2_000, 6_000);
/** How many of them have one of the seven words. */
const withOneWord = Array.from({ length: count }).filter((_, n) => n % 7 === 3).length;
const things = (from = 0, to = count): readonly Change[] =>
  Array.from({ length: to - from }, (_, index) => {
    const n = from + index;
    return put(`id-${n}`, { fields: JSON.stringify({ n, text: `word${n % 7} other` }) });
  });

async function fill(store: Store, to = count): Promise<void> {
  await store.commit([create()]);
  for (let from = 0; from < to; from += 1_000) await store.commit(things(from, from + 1_000));
}

/** Resolves when the build has ended, or has so many rows. */
async function ended(store: Store, rows = Infinity): Promise<BuildProgress | undefined> {
  for (;;) {
    const build = await store.indexBuild("things");
    if (!build?.isRunning || build.done >= rows) return build;
    await sleep(5);
  }
}

const typed = (rest: object): string =>
  JSON.stringify({ schema: { properties: { n: { type: "number" } } }, ...rest });

async function idsOf(store: Store, query: Parameters<typeof ask>[0]): Promise<readonly string[]> {
  const result = await store.query("things", ask({ limit: 1_000, ...query }));
  assert.ok(result);
  return result.resources.map(({ id }) => id);
}

const last = { sortings: [by("n", "number", true)], limit: 2 };

for (const [name, engine] of Object.entries(engines))
  describe(`a new index on ${name}`, () => {
    const itHere = itOn(name);
    it("is built beside writes, and queries are right meanwhile", () =>
      engine(async (open, hold) => {
        const store = await open();
        await fill(store);
        const release = await hold(count / 2);
        const definition = typed({ indexed: ["n"], searchable: ["text"] });
        assert.deepEqual(kinds(await store.commit([define(definition)])), ["done"]);
        const seen = await ended(store, count / 5);
        assert.ok(seen?.isRunning && seen.done <= count / 2 && seen.total === count);
        // Before and behind what is indexed already.
        await store.commit([
          put("id-1", { fields: '{"n":-1,"text":"fresh"}' }),
          put(`id-${count - 1}`, { fields: '{"n":-2,"text":"fresh"}' }),
          remove("id-2"),
          remove(`id-${count - 2}`),
          put("new", { fields: '{"n":99999,"text":"fresh"}' }),
        ]);
        const check = async () => {
          assert.deepEqual(await idsOf(store, last), ["new", `id-${count - 3}`]);
          const fresh = await idsOf(store, { words: wordsLike("fresh") });
          assert.deepEqual(fresh.toSorted(), ["id-1", `id-${count - 1}`, "new"].toSorted());
          const one = [is("n", "number", count - 2)];
          assert.deepEqual(await idsOf(store, { conditions: one }), []);
          const total = await idsOf(store, { conditions: [is("n", "number", 17)] });
          assert.deepEqual(total, ["id-17"]);
        };
        await check();
        await release();
        assert.equal(await ended(store), undefined);
        await check();
      }));

    itHere("is completed after a restart", () =>
      engine(async (open, hold) => {
        const store = await open();
        await fill(store);
        const release = await hold(count / 2);
        await store.commit([define(typed({ unique: ["n"] }))]);
        const again = await open();
        assert.ok((await again.indexBuild("things"))?.isRunning);
        await release();
        assert.equal(await ended(again), undefined);
        assert.deepEqual(await idsOf(again, last), [`id-${count - 1}`, `id-${count - 2}`]);
        const twice = put("twice", { fields: '{"n":5}' });
        assert.deepEqual(kinds(await again.commit([twice])), ["conflict"]);
      }),
    );

    itHere("is reported when it takes longer than a client waits", () =>
      engine(async (open, hold) => {
        const store = await open();
        // More than are always checked.
        await fill(store, 1_000);
        const release = await hold(500);
        const impatient = new Collections(store, Date.now, 0);
        const defined = await impatient.define(system, "things", typed({ unique: ["n"] }));
        assert.ok(!(defined instanceof Problem));
        assert.ok(defined.build?.isRunning);
        assert.deepEqual(defined.violations, { count: 0, first: [], checked: 500 });
        await release();
        assert.equal(await ended(store), undefined);
        assert.equal(await impatient.progress(system, "things"), undefined);
        const patient = new Collections(store, Date.now, 3_600_000);
        await store.commit([define("{}")]);
        await store.commit([put("twice", { fields: '{"n":5}' })]);
        const failed = await patient.define(system, "things", typed({ unique: ["n"] }));
        assert.ok(!(failed instanceof Problem));
        const clashes = [{ index: "n", ids: ["id-5", "twice"] }];
        assert.deepEqual([failed.build?.isRunning, failed.build?.clashes], [false, clashes]);
      }),
    );

    itHere("is answered in time when the definition itself had to wait", () =>
      engine(async (open) => {
        const store = withGroupCommit(await open());
        await fill(store, 1_000);
        const maxWaitMs = 50;
        let asked = 0;
        const busy: Store = {
          ...store,
          async commit(changes) {
            const outcomes = await store.commit(changes);
            await sleep(2 * maxWaitMs);
            return outcomes;
          },
          indexBuild() {
            asked++;
            return { isRunning: true, done: 0, total: 1_000, clashes: [] };
          },
        };
        const hurried = new Collections(busy, Date.now, maxWaitMs);
        const defined = await hurried.define(system, "things", typed({ indexed: ["n"] }));
        assert.ok(!(defined instanceof Problem));
        assert.deepEqual(defined.violations, { count: 0, first: [], checked: 500 });
        assert.equal(asked, 1);
      }),
    );

    itHere("holds for new writes at once when it is unique", () =>
      engine(async (open) => {
        const store = await open();
        await fill(store);
        const unique = define(typed({ unique: ["n"] }));
        const one = (id: string) => put(id, { fields: '{"n":100000}' });
        const outcomes = await store.commit([unique, one("one"), one("other")]);
        assert.deepEqual(kinds(outcomes), ["done", "created", "conflict"]);
        assert.equal(await ended(store), undefined);
      }),
    );

    itHere("is not unique when stored values are not, and the rest of its definition stays", () =>
      engine(async (open, _, errors) => {
        const store = await open();
        await fill(store);
        await store.commit([define(typed({ indexed: ["text"] }))]);
        assert.equal(await ended(store), undefined);
        const twice = Array.from({ length: 12 }, (_, n) =>
          put(`twice-${n}`, { fields: JSON.stringify({ n, m: n }) }),
        );
        await store.commit(twice);
        const access = { read: "owner" };
        await store.commit([define(typed({ access, unique: ["n", "m"], searchable: ["text"] }))]);
        const build = await ended(store);
        assert.deepEqual(
          build?.clashes,
          Array.from({ length: 10 }, (_, n) => ({ index: "n", ids: [`id-${n}`, `twice-${n}`] })),
        );
        const rest = typed({ access, searchable: ["text"], unique: ["m"], indexed: ["n"] });
        assert.equal((await store.rules("things"))?.definition, rest);
        const more = [put("more", { fields: '{"n":1}' }), put("most", { fields: '{"m":1}' })];
        assert.deepEqual(kinds(await store.commit(more)), ["created", "conflict"]);
        const found = await idsOf(store, { conditions: [is("n", "number", 1)] });
        assert.deepEqual(found, ["id-1", "twice-1", "more"]);
        const result = await store.query("things", ask({ words: wordsLike("word3"), limit: 1 }));
        assert.equal(result?.total, withOneWord);
        assert.equal(errors.length, 1);
        assert.match(errors[0] ?? "", /^the values of n in things are not unique/);
        // Another definition replaces the report.
        await store.commit([define(rest)]);
        assert.equal(await ended(store), undefined);
      }),
    );

    itHere("does not undo a definition that comes while it is built", () =>
      engine(async (open, hold) => {
        const store = await open();
        await fill(store);
        await store.commit([put("twice", { fields: '{"n":5}' })]);
        const release = await hold(count / 2);
        await store.commit([define(typed({ access: { read: "public" }, unique: ["n"] }))]);
        const later = { access: { read: "owner" }, searchable: ["text"] };
        await store.commit([define(typed({ ...later, unique: ["n"] }))]);
        await release();
        assert.deepEqual((await ended(store))?.clashes, [{ index: "n", ids: ["id-5", "twice"] }]);
        const rest = typed({ ...later, indexed: ["n"] });
        assert.equal((await store.rules("things"))?.definition, rest);
      }),
    );

    itHere("can change again and again before it is complete", () =>
      engine(async (open) => {
        const random = randomNumbers(newSeed(`definitions on ${name}`));
        const store = await open();
        await fill(store);
        const choices: readonly string[] = [
          "{}",
          typed({ indexed: ["n"] }),
          JSON.stringify({ indexed: ["n"] }),
          typed({ unique: ["n"], searchable: ["text"] }),
          typed({ indexed: ["text"], searchable: ["n"] }),
          typed({ indexed: ["n", "text"], searchable: ["text"] }),
        ];
        for (let run = 0; run < runs(1, 30); run++) {
          let definition = "{}";
          for (let changes = 1 + Math.floor(random() * 4); changes > 0; changes--) {
            definition = choices[Math.floor(random() * choices.length)] ?? "{}";
            await store.commit([define(definition)]);
            const n = 10_000 + Math.floor(random() * 50);
            await store.commit([put(`new-${n}`, { fields: JSON.stringify({ n, text: "new" }) })]);
            if (random() < 0.5) await ended(store, random() * count);
          }
          assert.deepEqual((await ended(store))?.clashes ?? [], []);
          assert.equal((await store.rules("things"))?.definition, definition);
          const isTyped = definition.includes("schema");
          const kind = isTyped ? "number" : "any";
          const found = await idsOf(store, { conditions: [is("n", kind, 17)] });
          assert.deepEqual(found, ["id-17"]);
          if (!isTyped) continue;
          const first = await idsOf(store, { sortings: [by("n", "number", false)], limit: 3 });
          assert.deepEqual(first, ["id-0", "id-1", "id-2"]);
          if (!definition.includes('"searchable":["text"]')) continue;
          const result = await store.query("things", ask({ words: wordsLike("word3"), limit: 1 }));
          assert.equal(result?.total, withOneWord);
        }
      }),
    );
  });

describe("a node that finds values that are not unique", () => {
  it("leaves a definition that comes before it can replace the one that failed", () =>
    databases.in(async (database) => {
      const store = await database.open();
      await fill(store);
      await store.commit([put("twice", { fields: '{"n":5}' })]);
      const release = await holdOn(database)(0);
      await store.commit([define(typed({ unique: ["n"] }))]);
      await store.close();
      await release();
      const { schema, url } = database;
      const connection = await Connection.open({ url, schema, deadlineMs: 60_000 });
      const later = typed({ access: { read: "owner" } });
      const reports: string[] = [];
      const builder = new Builder({
        run: (work) => work(connection),
        commit: async (changes) => {
          const other = await database.open();
          await other.commit([define(later)]);
          return other.commit(changes);
        },
        notify: async () => undefined,
        report: (error) => void reports.push(error),
      });
      await builder.work(() => false);
      await connection.close();
      const last = await database.open();
      assert.equal((await last.rules("things"))?.definition, later);
      assert.deepEqual(reports, []);
    }));
});

describe("a node that stops while it builds", () => {
  it("leaves a build that another node completes", () =>
    databases.in(async (database) => {
      const [one, other] = [await database.open(), await database.open()];
      await fill(one);
      const release = await holdOn(database)(count / 2);
      await one.commit([define(typed({ unique: ["n"], searchable: ["text"] }))]);
      await one.close();
      await release();
      assert.equal(await ended(other), undefined);
      assert.deepEqual(await idsOf(other, last), [`id-${count - 1}`, `id-${count - 2}`]);
      const result = await other.query("things", ask({ words: wordsLike("word3"), limit: 1 }));
      assert.equal(result?.total, withOneWord);
      const twice = put("twice", { fields: '{"n":5}' });
      assert.deepEqual(kinds(await other.commit([twice])), ["conflict"]);
    }));

  itLong("leaves one also when the clock of the database was set back", () =>
    databases.in(async (database) => {
      const [one, other] = [await database.open(), await database.open()];
      await fill(one);
      const release = await holdOn(database)(count / 2);
      await one.commit([define(typed({ unique: ["n"] }))]);
      await one.close();
      await release();
      const ahead = Date.now() + 365 * 24 * 3_600_000;
      await database.admin(async (sql) => {
        const builder = JSON.stringify({ builder: ["gone", ahead] });
        await sql`UPDATE builds SET state = (state::jsonb || ${builder}::text::jsonb)::text`;
      });
      assert.equal(await ended(other), undefined);
      assert.deepEqual(await idsOf(other, last), [`id-${count - 1}`, `id-${count - 2}`]);
    }),
  );
});

/** How many rows the build of a data folder has indexed; a process may be at it. */
function rowsBuiltIn(path: string): number {
  const database = new DatabaseSync(join(path, "restante.db"), { readOnly: true });
  const build = database.prepare("SELECT state ->> 'done' AS done FROM builds").get();
  database.close();
  return Number(build?.done ?? 0);
}

describe("a process that is killed while it builds", () => {
  it("leaves a build that the next one completes", () =>
    inDirectory(async (path) => {
      const store = await openSqlite({ path });
      await fill(store);
      await store.close();
      for (let round = 1; round <= 3; round++) {
        holdBuilds(path, (round * count) / 4);
        const child = startChild("define", path, typed({ unique: ["n"], searchable: ["text"] }));
        while (rowsBuiltIn(path) < (round * count) / 10) await sleep(5);
        child.kill();
        await child.gone;
        releaseBuilds(path);
      }
      const again = await openSqlite({ path });
      assert.equal(await ended(again), undefined);
      assert.deepEqual(await idsOf(again, last), [`id-${count - 1}`, `id-${count - 2}`]);
      const result = await again.query("things", ask({ words: wordsLike("word3"), limit: 1 }));
      assert.equal(result?.total, withOneWord);
      await again.close();
    }));
});
