// The pool of threads: one that loops, allocates, ends or is silent costs its job only, and another one takes its place.
// @runtimes both

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { JobQueue } from "../../src/lib/job-queue.ts";
import { ThreadPool } from "../../src/lib/thread-pool.ts";

const deadlineMs = 600_000;
const limits = { deadlineMs, running: 1, waiting: 10, waitingPerCaller: 10 };
const queue = new JobQueue(limits, (failure, detail = "") => new Error(`${failure} ${detail}`));
const pool = new ThreadPool<string, unknown>({
  ...{ script: new URL("thread-script.ts", import.meta.url), data: {}, queue, graceMs: 0 },
  resourceLimits: { maxOldGenerationSizeMb: 32 },
});

const act = (name: string) => pool.run({}, (ask) => ask(name));

/** The client leaves while the thread is busy. */
async function leave(name: string): Promise<void> {
  const client = new AbortController();
  const left = pool.run({ signal: client.signal }, async (ask) => {
    await ask("answer");
    const answer = ask(name);
    client.abort();
    return answer;
  });
  await assert.rejects(left, /^Error: cancelled/);
}

describe("a pool of threads", () => {
  it("has one thread for jobs one after the other", async () => {
    assert.equal(await act("answer"), await act("answer"));
    assert.equal(pool.size, 1);
  });

  for (const name of ["loop", "silent"])
    it(`ends a thread that is stopped and goes on (${name})`, async () => {
      const first = await act("answer");
      await leave(name);
      assert.notEqual(await act("answer"), first);
      assert.equal(pool.size, 1);
    });

  it("ends a thread at the deadline", async () => {
    const first = await act("answer");
    queue.setDeadline(1);
    const late = act("loop");
    queue.setDeadline(deadlineMs);
    await assert.rejects(late, /^Error: timeout 0.001 s/);
    assert.notEqual(await act("answer"), first);
  });

  for (const name of ["exit", "throw"])
    it(`rejects the job of a thread that ends (${name})`, async () => {
      const first = await act("answer");
      await assert.rejects(act(name), /^Error: lost (exit code 3|.*as it should)/);
      assert.notEqual(await act("answer"), first);
      assert.equal(pool.size, 1);
    });

  it("rejects the job of a thread that needs too much memory", {
    skip: "bun" in process.versions && "Bun ignores the limit",
  }, async () => {
    await assert.rejects(act("allocate"), /^Error: lost .*memory/i);
    assert.ok((await act("answer")) !== undefined);
  });

  it("ends its threads when it closes", async () => {
    await pool.close();
    await assert.rejects(act("answer"), /closed/);
  });
});

describe("a pool that gives time to stop", () => {
  it("keeps the thread that does, for a job that is not stopped", async () => {
    const patient = new ThreadPool<string, unknown>({
      ...{ script: new URL("thread-script.ts", import.meta.url), data: {} },
      ...{ queue: new JobQueue(limits, (failure) => new Error(failure)), graceMs: 600_000 },
    });
    const client = new AbortController();
    const { signal } = client;
    const first = await patient.run({}, (ask) => ask("answer"));
    const answer = Promise.withResolvers<unknown>();
    const left = patient.run({ signal }, (ask) => {
      const stopped = ask("stop");
      answer.resolve(stopped);
      client.abort();
      return stopped;
    });
    await assert.rejects(left, /cancelled/);
    assert.equal(await answer.promise, "stopped");
    assert.equal(await patient.run({}, (ask) => ask("answer")), first);
    await patient.close();
  });
});
