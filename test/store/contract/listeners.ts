// Listeners that are called after commits, whoever commits.

import assert from "node:assert/strict";
import type { Store } from "../../../src/store/store.ts";
import { create, feedSince, put } from "./change-helpers.ts";
import type { ContractTest } from "./engine-under-test.ts";

/**
 * Listeners are also called once a second, in case that a notification is lost. Here that clock stands
 * still, so that only the engine can call them.
 */
function watchOnly(store: Store, listener: () => void): () => void {
  const { setInterval } = globalThis;
  const never = () => setInterval(() => undefined, 1_000_000);
  try {
    Object.assign(globalThis, { setInterval: never });
    return store.watch(listener);
  } finally {
    Object.assign(globalThis, { setInterval });
  }
}

/** Resolves when the store reports a commit after which the condition holds. */
async function reported(store: Store, holds: () => Promise<boolean>): Promise<void> {
  let called = Promise.withResolvers<void>();
  const end = watchOnly(store, () => called.resolve());
  try {
    for (;;) {
      // Renewed before the look, so that a call during it is not lost.
      called = Promise.withResolvers();
      if (await holds()) return;
      await called.promise;
    }
  } finally {
    end();
  }
}

export function listeners(contractTest: ContractTest): void {
  contractTest(
    "a listener is called after the commits of its own and of another store",
    async (candidate) => {
      const { store } = candidate;
      const other = await candidate.second();
      await store.commit([create()]);
      for (const [number, writer] of [store, other, store, other].entries()) {
        const id = `r${number}`;
        const seen = reported(store, async () => (await store.find("things", id)) !== undefined);
        const seenElsewhere = reported(
          other,
          async () => (await other.find("things", id)) !== undefined,
        );
        await writer.commit([put(id)]);
        await Promise.all([seen, seenElsewhere]);
      }
    },
  );

  contractTest(
    "a slow reader misses nothing: it reads on from its own position",
    async (candidate) => {
      const { store } = candidate;
      const other = await candidate.second();
      await store.commit([create()]);
      const ids = new Set<string>();
      let revision = 0;
      const count = 30;
      const readAll = reported(store, async () => {
        const feed = await feedSince(store, revision, 7);
        for (const entry of feed?.entries ?? []) {
          ids.add(entry.id);
          revision = Math.max(revision, entry.revision);
        }
        if ((feed?.entries.length ?? 0) === 7) return false;
        return ids.size === count;
      });
      for (let number = 0; number < count; number++)
        await (number % 2 === 0 ? store : other).commit([put(`r${number}`)]);
      await readAll;
      assert.equal(ids.size, count);
    },
  );

  contractTest(
    "a listener that was removed is not called, and the others are",
    async ({ store }) => {
      await store.commit([create()]);
      let calls = 0;
      const listener = () => calls++;
      const [first, second] = [store.watch(listener), store.watch(listener)];
      first();
      first();
      await reported(store, async () => {
        await store.commit([put("a")]);
        return calls > 0;
      });
      second();
      const before = calls;
      await reported(store, async () => (await store.commit([put("b")])).length === 1);
      await new Promise((resolve) => setImmediate(resolve));
      assert.equal(calls, before);
    },
  );
}
