// Pages of large resources are read on a reader thread, and arrive in messages of limited size.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { getPriority } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Outage } from "../../../src/model/outage.ts";
import type { StoredResource } from "../../../src/store/core/stored-resource.ts";
import { Connection } from "../../../src/store/sqlite/connection.ts";
import { messagesOf } from "../../../src/store/sqlite/reader-messages.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite.ts";
import type { Change } from "../../../src/store/store.ts";
import { inDirectory } from "./test-directory.ts";

const create = (collection: string, at: number, chars: number): Change => ({
  kind: "put",
  collection,
  id: `r${at}`,
  fields: JSON.stringify({ at, text: "x".repeat(chars) }),
  at: 10,
  expect: "anything",
});

const collection = (name: string): Change => ({
  kind: "create-collection",
  collection: name,
  at: 1,
});

/** The threads with this priority. One may end meanwhile. */
const threadsOf = (priority: number): ReadonlySet<string> =>
  new Set(
    readdirSync("/proc/self/task").filter((thread) => {
      try {
        return getPriority(Number(thread)) === priority;
      } catch {
        return false;
      }
    }),
  );

describe("a page of large resources", () => {
  it("is read on another thread, a page of small ones or of one resource is not", () =>
    inDirectory(async (path) => {
      const store = await openSqlite({ path });
      const numbers = Array.from({ length: 10 }, (_, at) => at);
      await store.commit([
        collection("large"),
        collection("small"),
        ...numbers.map((at) => create("large", at, 300_000)),
        ...numbers.map((at) => create("small", at, 10)),
      ]);
      const page = { offset: 2, limit: 5, order: "created" } as const;
      const large = store.slice("large", page);
      assert.ok(large instanceof Promise);
      const { resources = [], collection: found } = (await large) ?? {};
      assert.deepEqual(
        resources.map(({ id, fields }) => [id, fields.length]),
        [2, 3, 4, 5, 6].map((at) => [`r${at}`, 300_018]),
      );
      assert.ok(resources.every(({ fieldBytes }) => fieldBytes?.length === 300_018));
      assert.equal(found, await store.collection("large"));
      assert.deepEqual((await store.slice("large", { ...page, maxBytes: 1_000_000 }))?.fits, 3);
      assert.ok(!(store.slice("small", page) instanceof Promise));
      assert.ok(!(store.slice("large", { ...page, limit: 1 }) instanceof Promise));
      await store.close();
    }));

  it(
    "is read with a lower priority than the event loop has",
    {
      skip: process.platform !== "linux",
    },
    () =>
      inDirectory(async (path) => {
        const store = await openSqlite({ path });
        await store.commit([
          collection("large"),
          ...[0, 1, 2].map((at) => create("large", at, 300_000)),
        ]);
        const own = getPriority();
        const lower = Math.min(19, own + 10);
        const before = threadsOf(lower);
        await store.slice("large", { offset: 0, limit: 3, order: "created" });
        assert.ok(threadsOf(lower).difference(before).size > 0);
        assert.equal(getPriority(), own);
        await store.close();
      }),
  );

  it("is not sent when a resource in it is damaged", () =>
    inDirectory(async (path) => {
      const store = await openSqlite({ path });
      await store.commit([
        collection("large"),
        ...[0, 1, 2].map((at) => create("large", at, 300_000)),
      ]);
      const connection = new Connection(join(path, "restante.db"), "write");
      connection.run("UPDATE resources SET fields = replace(fields, 'xx', 'xy') WHERE id = 'r1'");
      connection.close();
      await assert.rejects(
        async () => store.slice("large", { offset: 0, limit: 3, order: "created" }),
        (error) =>
          error instanceof Outage && error.reason === "damaged" && error.message.includes('"r1"'),
      );
      await store.close();
    }));

  it("is sent in messages of limited size", () => {
    const row = (chars: number): StoredResource =>
      ["id", 1, 1, 1, "x".repeat(chars), null, null, 0] as const;
    const sizes = (chars: readonly number[]) => {
      const definition = "{}";
      const known = { name: "c", revision: 1, total: 1, bytes: 1, version: 0, definition };
      const packed = { collection: { ...known, createdAt: 1, updatedAt: 1 }, rows: chars.map(row) };
      return [...messagesOf(packed)].map((message) => {
        if (message.kind === "rows") return message.rows.map(([, , , , fields]) => fields.length);
        assert.equal(message.kind, "result");
        return message.kind === "result"
          ? (message.result?.rows ?? []).map(([, , , , fields]) => fields.length)
          : [];
      });
    };
    assert.deepEqual(sizes([]), [[]]);
    assert.deepEqual(sizes([10, 20]), [[10, 20]]);
    assert.deepEqual(sizes([200_000, 60_000, 3_000]), [[200_000, 60_000], [3_000]]);
    assert.deepEqual(sizes([900_000, 10, 900_000]), [[900_000], [10], [900_000]]);
  });
});
