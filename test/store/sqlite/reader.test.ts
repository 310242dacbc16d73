// The cache of the reader: the same object while nothing changes, never an old one.

import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { mapFile } from "#runtime";
import type { MapFile } from "../../../src/lib/file-access.ts";
import type { Token } from "../../../src/model/token.ts";
import { CommitCounter } from "../../../src/store/sqlite/commit-counter.ts";
import { Connection } from "../../../src/store/sqlite/connection.ts";
import { Reader, readerLimits } from "../../../src/store/sqlite/reader.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite.ts";
import type { Change, Store } from "../../../src/store/store.ts";
import { inDirectory } from "./test-directory.ts";

const put = (collection: string, id: string, number = 0): Change => ({
  kind: "put",
  collection,
  id,
  fields: `{"number":${number}}`,
  at: 10,
  expect: "anything",
});

const create = (collection: string): Change => ({ kind: "create-collection", collection, at: 1 });

const token = (id: string): Token => ({
  id,
  hash: `hash of ${id}`,
  name: "",
  subject: id,
  scopes: ["admin"],
  roles: [],
  createdAt: 1,
  expiresAt: null,
  usedAt: null,
  revokedAt: null,
});

async function withTwo(
  test: (reader: Store, writer: Store) => Promise<void>,
  mapFile?: MapFile,
): Promise<void> {
  await inDirectory(async (path) => {
    const reader = await openSqlite({ path, mapFile });
    const writer = await openSqlite({ path, mapFile });
    await test(reader, writer);
    await reader.close();
    await writer.close();
  });
}

describe("the cache of the reader", () => {
  it("returns the same object until that resource is written", () =>
    withTwo(async (reader, writer) => {
      await writer.commit([create("things"), put("things", "a"), put("things", "b")]);
      const a = await reader.find("things", "a");
      const b = await reader.find("things", "b");
      await writer.commit([put("things", "b", 1), put("things", "c")]);
      assert.equal(await reader.find("things", "a"), a);
      assert.notEqual(await reader.find("things", "b"), b);
      assert.equal((await reader.find("things", "b"))?.fields, '{"number":1}');
    }));

  it("keeps what was not written, also when no resource is read for many writes", () =>
    withTwo(async (reader, writer) => {
      await writer.commit([create("things"), put("things", "a"), put("things", "b")]);
      const a = await reader.find("things", "a");
      assert.ok(await reader.find("things", "b"));
      for (let round = 0; round < 3; round++) {
        const many = Array.from({ length: 400 }, (_, number) => put("things", "other", number));
        await writer.commit([put("things", "b", round), ...many]);
        assert.ok(await reader.collection("things"));
      }
      assert.equal(await reader.find("things", "a"), a);
      assert.equal((await reader.find("things", "b"))?.fields, '{"number":2}');
    }));

  it("is not stale after it fell far behind", () =>
    withTwo(async (reader, writer) => {
      await writer.commit([create("things"), put("things", "a"), put("things", "b")]);
      assert.ok(await reader.find("things", "a"));
      assert.ok(await reader.find("things", "b"));
      const many = Array.from({ length: 3_000 }, (_, number) => put("things", "other", number));
      await writer.commit([
        put("things", "a", 7),
        ...many,
        { kind: "remove", collection: "things", id: "b", at: 20, expect: "anything" },
      ]);
      assert.equal((await reader.find("things", "a"))?.fields, '{"number":7}');
      assert.equal(await reader.find("things", "b"), undefined);
    }));

  it("is not stale when there is more than it may hold", () =>
    inDirectory(async (path) => {
      const writer = await openSqlite({ path });
      const names = ["one", "two", "three"];
      await writer.commit(names.flatMap((name) => [create(name), put(name, "a")]));
      await writer.commit(names.map((name) => ({ kind: "create-token", token: token(name) })));
      const connection = new Connection(join(path, "restante.db"), "read");
      const counter = new CommitCounter(join(path, "restante.commits"));
      const limits = {
        ...readerLimits,
        resourceCacheBytes: 1_000_000,
        collections: 2,
        maxCounted: 10,
        shortRows: 0,
      };
      const reader = new Reader(connection, counter, limits);
      for (let round = 1; round < 4; round++) {
        const definition = `{"round":${round}}`;
        await writer.commit(names.map((name) => put(name, "a", round)));
        await writer.commit([{ kind: "define", collection: "two", definition, at: 1 }]);
        await writer.commit(names.map((id) => ({ kind: "touch-token", id, at: round })));
        for (const name of [...names, ...names]) {
          assert.equal(reader.find(name, "a")?.fields, `{"number":${round}}`);
          assert.equal(reader.token(`hash of ${name}`)?.usedAt, round);
        }
        assert.equal(reader.collection("two")?.definition, definition);
        assert.equal(reader.collection("three")?.definition, "{}");
      }
      reader.close();
      counter.close();
      await writer.close();
    }));

  it("has the rules and the tokens of the last commit, whatever is written in between", () =>
    withTwo(async (reader, writer) => {
      const define = (definition: string): Change => ({
        ...({ kind: "define", collection: "things", at: 1 } as const),
        definition,
      });
      await writer.commit([create("things"), create("others")]);
      for (let round = 1; round < 4; round++) {
        const definition = `{"round":${round}}`;
        await writer.commit([define(definition)]);
        const rules = await reader.rules("things");
        const tokens = reader.tokenVersion?.();
        assert.equal(rules?.definition, definition);
        for (const writes of [writer, reader]) {
          await writes.commit([put("things", "a", round), put("others", "a", round)]);
          assert.equal(await reader.rules("things"), rules);
          assert.equal(reader.tokenVersion?.(), tokens);
          assert.equal((await reader.find("things", "a"))?.fields, `{"number":${round}}`);
        }
        await writer.commit([{ kind: "create-token", token: token(`t${round}`) }]);
        assert.notEqual(reader.tokenVersion?.(), tokens);
      }
      await writer.commit([{ kind: "drop", collection: "things", isEmptyOnly: false }]);
      assert.equal(await reader.rules("things"), undefined);
      await writer.commit([create("things")]);
      assert.equal((await reader.rules("things"))?.definition, "{}");
    }, mapFile));

  it("does not contain tokens that do not exist", () =>
    withTwo(async (reader, writer) => {
      assert.equal(await reader.token("hash of t"), undefined);
      await writer.commit([{ kind: "create-token", token: token("t") }]);
      assert.deepEqual(await reader.token("hash of t"), token("t"));
    }));
});
