// Large schemas: one that is accepted as a definition can validate every value.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Definition } from "../../src/model/definition.ts";
import { readDefinition } from "../../src/model/read-definition.ts";
import { type ResourceValidator, validatorOf } from "../../src/model/validator.ts";
import fc from "../fast-check.ts";
import { runs } from "../seeds.ts";

const words = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `word-${index}`);

const byName = <T>(count: number, make: (name: string, index: number) => T) =>
  Object.fromEntries(words(count).map((name, index) => [name, make(name, index)]));

function shapeIn(schema: object): ResourceValidator | undefined {
  const definition = readDefinition(JSON.stringify({ schema }));
  return "access" in definition ? validatorOf(definition as Definition) : undefined;
}

const isTaken = (validator: ResourceValidator | undefined, value: unknown): boolean =>
  typeof validator?.accept(JSON.stringify(value), undefined, false) === "string";

describe("a schema with a long list", () => {
  for (const count of [99, 101, 2_000, 5_000, runs(20_000, 50_000)]) {
    it(`accepts each of ${count} choices and no other`, () => {
      const nested = [null, [1, { b: 2, a: 1 }], { x: [] }];
      const validator = shapeIn({ properties: { a: { enum: [...words(count), ...nested, 7] } } });
      const takes = (a: unknown) => isTaken(validator, { a });
      const good = ["word-0", `word-${count - 1}`, 7, null, [1, { a: 1, b: 2 }], { x: [] }];
      assert.deepEqual(
        good.map(takes),
        good.map(() => true),
      );
      const bad = [`word-${count}`, "", "7", 8, [], {}, [1, { a: 1 }], { x: [null] }];
      assert.deepEqual(
        bad.map(takes),
        bad.map(() => false),
      );
      const rejected = validator?.accept('{"a":"other"}', undefined, false);
      assert.match(JSON.stringify(rejected), /must be one of: .*word-0.* and \d+ more/);
    });
  }

  it("requires each of many members", () => {
    const all = byName(1_000, () => 1);
    const { "word-3": _, ...some } = all;
    const required = shapeIn({ required: words(1_000) });
    assert.deepEqual([isTaken(required, all), isTaken(required, some)], [true, false]);
    const dependent = shapeIn({ dependentRequired: { a: words(999), b: ["c"] } });
    const { "word-0": __, ...few } = some;
    assert.equal(isTaken(dependent, { a: 1, ...few }), false);
    assert.equal(isTaken(dependent, few), true);
    assert.equal(isTaken(dependent, { b: 1 }), false);
  });
});

const size = fc.constantFrom(1, 50, 150, 400, 900);
const part = fc.oneof(
  fc.record({ enum: size.map(words) }),
  fc.record({ const: size.map(words) }),
  fc.record({ required: size.map(words) }),
  fc.record({ properties: size.map((count) => byName(count, () => ({ type: "string" }))) }),
  fc.record({ oneOf: size.map((count) => words(count).map((name) => ({ const: name }))) }),
  fc.record({ anyOf: size.map((count) => words(count).map((name) => ({ pattern: `^${name}$` }))) }),
  fc.record({ allOf: size.map((count) => words(count).map(() => ({ minLength: 1 }))) }),
  fc.record({ dependentSchemas: size.map((count) => byName(count, () => ({ minProperties: 1 }))) }),
  fc.record({ patternProperties: size.map((count) => byName(count, () => ({ type: "number" }))) }),
  fc.record({
    prefixItems: size.map((count) => words(count).map((name) => ({ const: name }))),
    items: fc.constant(false),
  }),
  fc.record({
    oneOf: size.map((count) =>
      words(count).map((name) => ({ properties: { kind: { const: name } }, required: ["kind"] })),
    ),
    unevaluatedProperties: fc.constant(false),
  }),
);
const wrapped = fc.tuple(part, fc.nat(40)).map(([schema, depth]) => {
  let whole: object = { properties: { a: schema } };
  for (let level = 0; level < depth; level++)
    whole = { properties: { a: { type: "object", ...whole } } };
  return { whole, depth };
});
const value = fc.constantFrom(
  "word-1",
  "",
  1,
  null,
  [],
  ["word-0"],
  {},
  { kind: "word-1" },
  { a: 1 },
);

describe("a schema of any size", () => {
  it("that is accepted can validate every value, and explain the errors", () => {
    const check = fc.property(wrapped, value, ({ whole, depth }, inner) => {
      const validator = shapeIn(whole);
      let fields: unknown = { a: inner };
      for (let level = 0; level < depth; level++) fields = { a: fields };
      validator?.accept(JSON.stringify(fields), undefined, false);
    });
    fc.assert(check, { numRuns: runs(5, 2_000) });
  });
});
