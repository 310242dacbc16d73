// Which kinds of JSON a field's schema takes, as far as it says so in plain ways.

import type { Field, Fields } from "./fields.ts";
import type { ObjectSchema } from "./subschemas.ts";

/** An integer is a number: whether it is whole is for the schema to judge. */
export type JsonType = "string" | "number" | "boolean" | "null" | "array" | "object";
export type JsonTypes = ReadonlySet<JsonType>;

const known = new WeakMap<Fields, { readonly kinds: JsonTypes | undefined }>();

/** The kinds that a value can have; undefined where nothing is said. */
export function jsonTypesOf(fields: Fields): JsonTypes | undefined {
  const before = known.get(fields);
  if (before !== undefined) return before.kinds;
  // For a schema that leads back to itself, which says nothing more.
  known.set(fields, { kinds: undefined });
  const said = [...fields.schemas.flatMap(kindsIn), ...fields.alternatives.flatMap(kindsAmong)];
  const [first, ...others] = said;
  const kinds = first && others.reduce((one, other) => one.intersection(other), first);
  known.set(fields, { kinds });
  return kinds;
}

/** One alternative that takes anything makes the choice say nothing. */
function kindsAmong(choice: readonly Fields[]): readonly JsonTypes[] {
  const all = choice.map(jsonTypesOf).filter((kinds) => kinds !== undefined);
  return all.length < choice.length ? [] : [new Set(all.flatMap((kinds) => [...kinds]))];
}

function kindsIn(schema: ObjectSchema): readonly JsonTypes[] {
  const kinds: JsonTypes[] = [];
  if (Object.hasOwn(schema, "type")) kinds.push(new Set([schema.type].flat().map(kindNamed)));
  if (Array.isArray(schema.enum)) kinds.push(new Set(schema.enum.map(kindOfValue)));
  if (Object.hasOwn(schema, "const")) kinds.push(new Set([kindOfValue(schema.const)]));
  return kinds;
}

const kindNamed = (type: unknown): JsonType => (type === "integer" ? "number" : (type as JsonType));

function kindOfValue(value: unknown): JsonType {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : (typeof value as JsonType);
}

/** The field of a name, which may be declared in one of several alternatives. */
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
