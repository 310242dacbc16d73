// unevaluatedProperties and unevaluatedItems see what the other keywords of their schema evaluate, and nothing else.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readDefinition } from "../../src/model/read-definition.ts";
import { type ResourceValidator, validatorOf } from "../../src/model/validator.ts";

function validatorFor(schema: object): ResourceValidator {
  const definition = readDefinition(JSON.stringify({ schema }));
  assert.ok("preconditions" in definition, JSON.stringify(definition));
  return validatorOf(definition);
}

const closed = { unevaluatedProperties: false };
const ended = { unevaluatedItems: false };
const has = (...names: string[]) => ({
  properties: Object.fromEntries(names.map((name) => [name, true])),
  required: names,
});

/** A schema for the member `v`, and values that are valid and not valid. */
const cases: readonly (readonly [schema: object, valid: unknown[], invalid: unknown[]])[] = [
  [closed, [{}, [], [[]], 1, null], [{ a: 1 }]],
  [ended, [[], {}, { a: 1 }, "a"], [[1]]],
  [{ unevaluatedProperties: { type: "string" } }, [{ a: "x" }], [{ a: 1 }]],
  [{ ...has("a"), ...closed }, [{ a: 1 }], [{ a: 1, b: 1 }]],
  [{ patternProperties: { "^a": true }, ...closed }, [{ ab: 1 }], [{ b: 1 }]],
  [{ additionalProperties: true, ...closed }, [{ a: 1 }], []],
  [{ propertyNames: true, ...closed }, [{}], [{ a: 1 }]],
  [{ additionalProperties: { ...closed } }, [{ a: [[]] }, { a: {} }], [{ a: { b: 1 } }]],
  // The names of every object are members like others.
  [{ ...has("a"), anyOf: [true], ...closed }, [{ a: 1 }], [{ a: 1, constructor: 1 }]],
  [{ ...has("constructor"), ...closed }, [{ constructor: 1 }], [{ constructor: 1, toString: 1 }]],
  // Each form that matches counts, and none that does not.
  [{ anyOf: [has("a"), has("b")], ...closed }, [{ a: 1 }, { a: 1, b: 1 }], [{ a: 1, c: 1 }]],
  [{ oneOf: [has("a"), has("b")], ...closed }, [{ a: 1 }, { b: 1 }], [{ a: 1, b: 1 }]],
  [{ allOf: [has("a"), has("b")], ...closed }, [{ a: 1, b: 1 }], [{ a: 1, b: 1, c: 1 }]],
  [{ oneOf: [{ properties: { a: { const: 1 } } }, has("b")], ...closed }, [{ a: 1 }], [{ b: 1 }]],
  [
    { oneOf: [has("a"), { required: ["c"] }], patternProperties: { "^b": true }, ...closed },
    [{ a: 1, b: 1 }],
    [{ a: 1, d: 1 }, { c: 1 }],
  ],
  [{ not: { not: has("a") }, ...closed }, [], [{ a: 1 }, {}]],
  [
    { dependentSchemas: { a: has("b") }, ...has("a"), ...closed },
    [{ a: 1, b: 1 }],
    [{ a: 1, c: 1 }],
  ],
  [{ $ref: "#/$defs/a", ...closed }, [{ a: 1 }], [{ a: 1, b: 1 }]],
  [{ anyOf: [{ $ref: "#/$defs/a" }, true], ...closed }, [{ a: 1 }, {}], [{ b: 1 }]],
  // A condition counts when it matches, also without branches.
  [{ if: has("a"), ...closed }, [{ a: 1 }, {}], [{ b: 1 }]],
  [
    // biome-ignore lint/suspicious/noThenProperty: JSON Schema calls it so.
    { if: has("a"), then: has("b"), else: has("c"), ...closed },
    [{ a: 1, b: 1 }, { c: 1 }],
    [
      { a: 1, c: 1 },
      { b: 1, c: 1 },
    ],
  ],
  // A schema sees its own keywords, not those of the schema that contains it.
  [{ additionalProperties: true, if: false, else: closed }, [{}], [{ a: [] }]],
  [{ ...has("a"), allOf: [closed] }, [], [{ a: 1 }, {}]],
  [{ allOf: [closed], unevaluatedProperties: true }, [{}], [{ a: 1 }]],
  [{ allOf: [{ unevaluatedProperties: true }], ...closed }, [{ a: 1 }], []],
  [{ properties: { a: closed }, ...closed }, [{ a: {} }], [{ a: { a: {} } }]],
  // Items.
  [{ prefixItems: [true], ...ended }, [[1]], [[1, 2]]],
  [{ items: true, ...ended }, [[1, 2]], []],
  [
    { allOf: [{ prefixItems: [true, true] }], prefixItems: [true], ...ended },
    [[1, 2]],
    [[1, 2, 3]],
  ],
  [{ contains: { const: 1 }, ...ended }, [[1], [1, 1]], [[1, 2], []]],
  [{ contains: { const: 1 }, minContains: 0, ...ended }, [[], [1]], [[2], [1, 2]]],
  [
    { contains: { const: 1 }, maxContains: 1, unevaluatedItems: { const: 2 } },
    [[2, 1, 2]],
    [
      [1, 1],
      [1, 3],
    ],
  ],
  [
    // biome-ignore lint/suspicious/noThenProperty: JSON Schema calls it so.
    { if: { contains: { const: "a" } }, then: { contains: { const: "b" } }, ...ended },
    [[], ["a", "b"]],
    [["b"], ["a"], ["a", "b", "c"]],
  ],
  [{ prefixItems: [false], contains: true }, [], [[], [1]]],
  [{ unevaluatedItems: closed }, [[{}], [1]], [[{ a: 1 }]]],
];

describe("unevaluated members and items", () => {
  for (const [schema, valid, invalid] of cases) {
    it(JSON.stringify(schema), () => {
      const validator = validatorFor({ $defs: { a: has("a") }, properties: { v: schema } });
      const isAccepted = (v: unknown): boolean =>
        typeof validator.accept(JSON.stringify({ v }), undefined, false) === "string";
      assert.deepEqual(valid.filter(isAccepted), valid);
      assert.deepEqual(invalid.filter(isAccepted), []);
    });
  }

  it("are validated once in nested choices and nested values", () => {
    let choices: object = has("a");
    for (let level = 0; level < 25; level++) choices = { anyOf: [choices], ...closed };
    assert.equal(validatorFor(choices).accept('{"a":1}', undefined, false), '{"a":1}');
    const tree = validatorFor({
      anyOf: [{ properties: { a: { $ref: "#" } } }],
      unevaluatedProperties: false,
    });
    const nested = (inner: string) => `${'{"a":'.repeat(50)}${inner}${"}".repeat(50)}`;
    assert.equal(tree.accept(nested("{}"), undefined, false), nested("{}"));
    const pointer = `${"/a".repeat(50)}/b`;
    assert.deepEqual(tree.accept(nested('{"b":1}'), undefined, false), [
      { pointer, detail: "unknown field" },
    ]);
  });
});
