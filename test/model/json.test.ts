// Strict JSON parsing: what is accepted, and the position and message of each error.
// @runtimes both

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { reportLimits } from "../../src/lib/json/error-report.ts";
import { jsonLimits, scanObject } from "../../src/lib/json/scan.ts";
import type { FieldError } from "../../src/model/problem.ts";
import fc, { anyText } from "../fast-check.ts";
import { anyObject, anySpacing, type ErrorKind, errorsOf, write } from "./random-json.ts";

function faultsIn(text: string): readonly FieldError[] {
  const scanned = scanObject(text);
  return "members" in scanned ? [] : scanned;
}

const kinds: Readonly<Record<ErrorKind, RegExp>> = {
  surrogate: /surrogate/,
  prototype: /__proto__ is not accepted/,
  repeated: /more than once/,
  inexact: /would be read as/,
};

const kindOf = ({ detail }: FieldError): string =>
  Object.entries(kinds).find(([, words]) => words.test(detail))?.[0] ?? detail;

const isMalformed = (text: string): boolean =>
  faultsIn(text).some(({ detail }) => detail.startsWith("malformed JSON"));

describe("valid JSON", () => {
  const accepted: readonly [what: string, text: string][] = [
    ["nothing in it", "{}"],
    ["every kind of value", '{"a":null,"b":true,"c":false,"d":"","e":0,"f":[],"g":{}}'],
    ["whitespace wherever it may be", ' \t\r\n{ "a" : [ 1 , 2 ] , "b" : { } }\n'],
    ["every escape", String.raw`{"a":"\"\\\/\b\f\n\r\t\u0000\u00e4\uABCD"}`],
    ["the highest control character and the separators of lines", '{"a":"\u007f\u2028\u2029"}'],
    ["a surrogate pair, raw and escaped", '{"a":"😀\\ud83d\\ude00","😀":1}'],
    ["numbers that keep their value in another spelling", '{"a":[-0,1.0,1e2,1E+2,0.50,-1.5e-7]}'],
    ["the largest and the smallest double", '{"a":[1.7976931348623157e308,5e-324]}'],
    ["zero, however it is written", '{"a":[0e999,-0.0e-999,0.00000000000000000000000]}'],
    [
      "names that are ordinary words",
      '{"constructor":1,"prototype":2,"toString":3,"hasOwnProperty":4}',
    ],
    ["the same name in different objects", '{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]}'],
    ["names that differ in case or in form", '{"a":1,"A":2,"\u00e4":3,"a\u0308":4}'],
    ["an empty name", '{"":1}'],
  ];
  for (const [what, text] of accepted) it(what, () => assert.deepEqual(faultsIn(text), []));

  it("returns the outermost members, decoded, and their positions", () => {
    const text = String.raw`{ "a":1, "\u0062" : {"c":[2]} }`;
    const scanned = scanObject(text);
    assert.ok("members" in scanned);
    const seen = scanned.members.map(({ name, start, valueStart, end }) => [
      name,
      text.slice(start, end),
      text.slice(valueStart, end),
    ]);
    assert.deepEqual(seen, [
      ["a", '"a":1', "1"],
      ["b", String.raw`"\u0062" : {"c":[2]}`, '{"c":[2]}'],
    ]);
  });

  it("returns every run of whitespace outside strings", () => {
    const scanned = scanObject('{ "a b":[1,\n\t2] }\r\n');
    assert.ok("members" in scanned);
    const compact = scanObject('{"a":[1]}');
    assert.deepEqual("gaps" in compact && compact.gaps, []);
    assert.deepEqual(scanned.gaps, [1, 2, 11, 13, 15, 16, 17, 19]);
  });
});

