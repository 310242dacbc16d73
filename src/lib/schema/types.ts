// Finds the JSON types that a field's schema allows, as far as type, enum and const state them.

import type { Field, Fields } from "./fields.ts";
import type { ObjectSchema } from "./subschemas.ts";

/** An integer is a number; the schema checks whether it is whole. */
export type JsonType = "string" | "number" | "boolean" | "null" | "array" | "object";
export type JsonTypes = ReadonlySet<JsonType>;

const cache = new WeakMap<Fields, { readonly types: JsonTypes | undefined }>();

/** The types that a value can have. Returns undefined when the schema does not restrict them. */
export function jsonTypesOf(fields: Fields): JsonTypes | undefined {
  const cached = cache.get(fields);
  if (cached !== undefined) return cached.types;
  // A recursive schema adds no restriction.
  cache.set(fields, { types: undefined });
  const sets = [...fields.schemas.flatMap(typesIn), ...fields.alternatives.flatMap(typesAmong)];
  const [first, ...others] = sets;
  const types = first && others.reduce((one, other) => one.intersection(other), first);
  cache.set(fields, { types });
  return types;
}

/** A choice with an alternative of any type adds no restriction. */
function typesAmong(choice: readonly Fields[]): readonly JsonTypes[] {
  const all = choice.map(jsonTypesOf).filter((types) => types !== undefined);
  return all.length < choice.length ? [] : [new Set(all.flatMap((types) => [...types]))];
}

function typesIn(schema: ObjectSchema): readonly JsonTypes[] {
  const sets: JsonTypes[] = [];
  if (Object.hasOwn(schema, "type")) sets.push(new Set([schema.type].flat().map(jsonTypeNamed)));
  if (Array.isArray(schema.enum)) sets.push(new Set(schema.enum.map(jsonTypeOf)));
  if (Object.hasOwn(schema, "const")) sets.push(new Set([jsonTypeOf(schema.const)]));
  return sets;
}

const jsonTypeNamed = (type: unknown): JsonType =>
  type === "integer" ? "number" : (type as JsonType);

function jsonTypeOf(value: unknown): JsonType {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : (typeof value as JsonType);
}

/** The field of this name, declared here or in one of the alternatives. */
export function memberOf(fields: Fields, name: string): Field | undefined {
  const own = fields.members.get(name);
  if (own !== undefined) return own;
  return fields.alternatives
    .flat()
    .map(({ members }) => members.get(name))
    .find((field) => field !== undefined);
}

export function holdsObject(fields: Fields): boolean {
  return jsonTypesOf(fields)?.has("object") ?? fields.members.size > 0;
}
