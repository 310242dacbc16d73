// Expired idempotency keys: removed by later commits, a few with each.

import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Connection } from "../../../src/store/sqlite/connection.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite.ts";
import type { Change } from "../../../src/store/store.ts";
import { create, put } from "../contract/change-helpers.ts";
import { inDirectory } from "./test-directory.ts";

const keep = (key: string, at: number, expiresAt: number): Change => ({
  kind: "all",
  changes: [put("same")],
  once: { owner: "somebody", key, fingerprint: "a request", at, expiresAt },
});

const keysFrom = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

describe("expired keys", () => {
  it("are removed by later ones, a few at a time, and no others", () =>
    inDirectory(async (path) => {
      const store = await openSqlite({ path });
      const connection = new Connection(join(path, "restante.db"), "read");
      const count = (prefix: string): unknown =>
        connection
          .query("SELECT count(*) FROM idempotency_keys WHERE key GLOB ?")
          .one(`${prefix}-*`)?.[0];

      await store.commit([create()]);
      await store.commit(keysFrom("over", 100).map((key) => keep(key, 10_000, 20_000)));
      await store.commit(keysFrom("kept", 100).map((key) => keep(key, 10_000, 21_000)));
      assert.deepEqual([count("over"), count("kept")], [100, 100]);

      await store.commit([keep("late-0", 20_000, 1_000_000)]);
      const left = Number(count("over"));
      assert.ok(left < 100 && left >= 90, `${left} of 100 are left after one commit`);
      for (const key of keysFrom("late", 100)) await store.commit([keep(key, 20_000, 1_000_000)]);
      assert.deepEqual([count("over"), count("kept"), count("late")], [0, 100, 100]);

      // A large batch clears as it fills, so that what is over cannot outgrow what comes in.
      await store.commit(keysFrom("more", 100).map((key) => keep(key, 21_000, 1_000_000)));
      assert.deepEqual([count("kept"), count("more")], [0, 100]);
      connection.close();
      await store.close();
    }));

  it("stay while nothing new is stored: a repetition writes nothing", () =>
    inDirectory(async (path) => {
      const store = await openSqlite({ path });
      await store.commit([create(), keep("over", 10, 20), keep("kept", 10, 100)]);
      const connection = new Connection(join(path, "restante.db"), "read");
      const version = () => connection.query("PRAGMA data_version").one()?.[0];
      const before = version();
      const [outcome] = await store.commit([keep("kept", 50, 100)]);
      assert.equal(outcome?.kind === "all" && outcome.isReplay, true);
      assert.equal(version(), before);
      connection.close();
      await store.close();
    }));
});