describe("malformed JSON", () => {
  const malformed: readonly [text: string, line: number, column: number, words: string][] = [
    ["", 1, 1, "expected a value, but the text ends here"],
    [" \n", 2, 1, "expected a value, but the text ends here"],
    ["\ufeff{}", 1, 1, "expected a value"],
    ["{", 1, 2, "expected a member name in double quotes, but the text ends here"],
    ['{"a":1', 1, 7, 'expected a comma or "}", but the text ends here'],
    ['{"a":[1', 1, 8, 'expected a comma or "]", but the text ends here'],
    ['{\n  "a": 1\n  "b": 2\n}', 3, 3, 'expected a comma or "}"'],
    ['{"a":1,}', 1, 8, "expected a member name in double quotes"],
    ['{"a":[1,]}', 1, 9, "expected a value"],
    ['{"a":[1 2]}', 1, 9, 'expected a comma or "]"'],
    ["{'a':1}", 1, 2, "expected a member name in double quotes"],
    ["{a:1}", 1, 2, "expected a member name in double quotes"],
    ['{"a" 1}', 1, 6, "expected a colon"],
    ['{"a":}', 1, 6, "expected a value"],
    ['{"a":1} {}', 1, 9, "expected the end of the text"],
    ['{"a":1}\0', 1, 8, "expected the end of the text"],
    ['{"a":1} // a', 1, 9, "expected the end of the text"],
    ['{"a":nul}', 1, 6, "expected a value"],
    ['{"a":True}', 1, 6, "expected a value"],
    ['{"a":truefalse}', 1, 10, 'expected a comma or "}"'],
    ['{"a":NaN}', 1, 6, "expected a value"],
    ['{"a":Infinity}', 1, 6, "expected a value"],
    ['{"a":-Infinity}', 1, 7, "expected a digit"],
    ['{"a":+1}', 1, 6, "expected a value"],
    ['{"a":.5}', 1, 6, "expected a value"],
    ['{"a":1.}', 1, 8, "expected a digit"],
    ['{"a":-}', 1, 7, "expected a digit"],
    ['{"a":1e}', 1, 8, "expected a digit"],
    ['{"a":1e+}', 1, 9, "expected a digit"],
    ['{"a":01}', 1, 6, "a number must not have a leading zero"],
    ['{"a":-00}', 1, 7, "a number must not have a leading zero"],
    ['{"a":0x1}', 1, 7, 'expected a comma or "}"'],
    ['{"a":"b', 1, 8, "expected a closing quote, but the text ends here"],
    ['{"a":"\t"}', 1, 7, "a control character in a string must be escaped"],
    ['{"a":"\n"}', 1, 7, "a control character in a string must be escaped"],
    ['{"a":"\\x"}', 1, 7, "unknown escape"],
    ['{"a":"\\', 1, 7, "unknown escape"],
    ['{"a":"\\u12g4"}', 1, 7, "expected four hexadecimal digits after \\u"],
    ['{"a":"\\ud83d\\u"}', 1, 13, "expected four hexadecimal digits after \\u"],
    ['{"a":\u00a01}', 1, 6, "expected a value"],
    ['{"a":1\u000b}', 1, 7, 'expected a comma or "}"'],
  ];
  for (const [text, line, column, words] of malformed) {
    it(JSON.stringify(text), () => {
      assert.throws(() => JSON.parse(text));
      const detail = `malformed JSON at line ${line}, column ${column}: ${words}`;
      assert.deepEqual(faultsIn(text), [{ pointer: "", detail }]);
    });
  }

  it("keeps the errors before it", () => {
    assert.deepEqual(
      faultsIn('{"a":1,"a":1e400,"b":{').map(({ pointer }) => pointer),
      ["/a", "/a", ""],
    );
  });

  const frames: readonly [where: string, before: string, after: string][] = [
    ["as a value", '{"a":', "}"],
    ["in a string", '{"a":"', '"}'],
    ["in an escape", '{"a":"\\', '"}'],
    ["in a code of an escape", '{"a":"\\u00a', '"}'],
    ["in a number", '{"a":1', "1}"],
    ["between members", '{"a":1', '"b":1}'],
    ["behind the end", "{}", ""],
  ];
  for (const [where, before, after] of frames) {
    it(`agrees with JSON.parse on every character ${where}`, () => {
      for (let unit = 0; unit < 0x3000; unit++) {
        const text = before + String.fromCharCode(unit) + after;
        assert.equal(isMalformed(text), !parses(text), JSON.stringify(text));
      }
    });
  }

  it("agrees with JSON.parse on every text with a random change", () => {
    const change = fc.record({
      at: fc.nat(),
      removed: fc.nat({ max: 2 }),
      added: fc.oneof(
        fc.string({
          unit: fc.constantFrom(...'{}[]:,"\\u0123456789abcdeE+-. \n\ttrfnls'),
          maxLength: 2,
        }),
        anyText({ maxLength: 1 }),
      ),
    });
    const changes = fc.array(change, { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(anyObject, anySpacing, changes, (object, spacing, edits) => {
        const text = edits.reduce(
          (before, { at, removed, added }) => {
            const start = at % (before.length + 1);
            return before.slice(0, start) + added + before.slice(start + removed);
          },
          write(object, spacing),
        );
        assert.equal(isMalformed(text), !parses(text), text);
      }),
      { numRuns: 2000 },
    );
  });
});

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe("rejected JSON", () => {
  const rejected: readonly [text: string, ...errors: (readonly [pointer: string, ErrorKind])[]][] =
    [
      ['{"a":1,"a":1}', ["/a", "repeated"]],
      [String.raw`{"a":1,"\u0061":2}`, ["/a", "repeated"]],
      ['{"a":1,"a":2,"a":3}', ["/a", "repeated"]],
      ['{"a":1,"b":2,"a":3,"b":4}', ["/a", "repeated"], ["/b", "repeated"]],
      ['{"x":[0,{"a":{"b":1,"b":2}}]}', ["/x/1/a/b", "repeated"]],
      ['{"":{"":1,"":2}}', ["//", "repeated"]],
      ['{"a/b":{"m~n":1,"m~n":2}}', ["/a~1b/m~0n", "repeated"]],
      ['{"~1":1e400}', ["/~01", "inexact"]],
      ['{"a":12345678901234567890}', ["/a", "inexact"]],
      ['{"a":[1,1e400,-1e400]}', ["/a/1", "inexact"], ["/a/2", "inexact"]],
      ['{"a":{"b":0.1000000000000000055}}', ["/a/b", "inexact"]],
      [String.raw`{"a":"\ud800"}`, ["/a", "surrogate"]],
      [String.raw`{"a":"\udc00\ud800"}`, ["/a", "surrogate"]],
      [String.raw`{"a":"\udc00\udc00"}`, ["/a", "surrogate"]],
      [String.raw`{"a":"\ud800\ue000"}`, ["/a", "surrogate"]],
      ['{"a":"\udc00\udc00"}', ["/a", "surrogate"]],
      ['{"a":"\ud800\ue000"}', ["/a", "surrogate"]],
      [String.raw`{"a":"\ud83d\n\ude00"}`, ["/a", "surrogate"]],
      [String.raw`{"a":"\ud83d\ud83d\ude00"}`, ["/a", "surrogate"]],
      ['{"a":"\ud800"}', ["/a", "surrogate"]],
      ['{"a":"\ude00"}', ["/a", "surrogate"]],
      ['{"a":"\ud83d\\ude00"}', ["/a", "surrogate"]],
      ['{"a":"\\ud83d\ude00"}', ["/a", "surrogate"]],
      [String.raw`{"\ud800":1}`, ["/\ufffd", "surrogate"]],
      ['{"__proto__":{"admin":true}}', ["/__proto__", "prototype"]],
      [String.raw`{"a":[{"\u005f_proto__":1}]}`, ["/a/0/__proto__", "prototype"]],
    ];
  for (const [text, ...errors] of rejected) {
    it(JSON.stringify(text), () => {
      const found = faultsIn(text).map((error) => [error.pointer, kindOf(error)]);
      assert.deepEqual(found, errors);
    });
  }

  it("has a message with the value that a number would become", () => {
    assert.deepEqual(faultsIn('{"a":12345678901234567890}'), [
      {
        pointer: "/a",
        detail:
          "this number would be read as 12345678901234567000; only a string keeps the exact value",
      },
    ]);
  });

  it("has exactly the errors of random documents, however they are written", () => {
    fc.assert(
      fc.property(anyObject, anySpacing, (object, spacing) => {
        const found = faultsIn(write(object, spacing));
        const names = new Set(found.map((error) => `${kindOf(error)} ${error.pointer}`));
        const expected = errorsOf(object);
        if (found.length < reportLimits.maxErrors) assert.deepEqual(names, expected);
        else assert.ok(names.isSubsetOf(expected));
      }),
      { numRuns: 1000 },
    );
  });

  it("does not include what JSON.stringify writes, unless a name is rejected", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.nat({ max: 4 }),
        (value, indent) => {
          const text = JSON.stringify(value, null, indent);
          assert.equal(faultsIn(text).length > 0, text.includes('"__proto__":'), text);
        },
      ),
    );
  });
});

