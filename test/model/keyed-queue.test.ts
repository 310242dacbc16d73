// The queue of tasks with keys: what shares a key runs in order, and the rest at the same time.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { KeyedQueue } from "../../src/lib/keyed-queue.ts";

/** Runs tasks that end when they are told to, and records which are running. */
class Tasks {
  readonly running = new Set<string>();
  readonly #queue: KeyedQueue;
  readonly #ends = new Map<string, (error?: Error) => void>();

  constructor(queue: KeyedQueue) {
    this.#queue = queue;
  }

  add(name: string, ...keys: readonly string[]): Promise<string> {
    return this.#queue.run(keys, async () => {
      this.running.add(name);
      const error = await new Promise<Error | undefined>((resolve) =>
        this.#ends.set(name, resolve),
      );
      this.running.delete(name);
      if (error) throw error;
      return name;
    });
  }

  /** Ends a task, and waits until the next ones have started. */
  async end(name: string, error?: Error): Promise<void> {
    this.#ends.get(name)?.(error);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe("a queue of tasks with keys", () => {
  it("runs tasks with a common key in order, and others at the same time", async () => {
    const tasks = new Tasks(new KeyedQueue(4));
    const results = Promise.all([
      tasks.add("a1", "a"),
      tasks.add("a2", "a"),
      tasks.add("ab", "a", "b"),
      tasks.add("b1", "b"),
      tasks.add("c1", "c"),
    ]);
    assert.deepEqual([...tasks.running], ["a1", "c1"]);
    await tasks.end("a1");
    assert.deepEqual([...tasks.running], ["c1", "a2"]);
    await tasks.end("a2");
    assert.deepEqual([...tasks.running], ["c1", "ab"]);
    await tasks.end("ab");
    assert.deepEqual([...tasks.running], ["c1", "b1"]);
    await tasks.end("b1");
    await tasks.end("c1");
    assert.deepEqual(await results, ["a1", "a2", "ab", "b1", "c1"]);
  });

  it("runs at most so many tasks at a time", async () => {
    const queue = new KeyedQueue(2);
    const tasks = new Tasks(queue);
    const results = ["a", "b", "c"].map((name) => tasks.add(name, name));
    assert.deepEqual([...tasks.running], ["a", "b"]);
    let isIdle = false;
    const idle = queue.idle().then(() => {
      isIdle = true;
    });
    for (const name of ["a", "b", "c"]) {
      assert.equal(isIdle, false);
      await tasks.end(name);
    }
    await idle;
    assert.deepEqual(await Promise.all(results), ["a", "b", "c"]);
    await queue.idle();
  });

  it("goes on after a task that failed", async () => {
    const tasks = new Tasks(new KeyedQueue(1));
    const failing = tasks.add("a", "a");
    const next = tasks.add("b", "a");
    await Promise.all([
      assert.rejects(failing, /it failed/),
      tasks.end("a", new Error("it failed")),
    ]);
    await tasks.end("b");
    assert.equal(await next, "b");
  });
});
