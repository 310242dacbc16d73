// The queue of long queries: its limits, its deadline, and the turns that callers take.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Job } from "../../src/lib/job-queue.ts";
import { Outage } from "../../src/model/outage.ts";
import { QueryQueue } from "../../src/store/query-queue.ts";

const limits = { deadlineMs: 600_000, running: 1, waiting: 4, waitingPerCaller: 3 };

/** A job that runs until the test ends it or the queue stops it. */
class HeldJob {
  readonly #ended = Promise.withResolvers<string>();
  readonly #started = Promise.withResolvers<void>();
  readonly started: Promise<void> = this.#started.promise;
  isStarted = false;
  isStopped = false;

  readonly run: Job<string> = (signal) => {
    this.isStarted = true;
    this.#started.resolve();
    signal.addEventListener("abort", () => {
      this.isStopped = true;
      this.#ended.reject(signal.reason);
    });
    return this.#ended.promise;
  };

  end(result: string): void {
    this.#ended.resolve(result);
  }
}

const isOutage = (reason: Outage["reason"]) => (error: unknown) =>
  error instanceof Outage && error.reason === reason;

const done: Job<string> = async () => "done";

describe("the queue of long queries", () => {
  it("runs as many as allowed, and the next when one ends", async () => {
    const queue = new QueryQueue({ ...limits, running: 2 });
    const jobs = [new HeldJob(), new HeldJob(), new HeldJob()];
    const results = jobs.map((job) => queue.run({}, job.run));
    assert.deepEqual(
      jobs.map(({ isStarted }) => isStarted),
      [true, true, false],
    );
    jobs[0]?.end("first");
    await jobs[2]?.started;
    jobs[1]?.end("second");
    jobs[2]?.end("third");
    assert.deepEqual(await Promise.all(results), ["first", "second", "third"]);
  });

  it("stops a query at the deadline, and one that still waits", async () => {
    const queue = new QueryQueue(limits);
    queue.setDeadline(5);
    const work = Promise.withResolvers<string>();
    let signal: AbortSignal | undefined;
    const running = queue.run({}, (given) => {
      signal = given;
      return work.promise;
    });
    const waiting = new HeldJob();
    const results = [running, queue.run({}, waiting.run)];
    await Promise.all(results.map((result) => assert.rejects(result, isOutage("timeout"))));
    assert.equal(signal?.aborted, true);
    work.resolve("too late");
    await queue.close();
    assert.equal(waiting.isStarted, false);
  });

  it("does not reuse the place of a stopped query before its work ends", async () => {
    const queue = new QueryQueue(limits);
    const work = Promise.withResolvers<string>();
    const client = new AbortController();
    const stopped = queue.run({ signal: client.signal }, () => work.promise);
    const next = new HeldJob();
    const result = queue.run({}, next.run);
    client.abort();
    await assert.rejects(stopped, isOutage("cancelled"));
    assert.equal(next.isStarted, false);
    work.resolve("too late");
    await next.started;
    next.end("next");
    assert.equal(await result, "next");
  });

  it("rejects more waiting queries than allowed, of one caller and of all", async () => {
    const queue = new QueryQueue(limits);
    const held = new HeldJob();
    const accepted = [queue.run({ caller: "a" }, held.run)];
    for (let count = 0; count < 3; count++) accepted.push(queue.run({ caller: "a" }, done));
    await assert.rejects(queue.run({ caller: "a" }, done), isOutage("crowded"));
    accepted.push(queue.run({ caller: "b" }, done));
    await assert.rejects(queue.run({ caller: "c" }, done), isOutage("crowded"));
    held.end("done");
    assert.deepEqual(new Set(await Promise.all(accepted)), new Set(["done"]));
    assert.equal(await queue.run({ caller: "c" }, done), "done");
  });

  it("frees the place of a client that leaves, whether its query waits or runs", async () => {
    const queue = new QueryQueue({ ...limits, waitingPerCaller: 1 });
    const [first, second] = [new AbortController(), new AbortController()];
    const [running, waiting] = [new HeldJob(), new HeldJob()];
    const stopped = queue.run({ caller: "a", signal: first.signal }, running.run);
    const removed = queue.run({ caller: "a", signal: second.signal }, waiting.run);
    await assert.rejects(queue.run({ caller: "a" }, done), isOutage("crowded"));
    second.abort();
    await assert.rejects(removed, isOutage("cancelled"));
    const next = queue.run({ caller: "a" }, done);
    first.abort();
    await assert.rejects(stopped, isOutage("cancelled"));
    assert.equal(await next, "done");
    assert.equal(running.isStopped, true);
    assert.equal(waiting.isStarted, false);
  });

  it("does not run a query whose client has already left", async () => {
    const queue = new QueryQueue(limits);
    const job = new HeldJob();
    const left = queue.run({ signal: AbortSignal.abort() }, job.run);
    await assert.rejects(left, isOutage("cancelled"));
    assert.equal(job.isStarted, false);
  });

  it("takes turns between callers, however many queries one of them has", async () => {
    const queue = new QueryQueue({ ...limits, waiting: 100, waitingPerCaller: 50 });
    const held = new HeldJob();
    const order: string[] = [];
    const results = [queue.run({ caller: "many" }, held.run)];
    const add = (caller: string) =>
      results.push(
        queue.run({ caller }, async () => {
          order.push(caller);
          return caller;
        }),
      );
    for (let count = 0; count < 50; count++) add("many");
    add("one");
    add("other");
    add("one");
    held.end("");
    await Promise.all(results);
    assert.deepEqual(order.slice(0, 5), ["many", "one", "other", "many", "one"]);
    assert.equal(order.length, 53);
  });

  it("stops all queries when it closes", async () => {
    const queue = new QueryQueue(limits);
    const [running, waiting] = [new HeldJob(), new HeldJob()];
    const results = [queue.run({}, running.run), queue.run({}, waiting.run)];
    const rejected = results.map((result) => assert.rejects(result, isOutage("unavailable")));
    await queue.close();
    await Promise.all(rejected);
    assert.equal(running.isStopped, true);
    assert.equal(waiting.isStarted, false);
  });
});
