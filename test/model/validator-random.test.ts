// Random schemas: the validator agrees with a reference, and explains every error.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Check } from "typebox/schema";
import { keywords } from "../../src/lib/schema/metaschema.ts";
import { readDefinition } from "../../src/model/definition.ts";
import { validatorOf } from "../../src/model/validator.ts";
import fc from "../fast-check.ts";

const name = fc.constantFrom("a", "b", "c", "constructor");
const scalar = fc.constantFrom(0, 1, -1.5, 10, "", "a", "abc", "a@b.nl", true, false, null);
const { schema, value } = fc.letrec<{ schema: unknown; value: unknown }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    fc.boolean(),
    fc.record(
      {
        type: fc.constantFrom("string", "number", "integer", "boolean", "null", "object", "array"),
        minLength: fc.nat(3),
        maximum: fc.integer({ min: -1, max: 5 }),
        enum: fc.array(scalar, { minLength: 1, maxLength: 3 }),
        format: fc.constantFrom("email", "date"),
        pattern: fc.constantFrom("^a", "b$"),
      },
      { requiredKeys: [] },
    ),
    fc.record(
      {
        properties: fc.dictionary(name, tie("schema"), { maxKeys: 3 }),
        required: fc.uniqueArray(name, { maxLength: 2 }),
        additionalProperties: tie("schema"),
        propertyNames: fc.constantFrom({ maxLength: 1 }, { enum: ["a", "b"] }),
        unevaluatedProperties: fc.constantFrom(false, { type: "string" }),
        items: tie("schema"),
        uniqueItems: fc.boolean(),
        contains: tie("schema"),
        not: tie("schema"),
        if: tie("schema"),
        // biome-ignore lint/suspicious/noThenProperty: JSON Schema calls it so.
        then: tie("schema"),
        else: tie("schema"),
        dependentRequired: fc.constantFrom({ a: ["b"] }),
      },
      { requiredKeys: [] },
    ),
    fc.record(
      {
        anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }),
        oneOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }),
        allOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }),
      },
      { requiredKeys: [] },
    ),
  ),
  value: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    scalar,
    fc.dictionary(name, tie("value"), { maxKeys: 4 }),
    fc.array(tie("value"), { maxLength: 3 }),
  ),
}));

const root = fc.record({ properties: fc.dictionary(name, schema, { minKeys: 1, maxKeys: 2 }) });
const anyFields = fc.dictionary(name, value, { maxKeys: 3 });

const keyword = fc.constantFrom(...keywords, "toString", "constructor", "x-a");
const oddity = fc.constantFrom(
  null,
  true,
  -1,
  1e300,
  "",
  "#",
  "#/$defs/a",
  "object",
  "email",
  "(",
  "^a+",
);
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    oddity,
    fc.dictionary(keyword, tie("json"), { maxKeys: 4 }),
    fc.dictionary(name, tie("json"), { maxKeys: 2 }),
    fc.array(tie("json"), { maxLength: 3 }),
  ),
}));

describe("a random definition", () => {
  it("has errors or a validator, and never throws", () => {
    fc.assert(
      fc.property(json, json, json, (one, other, given) => {
        const errors = readDefinition(
          JSON.stringify({ schema: one, unique: other, access: given }),
        );
        assert.ok("preconditions" in errors || errors.length > 0);
        const definition = readDefinition(JSON.stringify({ schema: one }));
        if (!("preconditions" in definition)) return;
        const fields = JSON.stringify({ a: given, b: other });
        const accepted = validatorOf(definition).accept(fields, fields, false);
        assert.ok(accepted.length > 0);
      }),
      { numRuns: 500 },
    );
  });
});

describe("the validator of a random schema", () => {
  it("accepts valid values unchanged, and explains the others", () => {
    let taken = 0;
    let rejected = 0;
    fc.assert(
      fc.property(root, fc.array(anyFields, { minLength: 5, maxLength: 5 }), (one, documents) => {
        const definition = readDefinition(JSON.stringify({ schema: one }));
        assert.ok("preconditions" in definition, JSON.stringify(definition));
        for (const document of documents) {
          const text = JSON.stringify(document);
          const isGood = Check({}, one as never, JSON.parse(text));
          const accepted = validatorOf(definition).accept(text, undefined, false);
          if (isGood) assert.equal(accepted, text);
          else assert.ok(typeof accepted !== "string" && accepted.length > 0);
          if (isGood) taken++;
          else rejected++;
        }
      }),
      { numRuns: 50 },
    );
    assert.ok(taken > 10 && rejected > 10, `${taken} taken, ${rejected} refused`);
  });
});
