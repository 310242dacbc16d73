// The rows of a deleted collection are deleted in steps, which any node can continue.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Connection } from "../../../src/store/postgres/connection.ts";
import { partTables } from "../../../src/store/postgres/delete-rows.ts";
import { deleteParts } from "../../../src/store/postgres/deleted-parts.ts";
import type { Store } from "../../../src/store/store.ts";
import {
  all,
  create,
  define,
  idsFrom,
  lookAt,
  once,
  put,
  remove,
} from "../contract/change-helpers.ts";
import { type TestDatabase, TestDatabases } from "./test-databases.ts";

const databases = new TestDatabases();

/** Fills a collection so that it has rows in every table. */
async function fill(store: Store, collection: string): Promise<void> {
  const access = { read: [{ name: "some", to: "token", where: { of: "x" } }] };
  const rules = JSON.stringify({ indexed: ["of"], searchable: ["of"], access });
  const putIn = (id: string) => put(id, { collection });
  const file = { ...putIn("file"), files: JSON.stringify([{ key: `key of ${collection}` }]) };
  await store.commit([create(collection), define(rules, collection)]);
  await store.commit([...idsFrom(800).map(putIn), file, all([putIn("x")], once("k"))]);
  // A resource with a former owner.
  await store.commit([{ ...putIn("x"), expect: "anything", setOwner: "ann" }]);
  await store.commit([{ ...putIn("x"), expect: "anything", setOwner: "bob" }]);
  await store.commit(idsFrom(30).map((id) => remove(id, "anything", collection)));
}

/** Deletes a collection as a commit does, without the background work of the store. */
const markDeleted = (database: TestDatabase, name: string): Promise<unknown> =>
  database.admin(async (sql) => {
    const [row] = await sql`DELETE FROM collections WHERE name = ${name} RETURNING part`;
    await sql`INSERT INTO epochs VALUES (${row?.part}, 1, 1)`;
    await sql`DELETE FROM heads WHERE part = ${row?.part}`;
    await sql`INSERT INTO deleted_parts VALUES (${row?.part})`;
  });

/** Counts the rows of parts without a collection, by table. */
const leftIn = (database: TestDatabase): Promise<readonly number[]> =>
  database.admin(async (sql) => {
    const counts: number[] = [];
    for (const table of [...partTables, "deleted_parts"]) {
      const [row] = await sql`
        SELECT count(*)::int AS count FROM ${sql(table)}
        WHERE part NOT IN (SELECT part FROM collections)`;
      counts.push(row?.count);
    }
    return counts;
  });

async function connectTo(database: TestDatabase): Promise<Connection> {
  return Connection.open({ ...database, deadlineMs: 10_000 });
}

describe("the rows of deleted collections", () => {
  it("are deleted by several nodes, also after one was stopped", () =>
    databases.in(async (database) => {
      const store = await database.open();
      const names = ["one", "two", "other"];
      for (const name of names) await fill(store, name);
      const before = await lookAt(store, "other");
      for (const name of ["one", "two"]) await markDeleted(database, name);
      const left = await leftIn(database);
      assert.ok(
        left.every((count) => count > 0),
        String(left),
      );
      const connections = [await connectTo(database), await connectTo(database)];
      const [first] = connections;
      assert.ok(first);
      let steps = 0;
      await deleteParts(
        (work) => work(first),
        () => ++steps > 3,
      );
      assert.ok((await leftIn(database)).some((count) => count > 0));
      const run = (connection: Connection) =>
        deleteParts(
          (work) => work(connection),
          () => false,
        );
      await Promise.all(connections.map(run));
      // When both met at a part, one has left it to the other.
      await run(first);
      assert.deepEqual(new Set(await leftIn(database)), new Set([0]));
      assert.deepEqual(await lookAt(store, "other"), before);
      for (const connection of connections) await connection.close();
    }));
});
