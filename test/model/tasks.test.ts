// Tasks in the background: when they run, and what is shown and counted of them.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Metrics } from "../../src/lib/metrics.ts";
import { Tasks } from "../../src/lib/tasks.ts";
import { Clock } from "../clock.ts";

const clock = new Clock();
const minute = 60_000;

describe("a task", () => {
  before(() => clock.stop());
  after(() => clock.go());

  it("runs when it is scheduled first, and again after its interval", async () => {
    let runs = 0;
    const task = new Tasks().add({ name: "a", everyMs: minute, run: async () => ++runs });
    await clock.pass(10);
    assert.equal(runs, 0);
    task.schedule(20);
    task.schedule(10);
    task.schedule(30);
    await clock.pass(9);
    assert.equal(runs, 0);
    await clock.pass(1);
    assert.equal(runs, 1);
    clock.holdUp(minute - 1);
    await clock.pass(0);
    assert.equal(runs, 1);
    await clock.pass(5);
    assert.equal(runs, 2);
    await task.close();
    clock.holdUp(2 * minute);
    await clock.pass(5);
    assert.equal(runs, 2);
  });

  it("runs again soon after a failure, and then at growing intervals", async () => {
    const at: number[] = [];
    const failures: unknown[] = [];
    const tasks = new Tasks({ onFailure: (...failure) => failures.push(failure) });
    const error = new Error("no disk");
    const task = tasks.add({
      name: "a",
      failure: "cannot",
      everyMs: 5_000,
      run: async () => {
        at.push(performance.now());
        if (at.length < 6) throw error;
      },
    });
    task.schedule(0);
    await clock.pass(30_000);
    const pauses = at.slice(1).map((time, index) => Math.round((time - (at[index] ?? 0)) / 1_000));
    assert.deepEqual(pauses.slice(0, 6), [1, 2, 4, 5, 5, 5]);
    assert.deepEqual(
      failures,
      Array.from({ length: 5 }, () => ["cannot", "a", error]),
    );
    await task.close();
  });

  it("runs once at a time, and stops when it is told to", async () => {
    const steps: string[] = [];
    const going = Promise.withResolvers<void>();
    const tasks = new Tasks();
    const task = tasks.add({
      name: "a",
      async run(isStopped) {
        steps.push("begin");
        await going.promise;
        steps.push(isStopped() ? "stopped" : "end");
      },
    });
    task.schedule(0);
    await clock.pass(2);
    task.schedule(0);
    await clock.pass(2);
    assert.deepEqual(steps, ["begin"]);
    tasks.stop();
    going.resolve();
    await task.close();
    await clock.pass(5);
    assert.deepEqual(steps, ["begin", "stopped"]);
  });

  it("reports no failure when it is stopped", async () => {
    const failures: unknown[] = [];
    const tasks = new Tasks({ onFailure: (...failure) => failures.push(failure) });
    const going = Promise.withResolvers<void>();
    const task = tasks.add({ name: "a", run: () => going.promise });
    task.schedule(0);
    await clock.pass(2);
    tasks.stop();
    going.reject(new Error("the store is closed"));
    await task.close();
    assert.deepEqual(failures, []);
  });

  it("is shown with its runs, which are counted", async () => {
    const metrics = new Metrics();
    const tasks = new Tasks({ metrics });
    const shown = (name: string) => tasks.list().find((state) => state.name === name);
    let isFailing = true;
    const later = tasks.add({ name: "b", run: async () => undefined });
    const going = Promise.withResolvers<void>();
    const task = tasks.add({
      name: "a",
      everyMs: minute,
      async run() {
        if (isFailing) throw new Error("no disk");
        await going.promise;
      },
    });
    assert.deepEqual(tasks.list(), [
      { name: "a", isRunning: false },
      { name: "b", isRunning: false },
    ]);
    task.schedule(0);
    await clock.pass(2);
    const failed = shown("a");
    assert.equal(failed?.error, "no disk");
    assert.ok(failed.nextAt !== undefined && failed.nextAt > (failed.startedAt ?? 0));
    isFailing = false;
    await clock.pass(1_002);
    assert.equal(shown("a")?.isRunning, true);
    assert.equal(shown("a")?.nextAt, undefined);
    going.resolve();
    await clock.pass(2);
    const { error, seconds, nextAt } = shown("a") ?? {};
    assert.deepEqual([error, typeof seconds, typeof nextAt], [undefined, "number", "number"]);
    const [family] = metrics.read();
    assert.deepEqual(
      family?.samples.map(({ labels, value }) => [labels.task, labels.outcome, value]),
      [
        ["b", "done", 0],
        ["b", "failed", 0],
        ["a", "done", 1],
        ["a", "failed", 1],
      ],
    );
    await Promise.all([task.close(), later.close()]);
  });
});