describe("JSON that is not an object", () => {
  const others: readonly [text: string, found: string][] = [
    ["[]", "an array"],
    ['[{"a":1e400}]', "an array"],
    [' "a"', "a string"],
    ["-1", "a number"],
    ["0", "a number"],
    ["true", "true"],
    ["false", "false"],
    ["null", "null"],
  ];
  for (const [text, found] of others) {
    it(text, () => {
      const detail = `must be a JSON object, but is ${found}`;
      assert.deepEqual(faultsIn(text), [{ pointer: "", detail }]);
    });
  }
});

describe("limits", () => {
  const members = (count: number): string =>
    Array.from({ length: count }, (_, index) => `"m${index}":0`).join(",");
  const nest = (depth: number): string => `{"a":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;

  it("allow nesting up to a depth, and no deeper", () => {
    assert.deepEqual(faultsIn(nest(jsonLimits.maxDepth)), []);
    const pointer = `/a${"/0".repeat(jsonLimits.maxDepth - 1)}`;
    const deep = [{ pointer, detail: "nested deeper than 64 levels" }];
    assert.deepEqual(faultsIn(nest(jsonLimits.maxDepth + 1)), deep);
    assert.deepEqual(faultsIn(`{"a":${"[".repeat(1_000_000)}`), deep);
    assert.equal(faultsIn("[".repeat(1_000_000))[0]?.detail, deep[0]?.detail);
  });

  it("count depth, not the number of nested values", () => {
    const level = '{"a":[{"b":[]},{"c":{}}]}';
    assert.deepEqual(faultsIn(`{"a":[${Array(100).fill(level).join(",")}]}`), []);
  });

  it("allow a number of members in one object, and no more", () => {
    const most = members(jsonLimits.maxMembers);
    assert.deepEqual(faultsIn(`{"a":{${most}},"b":{${most}}}`), []);
    assert.deepEqual(faultsIn(`{"a":{${most},"x":0,"y":0}}`), [
      { pointer: "/a", detail: "more than 1000 members in one object" },
    ]);
    assert.deepEqual(
      faultsIn(`{${most},"x":0}`).map(({ pointer }) => pointer),
      [""],
    );
  });

  it("find a repeated name among few and among many", () => {
    for (const count of [2, 15, 16, 17, 18, 500, 998]) {
      for (const repeated of [0, Math.floor(count / 2), count - 1]) {
        const text = `{${members(count)},"new":1,"m${repeated}":2}`;
        assert.deepEqual(
          faultsIn(text).map(({ pointer }) => pointer),
          [`/m${repeated}`],
          text,
        );
      }
    }
  });

  it("report a maximum number of errors", () => {
    const { maxErrors: maxFaults } = reportLimits;
    assert.equal(faultsIn(`{"a":[${Array(maxFaults).fill("1e400").join(",")}]}`).length, maxFaults);
    assert.equal(faultsIn(`{"a":[${"1e400,".repeat(5000)}0]}`).length, maxFaults);
    assert.equal(faultsIn(`{"a":[${"1e400,".repeat(5000)}`).length, maxFaults);
  });

  it("do not repeat a long name in every error below it", () => {
    const name = "x".repeat(reportLimits.maxPointerChars);
    const errors = faultsIn(`{"${name}":[1e400,1e400,1e400]}`);
    assert.deepEqual(
      errors.map(({ pointer }) => pointer),
      [`/${name}/0`],
    );
  });
});

/** A quadratic step in any of these would take minutes. */
describe("large documents are parsed in time", () => {
  const size = 1_000_000;
  const fill = (part: string): string => part.repeat(size / part.length);
  const worst: readonly [what: string, text: string, errors: number][] = [
    ["one repeated name", `{${fill('"a":1,')}"a":1}`, 2],
    ["repeated names in many objects", `{"a":[${fill('{"a":1,"a":1},')}0]}`, 100],
    ["escaped halves of surrogate pairs", `{"a":"${fill("\\ud800")}"}`, 1],
    ["strings with such a half", `{"a":[${fill('"\\ud800",')}0]}`, 100],
    ["a number", `{"a":${fill("9")}}`, 1],
    ["a number with zeros inside", `{"a":1${fill("0")}1}`, 1],
    ["a fraction with zeros inside", `{"a":0.${fill("0")}1}`, 1],
    ["an exponent", `{"a":1e${fill("9")}}`, 1],
    ["whitespace", `{"a":${fill(" ")}1}`, 0],
    ["whitespace around everything", `{"a":[${fill(" 1 ,")}0]}`, 0],
    ["lines, then an end", fill("\n"), 1],
    ["a name above many faults", `{"${"x".repeat(size / 2)}":[${fill("1e400,")}0]}`, 1],
    ["escaped names", `{"a":[${fill('{"\\n":0},')}0]}`, 0],
    ["objects of many long names", `{"a":[${fill(`{${longNames()}},`)}0]}`, 0],
  ];
  for (const [what, text, errors] of worst)
    it(what, () => assert.equal(faultsIn(text).length, errors));

  function longNames(): string {
    return Array.from({ length: 15 }, (_, index) => `"${"x".repeat(1000)}${index}":0`).join(",");
  }
});
