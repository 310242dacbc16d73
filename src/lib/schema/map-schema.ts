// Copies a JSON Schema and replaces its subschemas or its references.

import { isObjectSchema, type ObjectSchema, type Schema } from "./subschemas.ts";

/** Keywords whose value is a schema, a list of schemas, or schemas by name (JSON Schema 2020-12). */
const single = new Set([
  ..."items contains additionalProperties propertyNames not if then else".split(" "),
  ..."unevaluatedItems unevaluatedProperties contentSchema".split(" "),
]);
const listed = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const named = new Set("properties patternProperties dependentSchemas $defs definitions".split(" "));

const isSchema = (value: unknown): value is Schema =>
  typeof value === "boolean" || isObjectSchema(value);

/** Returns a copy with each direct subschema replaced. Values such as `const` are not changed. */
export function mapSchemas(schema: ObjectSchema, change: (inner: Schema) => Schema): ObjectSchema {
  const changed = (value: unknown): unknown => (isSchema(value) ? change(value) : value);
  const copy: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    copy[keyword] = single.has(keyword)
      ? changed(value)
      : listed.has(keyword) && Array.isArray(value)
        ? value.map(changed)
        : named.has(keyword) && isObjectSchema(value)
          ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, changed(one)]))
          : value;
  }
  return copy;
}

/** Returns a copy with each `$ref` replaced, at any depth. */
export function mapReferences(
  schema: ObjectSchema,
  change: (reference: string) => string,
): ObjectSchema {
  const copy = mapSchemas(schema, (inner) =>
    typeof inner === "boolean" ? inner : mapReferences(inner, change),
  );
  return typeof copy.$ref === "string" ? { ...copy, $ref: change(copy.$ref) } : copy;
}
