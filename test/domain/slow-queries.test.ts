// Which queries are recorded, how often a line is logged, and how many shapes are kept.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SlowQueries } from "../../src/domain/slow-queries.ts";
import { anonymous, system } from "../../src/model/principal.ts";
import { Problem } from "../../src/model/problem.ts";
import type { Query } from "../../src/model/query/query.ts";
import { equalTo, keyOf } from "../../src/model/query/sort-key.ts";

const collection = { name: "goods", definition: "{}" };

const queryOn = (field: string): Query => ({
  conditions: [{ field, kind: "text", spans: [equalTo(keyOf("text", "value"))] }],
  sortings: [],
  words: [],
  isNewestFirst: false,
  start: 0,
  limit: 20,
  isCounted: true,
});

const run = (field: string, milliseconds: number, checked: number, isStopped = false) => ({
  ...{ collection, others: [], query: queryOn(field), milliseconds, checked, isStopped },
});

function listed(queries: SlowQueries) {
  const list = queries.list(system);
  if (list instanceof Problem) throw new Error(list.detail);
  return list;
}

describe("slow queries", () => {
  it("are those that took a second, checked 1,000 resources or were stopped", () => {
    const queries = new SlowQueries(() => 0);
    assert.equal(queries.record(run("a", 999, 999)), undefined);
    assert.ok(queries.record(run("a", 1_000, 0)));
    assert.ok(queries.record(run("b", 0, 1_000)));
    assert.ok(queries.record(run("c", 0, 0, true)));
    assert.deepEqual(
      listed(queries)
        .map(({ shape }) => shape.where)
        .sort(),
      ["a eq", "b eq", "c eq"],
    );
  });

  it("are added up by shape, the longest total time first", () => {
    let now = 5;
    const queries = new SlowQueries(() => now);
    queries.record(run("b", 2_500, 10));
    queries.record(run("a", 2_000, 30));
    now = 6;
    queries.record(run("a", 1_000, 20, true));
    assert.deepEqual(listed(queries)[0], {
      collection: "goods",
      shape: { where: "a eq", sort: [], isSearch: false },
      plan: "checks all",
      missingIndexes: ["a"],
      relatedIndexes: {},
      undeclaredFields: [],
      count: 2,
      stopped: 1,
      lastAt: 6,
      longestMs: 2_000,
      totalMs: 3_000,
      checked: 30,
    });
    assert.equal(listed(queries).length, 2);
  });

  it("are the 100 latest shapes", () => {
    const queries = new SlowQueries(() => 0);
    for (let count = 0; count <= 100; count++) {
      queries.record(run(`f${count}`, 1_000, 0));
      queries.record(run("often", 1_000, 0));
    }
    const shapes = listed(queries).map(({ shape }) => shape.where);
    assert.equal(shapes.length, 100);
    assert.ok(shapes.includes("often eq") && shapes.includes("f100 eq"));
    assert.ok(!shapes.includes("f0 eq"));
  });

  it("are logged once a minute for the same indexes", () => {
    let now = 0;
    const queries = new SlowQueries(() => now);
    const isLogged = (field: string) => {
      const slow = queries.record(run(field, 1_000, 0));
      return slow !== undefined && queries.isToLog(slow);
    };
    assert.deepEqual(["a", "a", "b"].map(isLogged), [true, false, true]);
    now = 59_999;
    assert.equal(isLogged("a"), false);
    now = 60_000;
    assert.equal(isLogged("a"), true);
  });

  it("are shown to admins only", () => {
    assert.ok(new SlowQueries(() => 0).list(anonymous) instanceof Problem);
  });
});
