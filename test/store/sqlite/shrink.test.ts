// The space of what was deleted is given back to the file system in the background.

import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { openSqlite } from "../../../src/store/sqlite/sqlite.ts";
import type { Change, Store } from "../../../src/store/store.ts";
import { runs } from "../../seeds.ts";
import { itLong } from "../../short-run.ts";
import { create, define, put, remove } from "../contract/change-helpers.ts";
import { inDirectory } from "./test-directory.ts";

const sizeOf = async (path: string): Promise<number> =>
  (await stat(join(path, "restante.db"))).size;

async function untilBelow(path: string, bytes: number): Promise<void> {
  while ((await sizeOf(path)) >= bytes) await sleep(50);
}

/** Writes at the time of the clock, as requests do. */
const now = <C extends Change>(change: C): C => ({ ...change, at: Date.now() });

const count = 10_000;
const ids = Array.from({ length: count }, (_, n) => `a-rather-long-id-of-a-resource-${n}`);

async function commitAll(store: Store, changes: readonly Change[]): Promise<void> {
  for (let from = 0; from < changes.length; from += 1_000)
    await store.commit(changes.slice(from, from + 1_000));
}

const timeout = 240_000;

describe("the file shrinks", () => {
  it("after a large collection was deleted", { timeout }, () =>
    inDirectory(async (path) => {
      const store = await openSqlite({ path, eraseAfterMs: 0 });
      await store.commit([create()]);
      const large = JSON.stringify({ text: "x".repeat(2 ** 20) });
      for (let n = 0; n < runs(12, 40); n++)
        await store.commit([put(`id-${n}`, { fields: large })]);
      await store.commit([{ kind: "drop", collection: "things", isEmptyOnly: false }]);
      await untilBelow(path, 2 ** 20);
      await store.close();
    }),
  );

  itLong("after an index was removed from a definition", { timeout }, () =>
    inDirectory(async (path) => {
      const store = await openSqlite({ path, eraseAfterMs: 0 });
      await store.commit([define('{"searchable":["text"],"indexed":["text"]}')]);
      const text = "many short words that all have entries of their own in the search index";
      const puts = ids.map((id, n) =>
        put(id, { fields: JSON.stringify({ text: `${n} ${text}` }) }),
      );
      await commitAll(store, puts);
      await store.close();
      const before = await sizeOf(path);
      const again = await openSqlite({ path, eraseAfterMs: 0 });
      await again.commit([define("{}")]);
      await untilBelow(path, before / 2);
      assert.equal((await again.collection("things"))?.total, count);
      await again.close();
    }),
  );

  it("after removals have expired", { timeout }, () =>
    inDirectory(async (path) => {
      const open = (removalsMs: number) =>
        openSqlite({ path, eraseAfterMs: 0, retention: { removalsMs, pauseMs: 10 } });
      const first = await open(Number.MAX_SAFE_INTEGER);
      await first.commit([now(create())]);
      await commitAll(
        first,
        ids.flatMap((id) => [now(put(id)), now(remove(id))]),
      );
      await first.close();
      const before = await sizeOf(path);
      // Long enough that most machines have erased what the first process left before it.
      const store = await open(5_000);
      await store.commit([]);
      await untilBelow(path, before / 4);
      await store.close();
    }),
  );
});
