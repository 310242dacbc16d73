// Merge patch and JSON Patch: the examples of both RFCs, unchanged parts, and limits.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { scanJson } from "../../src/lib/json/scan.ts";
import { isObject, writeTree } from "../../src/lib/json/tree.ts";
import { applyPatch, maxOperations, type PatchKind } from "../../src/model/patch.ts";
import { Problem } from "../../src/model/problem.ts";
import fc from "../fast-check.ts";
import { anyObject, errorsOf, write } from "./random-json.ts";
import { applyOperations, type Json, mergePatch, type Operation } from "./reference-patch.ts";

const roomy = 100_000;

function patch(kind: PatchKind, document: string, text: string, maxChars = roomy): string {
  const result = applyPatch(kind, document, text, maxChars);
  assert.ok(!(result instanceof Problem), JSON.stringify(result));
  const written = writeTree(result.tree);
  // What is not scanned again must not need it.
  if (result.isStrict) assert.deepEqual(scanJson(written), []);
  return written;
}

function rejectionOf(kind: PatchKind, document: string, text: string, maxChars = roomy): Problem {
  const problem = applyPatch(kind, document, text, maxChars);
  assert.ok(problem instanceof Problem, `it was patched: ${text.slice(0, 200)}`);
  return problem;
}

describe("a merge patch", () => {
  const appendix: readonly [original: string, merged: string, result: string][] = [
    ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
    ['{"a":"b"}', '{"a":null}', "{}"],
    ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
    ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
    ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
    ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
    ['["a","b"]', '["c","d"]', '["c","d"]'],
    ['{"a":"b"}', '["c"]', '["c"]'],
    ['{"a":"foo"}', "null", "null"],
    ['{"a":"foo"}', '"bar"', '"bar"'],
    ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
    ["[1,2]", '{"a":"b","c":null}', '{"a":"b"}'],
    ["{}", '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
  ];
  for (const [original, merged, result] of appendix)
    it(`(RFC 7396 A) ${original} + ${merged} → ${result}`, () =>
      assert.equal(patch("merge", original, merged), result));

  it("keeps what it does not name as it was written, and where it was", () => {
    const original = '{"10":1.0,"\\u0061":"\\/\\u00e9","9":-0,"b":{"\\u0063":1E2,"d":[1.50]}}';
    const merged = ' { "b" : { "e" : 2.0 } , "9" : 5 } ';
    const result = '{"10":1.0,"\\u0061":"\\/\\u00e9","9":5,"b":{"\\u0063":1E2,"d":[1.50],"e":2.0}}';
    assert.equal(patch("merge", original, merged), result);
  });

  it("compares names, however they are escaped", () => {
    assert.equal(patch("merge", '{"\\u0061":1,"b":2}', '{"a":null,"\\u0062":3}'), '{"b":3}');
  });

  it("cannot change a prototype by a name", () => {
    const merged = '{"constructor":{"prototype":{"polluted":1}},"toString":null}';
    assert.equal(
      patch("merge", '{"toString":1}', merged),
      '{"constructor":{"prototype":{"polluted":1}}}',
    );
    assert.equal(({} as Record<string, unknown>).polluted, undefined);
  });

  it("has the result of RFC 7396 §2 for random documents", () => {
    fc.assert(
      fc.property(anyObject, anyObject, (original, by) => {
        fc.pre(errorsOf(original).size + errorsOf(by).size === 0);
        const [document, text] = [write(original), write(by)];
        const expected = mergePatch(JSON.parse(document), JSON.parse(text));
        assert.deepEqual(JSON.parse(patch("merge", document, text)), expected);
        assert.equal(patch("merge", document, "{}"), document);
      }),
    );
  });
});

describe("a JSON Patch", () => {
  const appendix: readonly [title: string, original: string, operations: string, result: string][] =
    [
      [
        "A.1 adds an object member",
        '{"foo":"bar"}',
        '[{"op":"add","path":"/baz","value":"qux"}]',
        '{"foo":"bar","baz":"qux"}',
      ],
      [
        "A.2 adds an array element",
        '{"foo":["bar","baz"]}',
        '[{"op":"add","path":"/foo/1","value":"qux"}]',
        '{"foo":["bar","qux","baz"]}',
      ],
      [
        "A.3 removes an object member",
        '{"baz":"qux","foo":"bar"}',
        '[{"op":"remove","path":"/baz"}]',
        '{"foo":"bar"}',
      ],
      [
        "A.4 removes an array element",
        '{"foo":["bar","qux","baz"]}',
        '[{"op":"remove","path":"/foo/1"}]',
        '{"foo":["bar","baz"]}',
      ],
      [
        "A.5 replaces a value",
        '{"baz":"qux","foo":"bar"}',
        '[{"op":"replace","path":"/baz","value":"boo"}]',
        '{"baz":"boo","foo":"bar"}',
      ],
      [
        "A.6 moves a value",
        '{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}',
        '[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]',
        '{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}',
      ],
      [
        "A.7 moves an array element",
        '{"foo":["all","grass","cows","eat"]}',
        '[{"op":"move","from":"/foo/1","path":"/foo/3"}]',
        '{"foo":["all","cows","eat","grass"]}',
      ],
      [
        "A.8 tests a value",
        '{"baz":"qux","foo":["a",2,"c"]}',
        '[{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}]',
        '{"baz":"qux","foo":["a",2,"c"]}',
      ],
      [
        "A.10 adds a nested object",
        '{"foo":"bar"}',
        '[{"op":"add","path":"/child","value":{"grandchild":{}}}]',
        '{"foo":"bar","child":{"grandchild":{}}}',
      ],
      [
        "A.11 ignores members it does not know",
        '{"foo":"bar"}',
        '[{"op":"add","path":"/baz","value":"qux","xyz":123}]',
        '{"foo":"bar","baz":"qux"}',
      ],
      [
        "A.14 orders the escapes of ~",
        '{"/":9,"~1":10}',
        '[{"op":"test","path":"/~01","value":10}]',
        '{"/":9,"~1":10}',
      ],
      [
        "A.16 adds an array as a value",
        '{"foo":["bar"]}',
        '[{"op":"add","path":"/foo/-","value":["abc","def"]}]',
        '{"foo":["bar",["abc","def"]]}',
      ],
      [
        "4.1 add replaces a member that is there, in its place",
        '{"a":1,"b":2}',
        '[{"op":"add","path":"/a","value":3}]',
        '{"a":3,"b":2}',
      ],
      [
        "4.1 adds at the end by index",
        '{"a":[1]}',
        '[{"op":"add","path":"/a/1","value":2}]',
        '{"a":[1,2]}',
      ],
      [
        "4.1 adds the whole document",
        '{"a":1}',
        '[{"op":"add","path":"","value":{"b":2}}]',
        '{"b":2}',
      ],
      [
        "4.3 replaces the whole document",
        '{"a":1}',
        '[{"op":"replace","path":"","value":[]}]',
        "[]",
      ],
      [
        "4.5 copies, and the copy is another",
        '{"a":{"n":[1]}}',
        '[{"op":"copy","from":"/a","path":"/b"},{"op":"add","path":"/b/n/-","value":2}]',
        '{"a":{"n":[1]},"b":{"n":[1,2]}}',
      ],
      [
        "4.5 copies the document into itself",
        '{"a":1}',
        '[{"op":"copy","from":"","path":"/b"}]',
        '{"a":1,"b":{"a":1}}',
      ],
      [
        "4.4 moves onto itself",
        '{"a":1,"b":2}',
        '[{"op":"move","from":"/b","path":"/b"}]',
        '{"a":1,"b":2}',
      ],
      [
        "has an empty name",
        '{"":{"":1}}',
        '[{"op":"replace","path":"//","value":2}]',
        '{"":{"":2}}',
      ],
      [
        "tests null, and what is equal but written otherwise",
        '{"n":null,"x":1.0,"s":"\\u0061"}',
        '[{"op":"test","path":"/n","value":null},{"op":"test","path":"/x","value":1},{"op":"test","path":"/s","value":"a"}]',
        '{"n":null,"x":1.0,"s":"\\u0061"}',
      ],
      ["does nothing when it is empty", '{"a":1.0}', "[]", '{"a":1.0}'],
    ];
  for (const [title, original, operations, result] of appendix)
    it(`(RFC 6902) ${title}`, () => assert.equal(patch("json", original, operations), result));

  const unfit: readonly [title: string, original: string, operations: string][] = [
    ["A.9 a test that fails", '{"baz":"qux"}', '[{"op":"test","path":"/baz","value":"bar"}]'],
    [
      "A.12 a target that is nowhere",
      '{"foo":"bar"}',
      '[{"op":"add","path":"/baz/bat","value":"qux"}]',
    ],
    [
      "A.15 a string that looks like the number",
      '{"/":9,"~1":10}',
      '[{"op":"test","path":"/~01","value":"10"}]',
    ],
    ["a test of nothing", "{}", '[{"op":"test","path":"/a","value":null}]'],
    ["removing nothing", '{"a":1}', '[{"op":"remove","path":"/b"}]'],
    ["removing the document", '{"a":1}', '[{"op":"remove","path":""}]'],
    ["replacing nothing", '{"a":1}', '[{"op":"replace","path":"/b","value":1}]'],
    ["copying nothing", '{"a":1}', '[{"op":"copy","from":"/b","path":"/c"}]'],
    ["moving nothing", '{"a":1}', '[{"op":"move","from":"/b","path":"/c"}]'],
    ["moving to nowhere", '{"a":1}', '[{"op":"move","from":"/a","path":"/b/c"}]'],
    ["an index past the end", '{"a":[1]}', '[{"op":"add","path":"/a/2","value":1}]'],
    ["an index with a leading zero", '{"a":[1,2]}', '[{"op":"remove","path":"/a/01"}]'],
    ["a negative index", '{"a":[1,2]}', '[{"op":"remove","path":"/a/-1"}]'],
    ["an index that is a number otherwise", '{"a":[1,2]}', '[{"op":"remove","path":"/a/1e0"}]'],
    ["the length of an array", '{"a":[1,2]}', '[{"op":"test","path":"/a/length","value":2}]'],
    ["removing what comes after the last", '{"a":[1]}', '[{"op":"remove","path":"/a/-"}]'],
    [
      "replacing what comes after the last",
      '{"a":[1]}',
      '[{"op":"replace","path":"/a/-","value":1}]',
    ],
    ["going into a scalar", '{"a":"xyz"}', '[{"op":"test","path":"/a/0","value":"x"}]'],
    ["adding to a scalar", '{"a":1}', '[{"op":"add","path":"/a/b","value":1}]'],
    ["a prototype", "{}", '[{"op":"test","path":"/constructor","value":1}]'],
    ["a prototype's member", "{}", '[{"op":"add","path":"/__proto__/polluted","value":1}]'],
  ];
  for (const [title, original, operations] of unfit) {
    it(`does not apply: ${title}`, () => {
      const { kind, errors } = rejectionOf("json", original, operations);
      assert.equal(kind, "conflict");
      assert.deepEqual(
        errors?.map((error) => "pointer" in error && error.pointer),
        ["/0"],
      );
    });
  }

  it("says which operation failed", () => {
    const operations =
      '[{"op":"add","path":"/b","value":1},{"op":"remove","path":"/a"},{"op":"remove","path":"/a"}]';
    const { errors } = rejectionOf("json", '{"a":1}', operations);
    assert.deepEqual(errors, [{ pointer: "/2", detail: "remove: the path does not exist" }]);
  });

  const malformed: readonly [operations: string, pointers: readonly string[]][] = [
    ['{"op":"add","path":"/a","value":1}', [""]],
    ['"add"', [""]],
    ["[1,[],null]", ["/0", "/1", "/2"]],
    ["[{}]", ["/0/path", "/0/op"]],
    [
      '[{"op":"add","path":"/a"},{"op":"copy","path":"/a"},{"op":"spam","path":"/a"}]',
      ["/0/value", "/1/from", "/2/op"],
    ],
    [
      '[{"op":"test","path":"a","value":1},{"op":"remove","path":"/a~2"},{"op":"remove","path":"/~"}]',
      ["/0/path", "/1/path", "/2/path"],
    ],
    ['[{"op":5,"path":["a"]}]', ["/0/path", "/0/op"]],
    ['[{"op":"Add","path":"/a","value":1}]', ["/0/op"]],
    ['[{"op":"constructor","path":"/a","value":1}]', ["/0/op"]],
    [
      '[{"op":"move","from":"/a","path":"/a/b"},{"op":"move","from":"","path":"/a"}]',
      ["/0/path", "/1/path"],
    ],
  ];
  for (const [operations, pointers] of malformed) {
    it(`must not be ${operations}`, () => {
      const { kind, errors } = rejectionOf("json", '{"a":{"b":1}}', operations);
      assert.equal(kind, "invalid-body");
      assert.deepEqual(
        errors?.map((error) => "pointer" in error && error.pointer),
        pointers,
      );
    });
  }

  it(`has at most ${maxOperations} operations`, () => {
    const many = (count: number) =>
      JSON.stringify(Array(count).fill({ op: "replace", path: "/a", value: 2 }));
    assert.equal(patch("json", '{"a":1}', many(maxOperations)), '{"a":2}');
    assert.equal(rejectionOf("json", '{"a":1}', many(maxOperations + 1)).kind, "invalid-body");
  });

  it("keeps what it does not name as it was written, and where it was", () => {
    const original = '{"10":1.0,"\\u0061":"\\/\\u00e9","9":-0,"b":{"\\u0063":1E2,"d":[1.50,2]}}';
    const operations =
      '[{"op":"replace","path":"/b/d/1","value":3.0},{"op":"copy","from":"/b","path":"/e"}]';
    const result =
      '{"10":1.0,"\\u0061":"\\/\\u00e9","9":-0,"b":{"\\u0063":1E2,"d":[1.50,3.0]},"e":{"\\u0063":1E2,"d":[1.50,3.0]}}';
    assert.equal(patch("json", original, operations), result);
  });
});

describe("a patch that grows the document", () => {
  const bomb = (operation: (count: number) => unknown, count = maxOperations): string =>
    JSON.stringify(Array.from({ length: count }, (_, index) => operation(index)));
  const bombs: Readonly<Record<string, string>> = {
    "doubles the document with every copy": bomb(() => ({ op: "copy", from: "", path: "/a" })),
    "doubles an array with every copy": bomb(() => ({ op: "copy", from: "/l", path: "/l/-" })),
    "copies what is large again and again": bomb((count) => ({
      op: "copy",
      from: "/big",
      path: `/${count}`,
    })),
    "nests by copies": bomb(
      (count) => ({ op: "copy", from: "/n", path: `/n${"/n".repeat(2 ** count)}` }),
      16,
    ),
    "nests by additions": bomb(
      (count) => ({
        op: "add",
        path: `/deep${"/0".repeat(count * 50)}`,
        value: JSON.parse("[".repeat(51) + "]".repeat(51)),
      }),
      100,
    ),
    "nests by moves": bomb((count) => {
      const turn = Math.floor(count / 2);
      return count % 2 === 0
        ? { op: "add", path: `/t${turn}`, value: {} }
        : { op: "move", from: turn === 0 ? "/n" : `/t${turn - 1}`, path: `/t${turn}/x` };
    }),
  };
  const document = JSON.stringify({ l: [1], n: { n: {} }, big: "x".repeat(20_000) });
  for (const [title, operations] of Object.entries(bombs)) {
    it(`is rejected when it ${title}`, () => {
      const result = applyPatch("json", document, operations, roomy);
      assert.ok(result instanceof Problem);
      assert.equal(result.kind, "invalid-body", JSON.stringify(result));
      assert.match(JSON.stringify(result.errors), /copies too much|deeper than 64/);
    });
  }

  it("by nesting is rejected only beyond the limit", () => {
    const nest = (depth: number) => JSON.parse(`${"[".repeat(depth)}${"]".repeat(depth)}`);
    const at = (path: string, depth: number) =>
      JSON.stringify([{ op: "add", path, value: nest(depth) }]);
    const half = `{"a":${JSON.stringify(nest(30))}}`;
    const deepest = `/a${"/0".repeat(29)}/-`;
    patch("json", half, at(deepest, 33));
    const { kind, errors } = rejectionOf("json", half, at(deepest, 34));
    assert.equal(kind, "invalid-body");
    assert.deepEqual(errors, [
      { pointer: "", detail: "the result is nested deeper than 64 levels" },
    ]);
  });

  it("is accepted while all copies are within the limit", () => {
    const copies = (count: number) =>
      JSON.stringify(
        Array.from({ length: count }, (_, index) => ({
          op: "copy",
          from: "/big",
          path: `/${index}`,
        })),
      );
    const big = `{"big":"${"x".repeat(998)}"}`;
    assert.equal(Object.keys(JSON.parse(patch("json", big, copies(5), 5_000))).length, 6);
    const { errors } = rejectionOf("json", big, copies(6), 5_000);
    assert.deepEqual(errors, [{ pointer: "/5", detail: "this copies too much data" }]);
  });
});

describe("a patch of a large document", () => {
  const many = (count: number) => `{"deep":{"list":[${Array(count).fill('{"a":[1]}').join(",")}]}}`;
  const first = (result: ReturnType<typeof applyPatch>): unknown => {
    assert.ok(!(result instanceof Problem));
    return isObject(result.tree) ? [...result.tree.members.values()][0] : undefined;
  };

  it("does not read what it does not name", () => {
    assert.equal(typeof first(applyPatch("merge", many(1000), "{}", roomy)), "string");
    assert.equal(typeof first(applyPatch("merge", many(1000), '{"deep":[]}', roomy)), "object");
    const named = '[{"op":"add","path":"/other","value":1}]';
    assert.equal(typeof first(applyPatch("json", many(1000), named, roomy)), "string");
  });

  it("is checked again when an object may have too many members", () => {
    const members = (name: string, count: number) =>
      `{${Array.from({ length: count }, (_, index) => `"${name}${index}":1`).join(",")}}`;
    const isStrict = (document: string, text: string) => {
      const result = applyPatch("merge", document, text, roomy);
      return !(result instanceof Problem) && result.isStrict;
    };
    assert.ok(isStrict(members("a", 999), '{"b":1}'));
    assert.ok(!isStrict(members("a", 1000), '{"b":1}'));
    assert.ok(!isStrict(`{"in":${members("a", 600)}}`, `{"in":${members("b", 600)}}`));
    assert.ok(isStrict(`{"in":${members("a", 600)}}`, `{"other":${members("b", 600)}}`));
    assert.ok(!isStrict('{"a":1}', "[]"));
  });

  it("moves a limited number of array items", () => {
    const operations = (count: number, path: string) =>
      JSON.stringify(Array(count).fill({ op: "add", path: `/deep/list/${path}`, value: 1 }));
    patch("json", many(50_000), operations(150, "0"));
    patch("json", many(50_000), operations(1000, "-"));
    const { errors } = rejectionOf("json", many(50_000), operations(1000, "0"));
    assert.match(JSON.stringify(errors), /shifts too many items/);
    const turns = Array(1000).fill({ op: "move", from: "/deep/list/0", path: "/deep/list/-" });
    rejectionOf("json", many(50_000), JSON.stringify(turns));
  });
});

describe("a random sequence of operations", () => {
  const paths = ["", "/a", "/b", "/a/0", "/a/1", "/a/-", "/a/b", "/b/a", "/b/a/0", "/~0~1"];
  const path = fc.constantFrom(...paths);
  const value = fc.constantFrom<Json>(null, 1, "x", [], [1, [2]], {}, { a: [1] }, { b: { a: 1 } });
  const operation: fc.Arbitrary<Operation> = fc.oneof(
    fc.record({ op: fc.constantFrom("add", "replace", "test"), path, value }),
    fc.record({ op: fc.constantFrom("move", "copy"), path, from: path }),
    fc.record({ op: fc.constant("remove"), path }),
  );

  it("has the result of RFC 6902, up to the first operation that fails", () => {
    fc.assert(
      fc.property(value, fc.array(operation, { maxLength: 8 }), (start, operations) => {
        const isIntoItself = (each: Operation) =>
          each.op === "move" && each.path.startsWith(`${each.from}/`);
        fc.pre(!operations.some(isIntoItself));
        const expected = applyOperations(start, operations);
        const result = applyPatch("json", JSON.stringify(start), JSON.stringify(operations), roomy);
        if (expected === undefined) {
          assert.ok(result instanceof Problem && result.kind === "conflict");
        } else {
          assert.ok(!(result instanceof Problem), JSON.stringify(result));
          assert.deepEqual(JSON.parse(writeTree(result.tree)), expected);
        }
      }),
      { numRuns: 500 },
    );
  });
});
