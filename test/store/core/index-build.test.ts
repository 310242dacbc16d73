// What is built when a definition changes while the indexes of another one are built.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  cleared,
  phaseOf,
  planBuild,
  returnDefinition,
  type StoredBuild,
  withoutClashes,
} from "../../../src/store/core/index-build.ts";

const searchable = '{"searchable":["t"]}';

/** A build for a definition without search, after the words of the former one are deleted. */
function withoutWords(definition: string): StoredBuild {
  const build = planBuild({ definition: searchable, build: undefined }, definition, 10);
  assert.ok(build?.state.areWordsStale);
  const state = cleared(build.state);
  assert.notEqual(phaseOf(state), "none");
  return { ...build, state };
}

describe("planBuild", () => {
  it("builds words again that were deleted for a definition in between", () => {
    const between = '{"unique":["n"]}';
    const build = withoutWords(between);
    const next = planBuild({ definition: between, build }, searchable, 10);
    assert.equal(next?.state.isSearchBuilt, true);
  });

  it("builds words again when the former definition comes back", () => {
    const between = '{"unique":["n"]}';
    const { former, state } = withoutWords(between);
    const failed = { former, state: { ...state, isBuilt: true, unique: ["\0"] } };
    const next = planBuild({ definition: between, build: failed }, searchable, 10);
    assert.equal(next?.state.isSearchBuilt, true);
  });

  it("keeps words that both definitions have", () => {
    const between = '{"searchable":["t"],"unique":["n"]}';
    const build = planBuild({ definition: searchable, build: undefined }, between, 10);
    assert.equal(build?.state.isSearchBuilt, false);
    const next = planBuild({ definition: between, build }, searchable, 10);
    assert.notEqual(next?.state.isSearchBuilt, true);
    assert.notEqual(next?.state.areWordsStale, true);
  });
});

describe("the definition that comes back when values are not unique", () => {
  const rows = 10;
  const next = (definition: string, build: StoredBuild | undefined, after: string) => {
    const planned = planBuild({ definition, build }, after, rows);
    assert.ok(planned);
    return planned;
  };
  const [first, indexed, unique] = ["{}", '{"indexed":["n"]}', '{"indexed":["n"],"unique":["m"]}'];

  it("is the last one, also when its index is not complete", () => {
    const build = next(first, undefined, indexed);
    assert.equal(returnDefinition(build), first);
    const last = next(indexed, build, unique);
    assert.equal(returnDefinition(last), indexed);
    const failed = { ...last, state: { ...last.state, isBuilt: true, unique: ["\0"] } };
    const { former, state } = next(unique, failed, indexed);
    assert.deepEqual([former, state.built, state.unique, state.back], ["", ["n"], [], undefined]);
  });

  it("is none whose own values are still to be compared", () => {
    const build = next(first, undefined, unique);
    const last = next(unique, build, '{"unique":["m"],"searchable":["t"]}');
    assert.equal(returnDefinition(last), first);
    const again = next('{"unique":["m"],"searchable":["t"]}', last, indexed);
    assert.equal(returnDefinition(again), first);
  });
});

describe("withoutClashes", () => {
  const plan = planBuild({ definition: "{}", build: undefined }, '{"unique":["n"]}', 10);
  assert.ok(plan);
  const clashes = [
    { index: "n", ids: ["a", "b"] as const },
    { index: "n", ids: ["c", "d"] as const },
  ];
  const build: StoredBuild = { ...plan, state: { ...plan.state, clashes } };

  it("forgets the pairs with one of the resources", () => {
    assert.deepEqual(withoutClashes(build, new Set(["b"])).state.clashes, [clashes[1]]);
  });

  it("returns the same build when it has none of them", () => {
    assert.equal(withoutClashes(build, new Set(["n"])), build);
  });
});
