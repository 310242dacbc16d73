// What a query remembers of each resource: no short part of a long text keeps all of it in memory.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Aggregation } from "../../../src/model/query/aggregate.ts";
import { IndexedContent } from "../../../src/model/query/index-plan.ts";
import { keyOf } from "../../../src/model/query/sort-key.ts";
import { Aggregator } from "../../../src/store/core/aggregator.ts";
import { ResourceValues } from "../../../src/store/core/row-values.ts";

const count = 100;
const length = 200_000;

function heapBytes(): number {
  if ("Bun" in globalThis) Bun.gc(true);
  else {
    setFlagsFromString("--expose-gc");
    runInNewContext("gc")();
  }
  return process.memoryUsage().heapUsed;
}

/** Calls it for many resources, and returns how much of each is kept. */
function keptOf(read: (n: number) => unknown): number {
  const first = heapBytes();
  const kept = Array.from({ length: count }, (_, n) => read(n));
  const bytes = (heapBytes() - first) / count;
  assert.equal(kept.length, count);
  return bytes;
}

const resource = (n: number) => ({
  ...{ id: `r${n}`, revision: 1, createdAt: 0, updatedAt: 0 },
  fields: `{"n":${n}.50,"g":${n},"t":"${n}${"x".repeat(length)}"}`,
});

/** Adds resources to groups, one to each. */
function aggregatorOf(name: "min" | "distinct", field: string): (n: number) => void {
  const aggregation: Aggregation = {
    aggregates: [{ name: `${name}(${field})`, function: name, field, kind: "any" }],
    groupings: [{ name: "g", field: "g", kind: "any" }],
    ...{ timeZone: undefined, sortings: [], offset: 0, limit: 1 },
  };
  const aggregator = new Aggregator(aggregation);
  return (n) => {
    const candidate = { seq: n, resource: resource(n) };
    aggregator.add(new ResourceValues(candidate, new IndexedContent(candidate.resource)));
  };
}

const reads: Readonly<Record<string, () => (n: number) => unknown>> = {
  "the sort key of a long text": () => (n) => keyOf("text", `${n}${"x".repeat(length)}`),
  "the sort key of a long text beyond Latin-1": () => (n) =>
    keyOf("text", `${n}${"\u{1f600}".repeat(length / 2)}`),
  "the smallest number of large resources": () => aggregatorOf("min", "n"),
  "different long texts": () => aggregatorOf("distinct", "t"),
};

describe("a query keeps little of", () => {
  for (const [title, makeRead] of Object.entries(reads))
    it(title, () => {
      const read = makeRead();
      const bytes = keptOf(read);
      assert.ok(bytes < length / 10, `${Math.round(bytes)} bytes of each are kept`);
      // What reads is used until here.
      assert.ok(read);
    });
});
