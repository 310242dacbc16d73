// Flipped bytes in the database file: a read returns what was written, or an error.

import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { MaybePromise } from "../../../src/lib/maybe-promise.ts";
import { Outage } from "../../../src/model/outage.ts";
import type { Condition } from "../../../src/model/query/predicate.ts";
import { beginningWith } from "../../../src/model/query/sort-key.ts";
import type { Resource } from "../../../src/model/resource.ts";
import { Connection } from "../../../src/store/sqlite/connection.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite.ts";
import type { Put, Store } from "../../../src/store/store.ts";
import { newSeed, randomNumbers, runs, within } from "../../seeds.ts";
import { create, operate, put } from "../contract/change-helpers.ts";
import { ask, is, where } from "../contract/query-helpers.ts";
import { inDirectory } from "./test-directory.ts";

const ids = Array.from({ length: 120 }, (_, index) => `id-${String(index).padStart(3, "0")}`);

/** Resources of many sizes, some with an owner, some changed once more. */
const puts: readonly Put[] = ids.flatMap((id, index) => {
  const text = `${id} é ☃ `.repeat(1 + ((index * 37) % 60));
  const first = { ...put(id, { fields: JSON.stringify({ n: index, text }), at: 1_000 + index }) };
  const owned = index % 3 === 0 ? { ...first, owner: `owner-${index % 4}` } : first;
  return index % 5 === 0 ? [owned, { ...owned, fields: `{"n":${index},"again":true}` }] : [owned];
});

async function build(path: string): Promise<ReadonlyMap<string, Resource>> {
  const store = await openSqlite({ path });
  await store.commit([create(), ...puts]);
  const all = await readAll(store);
  await store.close();
  assert.equal(all.size, ids.length);
  return all;
}

async function readAll(store: Store): Promise<ReadonlyMap<string, Resource>> {
  const all = new Map<string, Resource>();
  for (const id of ids) {
    const resource = await store.find("things", id);
    if (resource) all.set(id, resource);
  }
  return all;
}

/** The result, or undefined when the store reports an error. */
async function attempt<T>(read: () => MaybePromise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof Outage) assert.match(error.reason, /^(?:damaged|unavailable)$/);
    // The text of the schema is in the file, too: then SQLite knows a table or a column no more.
    else assert.ok(error instanceof Error && "errcode" in error, String(error));
    return undefined;
  }
}

describe("a damaged row", () => {
  it("is reported by its id and collection, alone and in a list; all others can be read", () =>
    inDirectory(async (path) => {
      const expected = await build(path);
      const connection = new Connection(join(path, "restante.db"), "write");
      connection.run("UPDATE resources SET fields = '{\"n\":7777}' WHERE id = 'id-007'");
      connection.run("UPDATE resources SET owner = 'owner-9' WHERE id = 'id-009'");
      connection.run("UPDATE resources SET updated = updated + 1 WHERE id = 'id-011'");
      connection.close();
      const store = await openSqlite({ path });
      const damaged = ["id-007", "id-009", "id-011"];
      for (const id of ids) {
        const read = async () => store.find("things", id);
        if (!damaged.includes(id)) assert.deepEqual(await read(), expected.get(id));
        else
          await assert.rejects(read, (error) => {
            assert.ok(error instanceof Outage && error.reason === "damaged");
            assert.match(error.message, new RegExp(`"${id}" in the collection "things"`));
            return true;
          });
      }
      const slice = async (offset: number) =>
        store.slice("things", { offset, limit: 5, order: "created" });
      assert.equal((await slice(0))?.resources.length, 5);
      await assert.rejects(() => slice(5), /"id-007"/);
      await assert.rejects(
        async () => store.since("things", 0, { limit: 1_000 }),
        /"id-0(07|09|11)"/,
      );
      assert.equal(await store.ready(), undefined);
      assert.equal((await store.commit([put("new")]))[0]?.kind, "created");
      // Operations would compute with the damaged value, and give it a checksum.
      const increments = ["id-006", ...damaged].map((id) => operate(id, { increment: { n: 1 } }));
      const outcomes = await store.commit(increments);
      assert.deepEqual(
        outcomes.map(({ kind }) => kind),
        ["replaced", "damaged", "damaged", "damaged"],
      );
      await assert.rejects(async () => store.find("things", "id-007"), /"id-007"/);
      await store.close();
    }));
});

describe("a row whose JSON is damaged", () => {
  it("is reported by a query that has to look at it", () =>
    inDirectory(async (path) => {
      await build(path);
      const connection = new Connection(join(path, "restante.db"), "write");
      connection.run("UPDATE resources SET fields = '{\"n\":' WHERE id = 'id-050'");
      connection.close();
      const store = await openSqlite({ path });
      const read = (conditions: readonly Condition[]) => async () =>
        store.query("things", ask({ conditions }));
      const ofNumber = is("n", "number", 3);
      const ofText = { ...where("text", "text", beginningWith("")), ...match };
      for (const condition of [ofNumber, ofText])
        await assert.rejects(read([condition]), (error) => {
          assert.ok(error instanceof Outage && error.reason === "damaged", String(error));
          assert.match(error.message, /"id-050"/);
          return true;
        });
      await store.close();
    }));
});

/** SQL cannot decide this. */
const match = { match: { operator: "ieq", text: "straße" } } as const;

describe("flipped bytes in the file", () => {
  it("never change what is read", within(600_000), () =>
    inDirectory(async (path) => {
      const original = join(path, "original");
      const expected = await build(original);
      const bytes = await readFile(join(original, "restante.db"));
      const seed = newSeed("flipped bytes in the database");
      const random = randomNumbers(seed);
      for (let run = 0; run < runs(6, 500); run++) {
        const copy = join(path, `copy-${run}`);
        await mkdir(copy);
        const flipped = Buffer.from(bytes);
        for (let count = 1 + Math.floor(random() * 20); count > 0; count--) {
          const place = Math.floor(random() * flipped.length);
          flipped[place] = (flipped[place] ?? 0) ^ (1 << Math.floor(random() * 8));
        }
        await writeFile(join(copy, "restante.db"), flipped);
        await assertRightOrRefused(copy, expected, `seed ${seed}, run ${run}`);
      }
    }),
  );
});

const find = (store: Store, id: string): Promise<Resource | undefined> =>
  attempt(() => store.find("things", id));

async function assertRightOrRefused(
  path: string,
  expected: ReadonlyMap<string, Resource>,
  words: string,
): Promise<void> {
  const store: Store | undefined = await openSqlite({ path }).catch((error: unknown) => {
    assert.ok(error instanceof Error && error.message.startsWith("Cannot open"), String(error));
    return undefined;
  });
  if (store === undefined) return;
  const assertRight = (resource: Resource): void =>
    assert.deepEqual(resource, expected.get(resource.id), `${words}: ${resource.id}`);
  try {
    for (const id of ids) {
      const read = await find(store, id);
      if (read === undefined) continue;
      assert.equal(read.id, id, words);
      assertRight(read);
    }
    for (let offset = 0; offset < ids.length; offset += 17) {
      const slice = await attempt(() =>
        store.slice("things", { offset, limit: 17, order: "created" }),
      );
      for (const resource of slice?.resources ?? []) assertRight(resource);
    }
    const feed = await attempt(() => store.since("things", 0, { limit: 1_000 }));
    if (typeof feed === "object")
      for (const entry of feed.entries) if (!("kind" in entry)) assertRight(entry);
  } finally {
    await store.close();
  }
}
