// Examples made from schemas: they are valid, or there is none.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { exampleOf } from "../../src/lib/schema/example.ts";
import { type ObjectSchema, SchemaReferences } from "../../src/lib/schema/subschemas.ts";
import { readDefinition } from "../../src/model/read-definition.ts";
import { validatorOf } from "../../src/model/validator.ts";

/** An example of an object with this one field, and whether the validator takes it. */
function tryField(field: unknown, more: ObjectSchema = {}) {
  const schema = { type: "object", properties: { field }, required: ["field"], ...more };
  const references = new SchemaReferences(schema);
  const example = exampleOf(schema, (reference) => references.find(reference)?.schema);
  const definition = readDefinition(JSON.stringify({ schema }));
  assert.ok("access" in definition, JSON.stringify(definition));
  const accepted = validatorOf(definition).accept(JSON.stringify(example ?? {}), undefined, false);
  return { example, isFitting: example !== undefined && typeof accepted === "string" };
}

describe("an example", () => {
  const fitting: readonly unknown[] = [
    { type: "string" },
    { type: "string", minLength: 30 },
    { type: "string", maxLength: 2 },
    { type: "string", minLength: 3, maxLength: 3 },
    { type: "string", pattern: "^[A-Z]{2}-[0-9]{3}$" },
    { type: "string", pattern: "^[a-z]+$", minLength: 9 },
    ..."date-time date time duration email hostname ipv4 ipv6 uri uri-reference uuid json-pointer"
      .split(" ")
      .map((format) => ({ type: "string", format })),
    { type: "integer" },
    { minLength: 9 },
    { type: "integer", minimum: 18, maximum: 99 },
    { type: "integer", maximum: -5 },
    { type: "number", exclusiveMinimum: 0 },
    { type: "number", exclusiveMaximum: 0 },
    { type: "integer", minimum: 10, multipleOf: 7 },
    { type: "number", minimum: 0.5, multipleOf: 0.25 },
    { type: "boolean" },
    { type: "null" },
    { type: ["null", "integer"], minimum: 3 },
    { enum: ["b", "a"] },
    { const: { deep: [1] } },
    { type: "integer", default: 7 },
    { type: "string", pattern: "^zz[0-9]{9}$", examples: ["zz123456789"] },
    { type: "array", items: { type: "integer" }, minItems: 3 },
    {
      type: "array",
      prefixItems: [{ type: "string" }, { type: "integer" }],
      items: false,
      minItems: 2,
    },
    { type: "array" },
    { type: "object" },
    {
      type: "object",
      properties: { a: { type: "object", properties: { b: { type: "integer" } } } },
    },
    { anyOf: [{ type: "integer", minimum: 5 }, { type: "string" }] },
    {
      oneOf: [
        { type: "object", properties: { a: { const: 1 } }, required: ["a"] },
        { type: "string" },
      ],
    },
    {
      type: "object",
      properties: { a: { type: "string" } },
      allOf: [{ properties: { b: { type: "integer" } }, required: ["b"] }],
    },
    true,
    {},
  ];
  for (const field of fitting) {
    it(`matches ${JSON.stringify(field)}`, () => {
      const { example, isFitting } = tryField(field);
      assert.ok(isFitting, JSON.stringify(example));
    });
  }

  it("is a number where the schema has bounds and no type", () => {
    for (const field of [{ maximum: 1_000_000 }, { exclusiveMinimum: 0 }])
      assert.deepEqual(tryField(field).example, { field: 1 });
  });

  it("follows references, except recursive ones", () => {
    const $defs = {
      tree: {
        type: "object",
        properties: {
          name: { type: "string" },
          left: { $ref: "#/$defs/tree" },
          right: { $ref: "#/$defs/tree" },
        },
        required: ["name"],
      },
    };
    const { example, isFitting } = tryField({ $ref: "#/$defs/tree" }, { $defs });
    assert.deepEqual(example, { field: { name: "text" } });
    assert.ok(isFitting);
  });

  it("is searched within limits", () => {
    const wide = (inner: string) => ({
      type: "object",
      properties: Object.fromEntries(
        Array.from({ length: 20 }, (_, n) => [`p${n}`, { $ref: inner }]),
      ),
    });
    const $defs: Record<string, unknown> = { d9: { type: "string" } };
    for (let level = 0; level < 9; level++) $defs[`d${level}`] = wide(`#/$defs/d${level + 1}`);
    const schema = { ...wide("#/$defs/d0"), $defs };
    const references = new SchemaReferences(schema);
    let count = 0;
    exampleOf(schema, (reference) => {
      count++;
      return references.find(reference)?.schema;
    });
    assert.ok(count < 30_000, `${count}`);
  });

  it("is missing where none can be guessed", () => {
    for (const field of [
      { type: "string", pattern: "^[a-f]{7}-[0-9]{9}$" },
      { type: "string", minLength: 1_000_000 },
      false,
    ]) {
      assert.equal(tryField(field).isFitting, false);
    }
  });
});
