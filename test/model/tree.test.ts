// JSON trees: written as they were read, and compared without losing precision.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  copyTree,
  isObject,
  readTree,
  sameTree,
  sizeOf,
  textOf,
  writeTree,
} from "../../src/lib/json/tree.ts";
import fc from "../fast-check.ts";
import { anyObject, anySpacing, errorsOf, write } from "./random-json.ts";

describe("a tree", () => {
  const texts: readonly string[] = [
    "null",
    "-0.10E+2",
    '"\\u0041\\/\\ud83d\\ude00 \\" \\\\"',
    "[]",
    "{}",
    "[[],{},[[]]]",
    '{"10":1.0,"9":1e2,"a":{"":[null,true,false]}}',
    '{"\\u0061":1,"\\/":2,"é":3,"\\u00e9\\\\":4}',
    '{"constructor":1,"toString":{"prototype":2}}',
    '{"a":"}]{[,:\\"","b":"\\\\"}',
  ];
  for (const text of texts)
    it(`is written as it was read: ${text}`, () => assert.equal(writeTree(readTree(text)), text));

  it("is written as it was read, without the whitespace, for random documents", () => {
    fc.assert(
      fc.property(anyObject, anySpacing, (object, spacing) => {
        fc.pre(errorsOf(object).size === 0);
        const compact = write(object);
        const tree = readTree(write(object, spacing));
        assert.equal(writeTree(tree), compact);
        assert.equal(writeTree(copyTree(tree)), compact);
        assert.ok(sameTree(tree, copyTree(tree)));
      }),
    );
  });

  it("is copied completely: a change to the copy does not affect it", () => {
    const text = '{"\\u0061":[{"b":1}]}';
    const tree = readTree(text);
    const copy = copyTree(tree);
    assert.ok(isObject(copy));
    const list = copy.members.get("a");
    assert.ok(typeof list === "object" && list.kind === "array");
    list.items.push("2");
    copy.members.delete("a");
    assert.equal(writeTree(tree), text);
  });

  it("returns the text of members that are strings, and of no others", () => {
    const tree = readTree('{"a":"\\u0062","c":5,"d":null,"e":["x"]}');
    assert.ok(isObject(tree));
    assert.equal(textOf(tree, "a"), "b");
    for (const name of ["c", "d", "e", "f", "constructor"])
      assert.equal(textOf(tree, name), undefined);
  });
});

describe("equality (RFC 6902 §4.6)", () => {
  const same: readonly [a: string, b: string][] = [
    ["1", "1.0"],
    ["100", "1e2"],
    ["-0", "0"],
    ['"a"', '"\\u0061"'],
    ['{"a":1,"b":2}', '{"b":2,"\\u0061":1}'],
    ["[1,[2]]", "[1.0,[2]]"],
    ["null", "null"],
  ];
  for (const [a, b] of same)
    it(`${a} equals ${b}`, () => assert.ok(sameTree(readTree(a), readTree(b))));

  const different: readonly [a: string, b: string][] = [
    ["1", '"1"'],
    ["null", "false"],
    ["null", '"null"'],
    ["0", "false"],
    ["[]", "{}"],
    ["[1,2]", "[2,1]"],
    ["[1]", "[1,1]"],
    ["[[]]", "[null]"],
    ['{"a":1}', '{"a":1,"b":null}'],
    ['{"a":1}', '{"b":1}'],
    ['{"a":null}', '{"b":null}'],
    ['"é"', '"e\\u0301"'],
  ];
  for (const [a, b] of different) {
    it(`${a} does not equal ${b}`, () => {
      assert.ok(!sameTree(readTree(a), readTree(b)));
      assert.ok(!sameTree(readTree(b), readTree(a)));
    });
  }
});

describe("the size of a tree", () => {
  it("is about that of its text", () => {
    fc.assert(
      fc.property(anyObject, (object) => {
        fc.pre(errorsOf(object).size === 0);
        const plain = JSON.stringify(JSON.parse(write(object)));
        const size = sizeOf(readTree(plain), 64);
        assert.ok(size >= plain.length / 6 && size <= plain.length * 2, `${size}: ${plain}`);
      }),
    );
  });

  it("is infinite when it is nested deeper than the limit", () => {
    const nest = (depth: number) => readTree("[".repeat(depth) + "]".repeat(depth));
    assert.ok(sizeOf(nest(5), 5) < 20);
    assert.equal(sizeOf(nest(6), 5), Number.POSITIVE_INFINITY);
    assert.equal(sizeOf(readTree('{"a":{"b":[1]}}'), 2), Number.POSITIVE_INFINITY);
    assert.ok(sizeOf(readTree('{"a":{"b":1}}'), 2) < 20);
  });
});
