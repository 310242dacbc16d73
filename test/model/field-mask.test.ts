// Named fields, and what a caller changes in a document of which it sees a part.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readTree, type Tree, writeTree } from "../../src/lib/json/tree.ts";
import {
  changedPaths,
  isInMask,
  maskOf,
  outsideOf,
  withUnseen,
} from "../../src/model/access/field-mask.ts";
import { projectionOf } from "../../src/model/query/projection.ts";
import fc from "../fast-check.ts";
import { newSeed, runs } from "../seeds.ts";

const tree = (value: unknown): Tree | undefined =>
  value === undefined ? undefined : readTree(JSON.stringify(value));
const plain = (value: Tree | undefined): unknown => value && JSON.parse(writeTree(value));

describe("a list of fields", () => {
  const mask = maskOf(["title", "address.city", "items[].price"]);
  it("names values and what is in them", () => {
    for (const path of [["title"], ["title", "a"], ["address", "city"], ["items", "price"]])
      assert.equal(isInMask(mask, path), true, path.join());
    for (const path of [["body"], ["address"], ["address", "zip"], ["address.city"], ["titles"]])
      assert.equal(isInMask(mask, path), false, path.join());
    assert.equal(isInMask(undefined, ["anything"]), true);
    assert.equal(isInMask(maskOf([]), ["anything"]), false);
  });

  it("tells the outermost value that it names nothing in", () => {
    assert.deepEqual(outsideOf(mask, ["body", "a", "b"]), ["body"]);
    assert.deepEqual(outsideOf(mask, ["address", "zip", "a"]), ["address", "zip"]);
    assert.deepEqual(outsideOf(mask, ["address"]), ["address"]);
    assert.equal(outsideOf(mask, ["address", "city", "a"]), undefined);
  });
});

describe("changed paths", () => {
  const cases: readonly (readonly [before: unknown, after: unknown, paths: readonly string[]])[] = [
    [{ a: 1 }, { a: 1.0 }, []],
    [{ a: 1, b: 2 }, { b: 2, a: 1 }, []],
    [{ a: 1 }, { a: 2 }, ["a"]],
    [{ a: 1 }, {}, ["a"]],
    [{}, { a: null }, ["a"]],
    [{ a: { b: 1, c: 2 } }, { a: { b: 1, c: 3 } }, ["a.c"]],
    [{ a: { b: 1, c: 2 } }, {}, ["a.b", "a.c"]],
    [{}, { a: { b: { c: 1 } } }, ["a.b.c"]],
    [{}, { a: {} }, ["a"]],
    [{ a: {} }, { a: {} }, []],
    [{ a: { b: 1 } }, { a: 1 }, ["a"]],
    [{ a: [1, 2] }, { a: [2, 1] }, ["a"]],
    [{ a: [{ b: 1 }] }, { a: [{ b: 1 }] }, []],
  ];
  for (const [before, after, paths] of cases)
    it(`of ${JSON.stringify(before)} and ${JSON.stringify(after)}`, () => {
      const found = changedPaths(tree(before), tree(after)).map((path) => path.join("."));
      assert.deepEqual(found.sort(), [...paths].sort());
    });
});

describe("what a caller does not see", () => {
  const before = { a: 1, b: { c: 2, d: 3 }, e: [{ f: 1, g: 2 }] };
  const cases: readonly (readonly [seen: unknown, sent: unknown, stored: unknown])[] = [
    [{ a: 1 }, { a: 2 }, { ...before, a: 2 }],
    [{ a: 1 }, {}, { b: before.b, e: before.e }],
    [{ b: { c: 2 } }, { b: { c: 5 } }, { ...before, b: { c: 5, d: 3 } }],
    [{ b: { c: 2 } }, {}, { ...before, b: { d: 3 } }],
    [{ b: { c: 2 } }, { b: 1 }, { ...before, b: 1 }],
    [{}, { b: { c: 9 } }, { ...before, b: { c: 9, d: 3 } }],
    [{ e: [{ f: 1 }] }, { e: [{ f: 1 }] }, before],
    [{ e: [{ f: 1 }] }, { e: [{ f: 2 }] }, { ...before, e: [{ f: 2 }] }],
    [{}, { h: 1 }, { ...before, h: 1 }],
    [before, {}, {}],
  ];
  for (const [seen, sent, stored] of cases)
    it(`stays when it sees ${JSON.stringify(seen)} and sends ${JSON.stringify(sent)}`, () => {
      assert.deepEqual(plain(withUnseen(tree(sent), tree(before), tree(seen))), stored);
    });

  it("stays in every document that is sent back as it was seen", () => {
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom(1, "x", null, true),
        fc.array(tie("any"), { maxLength: 2 }),
        tie("object"),
      ),
      object: fc.dictionary(fc.constantFrom("a", "b", "c"), tie("any"), { maxKeys: 3 }),
    }));
    const field = fc
      .array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 3 })
      .map((steps) => steps.join("."));
    fc.assert(
      fc.property(value.object, fc.array(field, { maxLength: 4 }), (whole, fields) => {
        const text = JSON.stringify(whole);
        const seen = readTree(projectionOf(fields)(text));
        assert.deepEqual(plain(withUnseen(seen, readTree(text), seen)), JSON.parse(text));
        assert.deepEqual(changedPaths(seen, seen), []);
        const mask = maskOf(fields);
        for (const path of changedPaths(tree({}), seen)) assert.ok(isInMask(mask, path));
      }),
      { numRuns: runs(300, 20_000), seed: newSeed("unseen fields") },
    );
  });
});
