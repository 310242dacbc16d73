// How many entries of indexes are counted before a query is answered, and which indexes serve conditions on elements.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { indexPlanOf } from "../../../src/model/query/index-plan.ts";
import type { Predicate } from "../../../src/model/query/predicate.ts";
import type { Query } from "../../../src/model/query/query.ts";
import { beginningWith, noValue, someValue } from "../../../src/model/query/sort-key.ts";
import type { Read } from "../../../src/store/core/filter-reads.ts";
import { findOrAggregate } from "../../../src/store/core/find-or-aggregate.ts";
import { planQuery } from "../../../src/store/core/query-plan.ts";
import { ask, is, where } from "../contract/query-helpers.ts";

const text = { type: "string" };
const element = { type: "object", properties: { sku: text, size: text } };
const plan = indexPlanOf(
  JSON.stringify({
    schema: {
      properties: {
        ...{ status: text, kind: text, note: text, body: text },
        lines: { type: "array", items: element },
        tags: { type: "array", items: text },
      },
    },
    indexed: ["status", "kind", "lines[].sku", "tags[]"],
    searchable: ["body"],
  }),
);

const total = 1_000_000;

/** Answers each count with as many entries as it may count, and other reads with nothing. Returns the counts. */
function countedBy(query: Query, ranked: number): readonly number[] {
  const filter = planQuery(plan, query);
  assert.ok(filter.kind === "filter");
  const counted: number[] = [];
  const answer = (read: Read): unknown => {
    if (read.kind === "count") counted.push(read.max);
    if (read.kind === "count") return read.max;
    if (read.kind === "at") return { candidates: [], read: read.seqs.length };
    if (read.kind === "ranks") return new Map(Array.from({ length: ranked }, (_, at) => [at, 1]));
    return read.kind === "test" ? { tested: 0, last: 0, counted: 0, seqs: [], values: [] } : [];
  };
  const running = findOrAggregate({ plan, total, maxCounted: total }, filter, query);
  for (let step = running.next(); !step.done; ) {
    const { value } = step;
    step = running.next(answer(value));
  }
  return counted;
}

const status = is("status", "text", "open");
const kind = is("kind", "text", "a");
const note = is("note", "text", "b");
const words = [{ text: "rare", isPrefix: false }];

describe("the entries that are counted", () => {
  it("are few when a page without a total is read in order", () => {
    const counted = countedBy(ask({ conditions: [status, kind], isCounted: false, limit: 20 }), 0);
    assert.ok(Math.max(...counted) <= 32_000, `${counted}`);
    const one = countedBy(ask({ conditions: [status, note], isCounted: false, limit: 20 }), 0);
    assert.ok(Math.max(...one) <= 32_000, `${one}`);
  });

  it("are all those of a total", () => {
    const counted = countedBy(ask({ conditions: [status, kind], isCounted: true }), 0);
    assert.ok(Math.max(...counted) > total, `${counted}`);
  });

  it("are few beside the few results of a search", () => {
    const counted = countedBy(ask({ conditions: [status], words, isCounted: true }), 10);
    assert.deepEqual(counted, [51]);
    const page = { sortings: [], groupings: [], offset: 0, limit: 1, timeZone: undefined };
    const count = { name: "count", function: "count", field: "", kind: "any" } as const;
    const aggregation = { aggregates: [count], ...page };
    assert.deepEqual(countedBy(ask({ conditions: [status], words, aggregation }), 10), [51]);
  });
});

describe("conditions on one element of an array", () => {
  const some = (field: string, predicate: Predicate): Predicate => ({ field, some: predicate });
  const sku = is("sku", "text", "a");
  const indexesFor = (...conditions: readonly Predicate[]): readonly string[] => {
    const found = planQuery(plan, ask({ conditions }));
    assert.ok(found.kind === "filter");
    return found.sources.flatMap(({ ranges }) => ranges.map(({ index }) => index));
  };

  it("are narrowed down by the indexes of elements", () => {
    assert.deepEqual(indexesFor(some("lines", sku)), ["lines[].sku"]);
    const both = { allOf: [sku, is("size", "text", "b")] };
    assert.deepEqual(indexesFor(some("lines", both)), ["lines[].sku"]);
    assert.deepEqual(indexesFor(some("tags", is("", "text", "a"))), ["tags[]"]);
    const begins = where("sku", "text", beginningWith("a"));
    assert.deepEqual(indexesFor(some("lines", begins)), ["lines[].sku"]);
    const either = { anyOf: [some("lines", sku), status] };
    assert.deepEqual(indexesFor(either), ["lines[].sku", "status"]);
  });

  it("are not, where other elements decide which entries there are", () => {
    assert.deepEqual(indexesFor(some("lines", where("sku", "text", noValue))), []);
    const orNone = where("sku", "text", { from: noValue.from, to: someValue.to });
    assert.deepEqual(indexesFor(some("lines", orNone)), []);
    assert.deepEqual(indexesFor(some("lines", { ...sku, isNegated: true })), []);
    assert.deepEqual(indexesFor(some("lines", { not: sku })), []);
    assert.deepEqual(indexesFor({ not: some("lines", sku) }), []);
  });
});
