// Retries after a kill at any moment: nothing is done twice, and the outcome is repeated.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openSqlite } from "../../../src/store/sqlite/sqlite.ts";
import type { Outcome, Store } from "../../../src/store/store.ts";
import { itLong } from "../../short-run.ts";
import { feedSince } from "../contract/change-helpers.ts";
import { attempt } from "./retried-request.ts";
import {
  type Child,
  canInject,
  inDirectory,
  startChild,
  startChildUnder,
  withFault,
} from "./test-directory.ts";

/** What a client knows: the keys that it has tried, and the outcome of some. */
class Journal {
  readonly #answers = new Map<string, Outcome | undefined>();

  schedule({ lines }: Child): void {
    for (const line of lines) {
      const [word = "", key = "", ...answer] = line.split(" ");
      this.#answers.set(key, word === "done" ? JSON.parse(answer.join(" ")) : undefined);
    }
  }

  get triedCount(): number {
    return this.#answers.size;
  }

  get unansweredCount(): number {
    return [...this.#answers.values()].filter((answer) => answer === undefined).length;
  }

  /** Tries every key again, twice. */
  async retry(store: Store): Promise<void> {
    for (const number of [1, 2]) {
      const tried = [...this.#answers];
      const outcomes = await store.commit(tried.map(([key]) => attempt(key, number)));
      for (const [index, [key, answer]] of tried.entries()) {
        if (answer) assert.deepEqual(outcomes[index], { ...answer, isReplay: true });
        this.#answers.set(key, outcomes[index]);
      }
    }
  }

  /** Each was done once, completely, and equals its outcome. */
  async assertKept(store: Store): Promise<void> {
    const slice = await store.slice("things", { offset: 0, limit: 1e6, order: "created" });
    const kept = new Map(slice?.resources.map((resource) => [resource.id, resource]));
    for (const [key, answer] of this.#answers) {
      assert.ok(answer?.kind === "all" && answer.outcomes.length === 2, key);
      for (const outcome of answer.outcomes) {
        assert.ok(outcome.kind === "created");
        assert.deepEqual(kept.get(outcome.resource.id), outcome.resource);
      }
    }
    assert.equal(kept.size, 2 * this.#answers.size);
    assert.equal(slice?.collection.total, kept.size);
    const feed = await feedSince(store, 0, 1e6);
    assert.equal(feed?.entries.length, kept.size);
  }
}

async function afterDeath(path: string, journal: Journal): Promise<void> {
  const store = await openSqlite({ path });
  await journal.retry(store);
  await journal.assertKept(store);
  await store.close();
}

/** The how-manieth call of its kind is the last: in the log's head, a page, a frame, the bell… */
const deaths = [
  ["pwrite64", 9],
  ["pwrite64", 14],
  ["pwrite64", 28],
  ["pwrite64", 58],
  ["fsync", 4],
  ["fsync", 5],
] as const;

describe("a retry with the same key", () => {
  itLong("after kill -9 under load is never executed twice", () =>
    inDirectory(async (path) => {
      const journal = new Journal();
      for (let round = 0; round < 4; round++) {
        const children = [1, 2].map((number) => startChild("retry", path, `${round}-${number}`));
        await new Promise<void>((resolve) => {
          let wanted = 60 + round * 25;
          for (const child of children)
            child.onLine(() => {
              if (--wanted === 0) resolve();
            });
        });
        for (const child of children) child.kill();
        await Promise.all(children.map(({ gone }) => gone));
        for (const child of children) journal.schedule(child);
        assert.ok(journal.unansweredCount > 0, "all was answered before the kill");
        await afterDeath(path, journal);
      }
      assert.ok(journal.triedCount > 100);
    }),
  );

  it("after a kill at any write to disk is never executed twice", (context) =>
    inDirectory(async (path) => {
      if (!canInject()) return context.skip("strace is not here or not allowed");
      const founder = await openSqlite({ path });
      await founder.commit([{ kind: "create-collection", collection: "things", at: 1 }]);
      await founder.close();
      const journal = new Journal();
      for (const [call, when] of deaths) {
        const strace = withFault(call, `signal=KILL:when=${when}`);
        const child = startChildUnder(strace, "retry", path, `${call}-${when}`);
        await child.gone;
        journal.schedule(child);
        await afterDeath(path, journal);
      }
      assert.ok(journal.triedCount > 32, "they were killed before they tried anything");
    }));
});
