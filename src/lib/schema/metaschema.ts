// The JSON Schema 2020-12 metaschema as one schema, limited to the supported keywords.

import type { ObjectSchema } from "./subschemas.ts";

export const dialect = "https://json-schema.org/draft/2020-12/schema";

const schema = { $ref: "#" };
const schemas = { type: "array", minItems: 1, items: schema };
const namedSchemas = { type: "object", additionalProperties: schema };
const text = { type: "string" };
const flag = { type: "boolean" };
const number = { type: "number" };
const count = { type: "integer", minimum: 0 };
const names = { type: "array", items: text, uniqueItems: true };
const simpleType = {
  enum: ["array", "boolean", "integer", "null", "number", "object", "string"],
};

export const metaschema: ObjectSchema = {
  type: ["object", "boolean"],
  properties: {
    $schema: { const: dialect },
    $id: { type: "string", format: "uri-reference", pattern: "^[^#]*#?$" },
    $ref: text,
    $anchor: { type: "string", pattern: "^[A-Za-z_][-A-Za-z0-9._]*$" },
    $defs: namedSchemas,
    $comment: text,
    allOf: schemas,
    anyOf: schemas,
    oneOf: schemas,
    not: schema,
    if: schema,
    // biome-ignore lint/suspicious/noThenProperty: JSON Schema calls it so.
    then: schema,
    else: schema,
    dependentSchemas: namedSchemas,
    properties: namedSchemas,
    patternProperties: namedSchemas,
    additionalProperties: schema,
    unevaluatedProperties: schema,
    propertyNames: schema,
    prefixItems: schemas,
    items: schema,
    unevaluatedItems: schema,
    contains: schema,
    type: {
      if: { type: "array" },
      // biome-ignore lint/suspicious/noThenProperty: JSON Schema calls it so.
      then: { items: simpleType, minItems: 1, uniqueItems: true },
      else: simpleType,
    },
    const: true,
    enum: { type: "array" },
    multipleOf: { type: "number", exclusiveMinimum: 0 },
    maximum: number,
    exclusiveMaximum: number,
    minimum: number,
    exclusiveMinimum: number,
    maxLength: count,
    minLength: count,
    pattern: text,
    maxItems: count,
    minItems: count,
    uniqueItems: flag,
    maxContains: count,
    minContains: count,
    maxProperties: count,
    minProperties: count,
    required: names,
    dependentRequired: { type: "object", additionalProperties: names },
    format: text,
    title: text,
    description: text,
    default: true,
    deprecated: flag,
    readOnly: flag,
    writeOnly: flag,
    examples: { type: "array" },
    contentEncoding: text,
    contentMediaType: text,
    contentSchema: schema,
  },
};

export const keywords: readonly string[] = Object.keys(metaschema.properties as object);

/** Keywords of other dialects, and what to use instead. */
export const replacements: Readonly<Record<string, string>> = {
  definitions: "use $defs",
  dependencies: "use dependentRequired or dependentSchemas",
  additionalItems: "use prefixItems for the first items and items for the rest",
  id: "use $id",
  nullable: 'use a list of types, such as ["string", "null"]',
  example: "use examples, a list",
  discriminator: "give each form a member with its own const",
  $dynamicRef: "use $ref: within one schema it means the same",
  $dynamicAnchor: "use $anchor: within one schema it means the same",
  $recursiveRef: "use $ref",
  $recursiveAnchor: "use $anchor",
  $vocabulary: "remove it",
};
