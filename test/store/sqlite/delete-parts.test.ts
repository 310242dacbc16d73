// The rows of a deleted collection are deleted in steps, also after a restart, and the file shrinks.

import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Connection } from "../../../src/store/sqlite/connection.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite.ts";
import type { Store } from "../../../src/store/store.ts";
import { runs } from "../../seeds.ts";
import {
  all,
  create,
  define,
  idsFrom,
  kinds,
  once,
  put,
  remove,
} from "../contract/change-helpers.ts";
import { inDirectory } from "./test-directory.ts";

const tables = [
  ...["heads", "resources", "tombstones", "positions", "entries", "words", "files"],
  ...["idempotency_keys", "epochs", "former_states"],
];

/** The number of rows in each table, of all parts but one. */
function rowsOutside(path: string, kept: number): readonly number[] {
  const connection = new Connection(join(path, "restante.db"), "read");
  const counts = [...tables, "deleted_parts"].map((table) => {
    const count = connection.query(`SELECT count(*) FROM ${table} WHERE part <> ?`);
    return Number(count.one(kept)?.[0]);
  });
  connection.close();
  return counts;
}

function partOf(path: string, name: string): number {
  const connection = new Connection(join(path, "restante.db"), "read");
  const row = connection.query("SELECT part FROM collections WHERE name = ?").one(name);
  connection.close();
  return Number(row?.[0]);
}

const files = (key: string): string =>
  JSON.stringify([{ slot: "a", name: "a", type: "b", size: 1, sha256: "c", key }]);

/** Rows in every table of two collections; the second one is not dropped. */
async function fill(store: Store): Promise<void> {
  const access = { read: [{ name: "some", to: "token", where: { n: "x" } }] };
  const rules = JSON.stringify({ indexed: ["n"], searchable: ["text"], access });
  for (const collection of ["things", "kept"]) {
    const ids = idsFrom(2_000, collection);
    const putIn = (id: string) =>
      put(id, { collection, fields: `{"n":"${id}","text":"some ${id}"}` });
    await store.commit([define(rules, collection)]);
    await store.commit(ids.map(putIn));
    await store.commit(ids.slice(0, 700).map((id) => remove(id, "anything", collection)));
    await store.commit([
      { ...putIn("with-file"), files: files(`file of ${collection}`) },
      all([putIn("with-key")], once("k")),
    ]);
  }
}

async function untilDeleted(path: string, kept: number): Promise<void> {
  while (rowsOutside(path, kept).some((count) => count > 0)) await sleep(20);
}

describe("a deleted collection", () => {
  it("loses its rows while others are written, and only its own", () =>
    inDirectory(async (path) => {
      const first = await openSqlite({ path });
      await fill(first);
      // Begins another epoch, so that there are rows of the former one.
      await first.close();
      const store = await openSqlite({ path, eraseAfterMs: 0 });
      await store.commit(["things", "kept"].map((collection) => put("last", { collection })));
      const kept = partOf(path, "kept");
      assert.ok(
        rowsOutside(path, kept)
          .slice(0, -1)
          .every((count) => count > 0),
      );
      await store.commit([{ kind: "drop", collection: "things", isEmptyOnly: false }, create()]);
      assert.equal((await store.collection("things"))?.total, 0);
      assert.deepEqual(
        [...(await store.findReferencedFiles(["file of things", "file of kept"]))],
        ["file of kept"],
      );
      let isDeleted = false;
      const deleted = untilDeleted(path, kept).then(() => {
        isDeleted = true;
      });
      await store.commit([{ kind: "drop", collection: "things", isEmptyOnly: false }]);
      for (let count = 0; !isDeleted; count++) {
        const changes = [put(`new-${count}`, { collection: "kept" })];
        assert.deepEqual(kinds(await store.commit(changes)), ["created"]);
      }
      await deleted;
      const slice = await store.slice("kept", { offset: 0, limit: 1_304, order: "created" });
      assert.equal(slice?.resources[0]?.id, "kept-700");
      assert.equal(slice?.resources[1_302]?.id, "last");
      const [again] = await store.commit([all([put("again", { collection: "kept" })], once("k"))]);
      assert.ok(again?.kind === "all" && again.isReplay);
      await store.close();
    }));

  it("loses its rows after a restart, and the file shrinks", () =>
    inDirectory(async (path) => {
      const size = () => statSync(join(path, "restante.db")).size;
      const store = await openSqlite({ path });
      await store.commit([create(), create("kept"), put("a", { collection: "kept" })]);
      const fields = JSON.stringify({ text: "x".repeat(100_000) });
      const groups = runs(12, 40);
      for (const id of idsFrom(groups, "many"))
        await store.commit(idsFrom(10, id).map((each) => put(each, { fields })));
      await store.commit([{ kind: "drop", collection: "things", isEmptyOnly: false }]);
      await store.close();
      assert.ok(size() > groups * 1_000_000);
      const again = await openSqlite({ path, eraseAfterMs: 0 });
      await untilDeleted(path, partOf(path, "kept"));
      while (size() > 1_000_000) await sleep(20);
      assert.equal((await again.find("kept", "a"))?.id, "a");
      await again.close();
    }));
});
