// Tokens that expired long ago are removed, and nothing is written when there are none.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { Tokens } from "../../src/domain/tokens.ts";
import { system } from "../../src/model/principal.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";

const dayMs = 24 * 60 * 60_000;

it("removes tokens 30 days after their end", async () => {
  const folder = await mkdtemp(join(tmpdir(), "restante-"));
  const store = await openSqlite({ path: folder });
  try {
    let now = 1_000 * dayMs;
    const tokens = new Tokens(store, () => now);
    for (const [name, days] of [["a", 1], ["b", 2], ["c"]] as const) {
      const expiresAt = days === undefined ? null : new Date(now + days * dayMs).toISOString();
      const made = await tokens.create(system, { name, scopes: ["admin"], expiresAt });
      assert.ok("secret" in made);
    }
    const removed = async () => {
      const before = store.version?.();
      const count = await tokens.removeExpired();
      assert.equal(store.version?.() === before, count === 0);
      return [count, (await store.tokens()).map(({ name }) => name).sort()];
    };
    now += 31 * dayMs - 1;
    assert.deepEqual(await removed(), [0, ["a", "b", "c"]]);
    now += 1;
    assert.deepEqual(await removed(), [1, ["b", "c"]]);
    now += 1_000 * dayMs;
    assert.deepEqual(await removed(), [1, ["c"]]);
    assert.deepEqual(await removed(), [0, ["c"]]);
  } finally {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
});
