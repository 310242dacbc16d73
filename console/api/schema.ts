// Reads JSON Schemas: follows references, and finds the schema of a member.

import { isObject, memberOf } from "./json.ts";
import type { Schema } from "./types.ts";

const deepestRef = 8;

/** Follows `$ref` within the schema, and puts `allOf` together. */
export function resolveSchema(schema: Schema, root: Schema, depth = 0): Schema {
  if (depth > deepestRef) return {};
  const { $ref, allOf, ...own } = schema;
  const parts = [
    ...(typeof $ref === "string" ? [schemaAt(root, $ref)] : []),
    ...(Array.isArray(allOf) ? (allOf as Schema[]) : []),
  ];
  return parts.map((part) => resolveSchema(part, root, depth + 1)).reduce(merge, own as Schema);
}

const merge = (one: Schema, other: Schema): Schema => ({
  ...other,
  ...one,
  ...((one.properties || other.properties) && {
    properties: { ...other.properties, ...one.properties },
  }),
  ...((one.required || other.required) && {
    required: [...(one.required ?? []), ...(other.required ?? [])],
  }),
});

/** A definition that someone is typing may have half an escape. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** What a reference such as `#/$defs/address` leads to. */
export function schemaAt(root: Schema, ref: string): Schema {
  if (!ref.startsWith("#")) return {};
  const names = ref.slice(1).split("/").slice(1);
  const found = names
    .map((name) => decoded(name).replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce<unknown>((at, name) => (isObject(at) ? memberOf(at, name) : undefined), root);
  return isObject(found) ? (found as Schema) : {};
}

/** The schema of a value inside, by the names and positions that lead to it. */
export function schemaOf(root: Schema, path: readonly (string | number)[]): Schema {
  return path.reduce<Schema>(
    (schema, step) => resolveSchema(stepInto(schema, step), root),
    resolveSchema(root, root),
  );
}

function stepInto({ properties = {}, items, additionalProperties }: Schema, step: string | number) {
  if (typeof step === "number") return items ?? {};
  if (Object.hasOwn(properties, step)) return properties[step] ?? {};
  return typeof additionalProperties === "object" ? additionalProperties : {};
}

/** What a person sees; an empty name or title would leave an input without a label. */
export function labelOf(schema: Schema, name: string): string {
  const label = [schema.title, name].find((text) => text?.trim());
  return label ?? JSON.stringify(name);
}
