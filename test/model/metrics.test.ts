// Metrics: the text format of Prometheus, histograms, and the sums of several processes.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { combineMetrics, countsIn, Metrics, writeMetrics } from "../../src/lib/metrics.ts";

describe("the text format", () => {
  it("has the help, the type and the value of each metric", () => {
    const metrics = new Metrics();
    const saved = metrics.counter("saved_total", "Saved files.");
    metrics.gauge("waiting", "How many wait.", () => 3);
    saved.add();
    saved.add(4);
    assert.equal(
      writeMetrics(metrics.read()),
      "# HELP saved_total Saved files.\n# TYPE saved_total counter\nsaved_total 5\n" +
        "# HELP waiting How many wait.\n# TYPE waiting gauge\nwaiting 3\n",
    );
  });

  it("leaves out a metric without a value now", () => {
    const metrics = new Metrics();
    metrics.gauge("wal_bytes", "The size of the WAL.", () => undefined);
    assert.equal(writeMetrics(metrics.read()), "");
  });

  it("escapes backslashes, quotes and line breaks", () => {
    const metrics = new Metrics();
    metrics.info("one", "A \\ and a\nline.", { name: 'a\\b"c\nd' });
    assert.equal(
      writeMetrics(metrics.read()),
      '# HELP one A \\\\ and a\\nline.\n# TYPE one gauge\none{name="a\\\\b\\"c\\nd"} 1\n',
    );
  });

  it("does not take a name twice", () => {
    const metrics = new Metrics();
    metrics.counter("one_total", "One.");
    assert.throws(() => metrics.counter("one_total", "Another."), /one_total exists already/);
  });
});

describe("a histogram", () => {
  it("counts each value in all buckets that are large enough", () => {
    const metrics = new Metrics();
    const sizes = metrics.histogram("size", "Sizes.", [1, 10]);
    for (const size of [0, 1, 1.5, 10, 11, 1e9]) sizes.add(size);
    assert.deepEqual(
      metrics.read()[0]?.samples.map(({ suffix, labels, value }) => [suffix, labels.le, value]),
      [
        ["_bucket", "1", 2],
        ["_bucket", "10", 4],
        ["_bucket", "+Inf", 6],
        ["_sum", undefined, 1_000_000_023.5],
        ["_count", undefined, 6],
      ],
    );
  });
});

describe("the metrics of several processes", () => {
  const processOf = (saved: number, memory: number, startedAt: number) => {
    const metrics = new Metrics();
    metrics.counter("saved_total", "Saved.").add(saved);
    metrics.gauge("memory", "Memory.", () => memory);
    metrics.gauge("started", "Start.", () => startedAt, "max");
    metrics.histogram("size", "Sizes.", [1]).add(saved);
    return metrics.read();
  };
  const valuesOf = (families: ReturnType<typeof combineMetrics>) =>
    families.map(({ name, samples }) => [name, samples.map(({ value }) => value)]);

  it("are added up, or the largest counts", () => {
    assert.deepEqual(valuesOf(combineMetrics([processOf(1, 10, 5), processOf(2, 20, 4)])), [
      ["saved_total", [3]],
      ["memory", [30]],
      ["started", [5]],
      ["size", [1, 2, 3, 2]],
    ]);
  });

  it("keep the counts of a process that has ended, and not its memory", () => {
    const ended = countsIn(processOf(7, 70, 9));
    assert.deepEqual(valuesOf(combineMetrics([processOf(1, 10, 5), ended])), [
      ["saved_total", [8]],
      ["memory", [10]],
      ["started", [5]],
      ["size", [1, 2, 8, 2]],
    ]);
  });
});
