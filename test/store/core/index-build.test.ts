// What is built when a definition changes while the indexes of another one are built.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  cleared,
  compared,
  type IndexBuild,
  isFailed,
  phaseOf,
  planBuild,
  withoutClashes,
  withoutFailed,
} from "../../../src/store/core/index-build.ts";

const searchable = '{"searchable":["t"]}';

/** A build for a definition without search, after the words of the former one are deleted. */
function withoutWords(definition: string): IndexBuild {
  const build = planBuild({ definition: searchable, build: undefined }, definition, 10);
  assert.ok(build?.areWordsStale);
  const state = cleared(build);
  assert.notEqual(phaseOf(state), "none");
  return state;
}

describe("planBuild", () => {
  it("builds words again that were deleted for a definition in between", () => {
    const between = '{"unique":["n"]}';
    const build = withoutWords(between);
    const next = planBuild({ definition: between, build }, searchable, 10);
    assert.equal(next?.isSearchBuilt, true);
  });

  it("compares values again whose comparison did not end", () => {
    const between = '{"unique":["n"]}';
    const first = planBuild({ definition: "{}", build: undefined }, between, 10);
    const build = first && { ...first, built: [], isBuilt: true };
    const next = planBuild({ definition: between, build }, '{"unique":["n"],"indexed":["m"]}', 10);
    assert.deepEqual(next?.unique, ["n"]);
    const failed = build && { ...build, unique: [], failed: ["n"] };
    const after = planBuild({ definition: between, build: failed }, `${between} `, 10);
    assert.deepEqual(after?.unique, ["n"]);
  });

  it("deletes the rows of an index before it builds it again", () => {
    const build = planBuild({ definition: '{"indexed":["n"]}', build: undefined }, "{}", 10);
    assert.deepEqual([build?.stale, build?.dropped], [[], ["n"]]);
    const again = planBuild({ definition: "{}", build }, '{"indexed":["n"]}', 10);
    assert.deepEqual([again?.stale, again?.dropped], [["n"], []]);
  });

  it("keeps words that both definitions have", () => {
    const between = '{"searchable":["t"],"unique":["n"]}';
    const build = planBuild({ definition: searchable, build: undefined }, between, 10);
    assert.equal(build?.isSearchBuilt, false);
    const next = planBuild({ definition: between, build }, searchable, 10);
    assert.notEqual(next?.isSearchBuilt, true);
    assert.notEqual(next?.areWordsStale, true);
  });
});

describe("a definition whose values are not unique", () => {
  const definition = JSON.stringify({
    access: { read: "public" },
    unique: ["a", ["b", "c"], "d"],
    indexed: ["d"],
  });
  const planned = planBuild({ definition: "{}", build: undefined }, definition, 10);
  assert.ok(planned);
  const build: IndexBuild = { ...planned, isBuilt: true, unique: ["a", "d"] };
  const clash = (index: string, n = 0) => ({ index, ids: [`a${n}`, `b${n}`] as const });

  it("fails after the last comparison, each index for itself", () => {
    const first = compared(build, [["na", 1]], [clash("a")], true);
    assert.deepEqual([first.unique, first.failed, isFailed(first)], [["d"], ["a"], false]);
    const last = compared(first, [["nd", 1]], [], true);
    assert.deepEqual([last.failed, isFailed(last)], [["a"], true]);
    const { failed, clashes } = compared(first, [["nd", 1]], [clash("d")], true);
    assert.deepEqual(
      [failed, clashes],
      [
        ["a", "d"],
        [clash("a"), clash("d")],
      ],
    );
  });

  it("is not compared further after ten clashes of an index", () => {
    const clashes = Array.from({ length: 10 }, (_, n) => clash("a", n));
    const some = compared(build, [["na", 1]], clashes.slice(1), false);
    assert.deepEqual(
      [some.unique, some.checked],
      [
        ["a", "d"],
        ["na", 1],
      ],
    );
    const enough = compared(build, [["na", 1]], clashes, false);
    assert.deepEqual([enough.unique, enough.failed], [["d"], ["a"]]);
  });

  it("fails also when the resources of its clashes are erased before the last comparison", () => {
    const first = compared(build, [["na", 1]], [clash("a")], true);
    const erased = withoutClashes(first, new Set(["a0"]));
    assert.deepEqual(erased.clashes, []);
    assert.equal(isFailed(compared(erased, [], [], true)), true);
  });

  it("goes on with these as indexes that are not unique", () => {
    const failed = { ...build, unique: [], failed: ["d", '["b","c"]'] };
    const next = withoutFailed(definition, failed);
    assert.deepEqual(JSON.parse(next), {
      access: { read: "public" },
      unique: ["a"],
      indexed: ["d", ["b", "c"]],
    });
    const after = planBuild({ definition, build: failed }, next, 10);
    assert.deepEqual(after, undefined);
    const shown = planBuild({ definition, build: { ...failed, clashes: [clash("d")] } }, next, 10);
    assert.deepEqual([shown && phaseOf(shown), shown?.clashes], ["none", [clash("d")]]);
  });

  it("has no more indexes than a definition may have", () => {
    const indexed = Array.from({ length: 64 }, (_, n) => `f${n}`);
    const full = JSON.stringify({ unique: ["a"], indexed });
    const failed = { ...build, unique: [], failed: ["a"] };
    const next = withoutFailed(full, failed);
    assert.deepEqual(JSON.parse(next), { indexed });
    const after = planBuild({ definition: full, build: failed }, next, 10);
    assert.deepEqual(after?.dropped, ["a"]);
  });
});

describe("withoutClashes", () => {
  const plan = planBuild({ definition: "{}", build: undefined }, '{"unique":["n"]}', 10);
  assert.ok(plan);
  const clashes = [
    { index: "n", ids: ["a", "b"] as const },
    { index: "n", ids: ["c", "d"] as const },
  ];
  const build: IndexBuild = { ...plan, clashes };

  it("forgets the pairs with one of the resources", () => {
    assert.deepEqual(withoutClashes(build, new Set(["b"])).clashes, [clashes[1]]);
  });

  it("returns the same build when it has none of them", () => {
    assert.equal(withoutClashes(build, new Set(["n"])), build);
  });
});
