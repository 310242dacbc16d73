// Conditions on other collections become conditions on ids, where few resources match.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Predicate, Related } from "../../../src/model/query/predicate.ts";
import type { Query } from "../../../src/model/query/query.ts";
import { equalTo, keyOf } from "../../../src/model/query/sort-key.ts";
import type { Read } from "../../../src/store/core/filter-reads.ts";
import { withRelatedIds } from "../../../src/store/core/related-ids.ts";

const is = (field: string, value: string): Predicate => ({
  ...{ field, kind: "text" },
  spans: [equalTo(keyOf("text", value))],
});
const related = (reference: string, inner: Predicate): Related => ({
  ...{ field: reference, reference, kind: "text", collection: "customers", related: inner },
});
const queryOf = (...conditions: readonly Predicate[]): Query => ({
  ...{ conditions, words: [], sortings: [], isNewestFirst: false },
  ...{ start: 0, limit: 20, isCounted: true },
});

/** Answers every read with these ids; returns the query and the reads. */
function resolved(query: Query, ids: readonly string[] | undefined) {
  const reads: Read[] = [];
  const running = withRelatedIds(query);
  let step = running.next();
  while (!step.done) {
    reads.push(step.value);
    step = running.next(ids);
  }
  return { query: step.value, reads };
}

describe("conditions on other collections", () => {
  const german = related("customer", is("country", "DE"));
  const named = related("customer", is("name", "Ada"));

  it("become a condition on the reference", () => {
    const { query } = resolved(queryOf(german), ["b", "a"]);
    const spans = ["a", "b"].map((id) => equalTo(keyOf("text", id)));
    assert.deepEqual(query.conditions, [{ field: "customer", kind: "text", spans }]);
    assert.deepEqual(resolved(queryOf(german), []).query.conditions, [
      { field: "customer", kind: "text", spans: [] },
    ]);
  });

  it("stay when too many resources match", () => {
    assert.deepEqual(resolved(queryOf(german), undefined).query.conditions, [german]);
  });

  it("are asked together when they are on one reference", () => {
    const { reads } = resolved(queryOf(german, named), ["a"]);
    assert.equal(reads.length, 1);
    const [read] = reads;
    assert.ok(read?.kind === "ids");
    assert.deepEqual(read.query.conditions, [is("country", "DE"), is("name", "Ada")]);
  });

  it("are asked one by one on elements, which can refer to different resources", () => {
    const [pen, saw] = ["pen", "saw"].map((kind) => related("lines[].product", is("kind", kind)));
    assert.ok(pen && saw);
    assert.equal(resolved(queryOf(pen, saw), ["a"]).reads.length, 2);
  });

  it("are asked within one element", () => {
    const within = (some: Predicate): Predicate => ({ field: "lines", some });
    const { query, reads } = resolved(queryOf(within(related("product", is("kind", "pen")))), [
      "a",
    ]);
    assert.equal(reads.length, 1);
    const spans = [equalTo(keyOf("text", "a"))];
    assert.deepEqual(query.conditions, [within({ field: "product", kind: "text", spans })]);
  });

  it("are not asked where no index helps", () => {
    const conditions: readonly Predicate[] = [{ not: german }];
    const { query, reads } = resolved(queryOf(...conditions), ["a"]);
    assert.equal(reads.length, 0);
    assert.deepEqual(query.conditions, conditions);
  });
});
