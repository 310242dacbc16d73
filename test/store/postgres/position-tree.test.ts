// The position tree: exact in cases that the contract tests do not reach, and no larger than needed.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Store } from "../../../src/store/store.ts";
import { create, idsFrom, idsOf, put, remove, totalOf } from "../contract/change-helpers.ts";
import { type TestDatabase, TestDatabases } from "./test-databases.ts";

const databases = new TestDatabases();

const rowCount = (testDatabase: TestDatabase): Promise<number> =>
  testDatabase.admin(async (sql) => Number((await sql`SELECT count(*) FROM positions`)[0]?.count));

describe("the position tree", () => {
  it("is not changed by creating and replacing", () =>
    databases.in(async (testDatabase) => {
      const store = await testDatabase.open();
      await store.commit([create(), ...idsFrom(500).map((id) => put(id))]);
      await store.commit(idsFrom(500).map((id) => put(id)));
      assert.equal(await rowCount(testDatabase), 0);
    }));

  it("is exact, and no larger than needed, while resources are created and removed", () =>
    databases.in(async (testDatabase) => {
      const store = await testDatabase.open();
      await store.commit([create()]);
      const size = 2_000;
      for (let round = 0; round < 6; round++) {
        const ids = idsFrom(size, `round-${round}`);
        await store.commit(ids.map((id) => put(id, { fields: "{}" })));
        const gone = round === 0 ? [] : idsFrom(size, `round-${round - 1}`);
        await store.commit(gone.map((id) => remove(id)));
        assert.deepEqual(await idsOf(store, 0, 2), ids.slice(0, 2));
        assert.deepEqual(await idsOf(store, size - 1, 2), ids.slice(size - 1));
      }
      // A row for each 64 positions, for each 4,096, and for each level above.
      assert.ok(
        (await rowCount(testDatabase)) <= 157 + 3 + 6,
        `${await rowCount(testDatabase)} rows`,
      );
    }));

  it("of an emptied collection continues after the removed positions", () =>
    databases.in(async (testDatabase) => {
      const store = await testDatabase.open();
      const ids = idsFrom(64 * 64);
      await store.commit([create(), ...ids.map((id) => put(id, { fields: "{}" }))]);
      await store.commit(ids.map((id) => remove(id)));
      assert.deepEqual(await idsOf(store), []);
      await store.commit([put("x"), put("y"), put("z"), remove("y")]);
      assert.deepEqual(await idsOf(store), ["x", "z"]);
      assert.deepEqual(await idsOf(store, 1, 5, "-created"), ["x"]);
      assert.equal(await totalOf(store), 2);
    }));

  it("is exact beyond a billion positions", () =>
    databases.in(async (testDatabase) => {
      const store = await testDatabase.open();
      await store.commit([create()]);
      for (const gone of [64 ** 4, 64 ** 5 + 64 ** 3, 64 ** 6 - 5, 64 ** 7 + 1]) {
        await pretendGone(testDatabase, gone);
        await assertExact(store, `beyond-${gone}`);
        await store.commit(((await idsOf(store)) ?? []).map((id) => remove(id)));
      }
    }));
});

/** As if all positions up to here had been given out and were holes: so much cannot be put and removed. */
async function pretendGone(testDatabase: TestDatabase, gone: number): Promise<void> {
  await testDatabase.admin(async (sql) => {
    const [head] = await sql`UPDATE heads SET seq = ${gone} RETURNING part`;
    await sql`DELETE FROM positions`;
    for (let level = 0; level < 8; level++) {
      const width = 64 ** level;
      const start = gone - (gone % (width * 64));
      const alive = Array.from({ length: 65 }, (_, block) =>
        Math.max(0, start + block * width - gone),
      );
      await sql`
        INSERT INTO positions (part, level, "row", alive)
        VALUES (${head?.part}, ${level}, ${start / (width * 64)}, ${`{${alive}}`}::text::bigint[])`;
    }
  });
}

async function assertExact(store: Store, prefix: string): Promise<void> {
  const ids = idsFrom(200, prefix);
  await store.commit(ids.map((id) => put(id, { fields: "{}" })));
  await store.commit(ids.filter((_, index) => index % 3 === 0).map((id) => remove(id)));
  const alive = ids.filter((_, index) => index % 3 !== 0);
  assert.deepEqual(await idsOf(store), alive);
  for (const offset of [0, 1, 42, 43, alive.length - 1]) {
    assert.deepEqual(await idsOf(store, offset, 3), alive.slice(offset, offset + 3));
    const newestFirst = alive.toReversed();
    assert.deepEqual(
      await idsOf(store, offset, 3, "-created"),
      newestFirst.slice(offset, offset + 3),
    );
  }
}
