// Which kinds of JSON a field's schema takes, as far as it says so in plain ways.

import type { Field, Fields } from "./fields.ts";
import type { ObjectSchema } from "./subschemas.ts";

/** An integer is a number: whether it is whole is for the schema to judge. */
export type JsonKind = "string" | "number" | "boolean" | "null" | "array" | "object";
export type Kinds = ReadonlySet<JsonKind>;

const known = new WeakMap<Fields, { readonly kinds: Kinds | undefined }>();

/** The kinds that a value can have; undefined where nothing is said. */
export function kindsOf(fields: Fields): Kinds | undefined {
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
function kindsAmong(choice: readonly Fields[]): readonly Kinds[] {
  const all = choice.map(kindsOf).filter((kinds) => kinds !== undefined);
  return all.length < choice.length ? [] : [new Set(all.flatMap((kinds) => [...kinds]))];
}

function kindsIn(schema: ObjectSchema): readonly Kinds[] {
  const kinds: Kinds[] = [];
  if (Object.hasOwn(schema, "type")) kinds.push(new Set([schema.type].flat().map(kindNamed)));
  if (Array.isArray(schema.enum)) kinds.push(new Set(schema.enum.map(kindOfValue)));
  if (Object.hasOwn(schema, "const")) kinds.push(new Set([kindOfValue(schema.const)]));
  return kinds;
}

const kindNamed = (type: unknown): JsonKind => (type === "integer" ? "number" : (type as JsonKind));

function kindOfValue(value: unknown): JsonKind {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : (typeof value as JsonKind);
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
  return kindsOf(fields)?.has("object") ?? fields.members.size > 0;
}
