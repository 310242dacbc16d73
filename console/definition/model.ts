// A definition as a list of fields, and the changes that a person makes to one.

import type { Definition, Reference, Schema } from "../api/types.ts";

/** A field at the top of the schema. */
export interface DefinedField {
  readonly name: string;
  readonly type: FieldType;
  readonly isRequired: boolean;
  readonly isUnique: boolean;
  readonly isIndexed: boolean;
  readonly isSearchable: boolean;
  /** The collection that it refers to. */
  readonly refersTo: string | undefined;
}

/** By the name that people see. `other` is whatever a schema says that this list does not. */
export const fieldTypes = {
  text: { type: "string" },
  number: { type: "number" },
  "whole number": { type: "integer" },
  "yes or no": { type: "boolean" },
  date: { type: "string", format: "date" },
  time: { type: "string", format: "date-time" },
  email: { type: "string", format: "email" },
  "web address": { type: "string", format: "uri" },
  "list of texts": { type: "array", items: { type: "string" } },
  object: { type: "object" },
  anything: {},
} as const satisfies Readonly<Record<string, Schema>>;

export type FieldType = keyof typeof fieldTypes | "other";

const typeKeys: readonly string[] = ["type", "format", "items"];

/** Titles, limits and the like do not change the type. */
function typeOf(schema: Schema): FieldType {
  const own = JSON.stringify([schema.type, schema.format, schema.items?.type]);
  const isOther =
    schema.enum !== undefined ||
    schema.const !== undefined ||
    "anyOf" in schema ||
    "$ref" in schema;
  const found = Object.entries(fieldTypes).find(([, one]: [string, Schema]) => {
    return JSON.stringify([one.type, one.format, one.items?.type]) === own;
  });
  return isOther || found === undefined ? "other" : (found[0] as FieldType);
}

const searchName = (one: NonNullable<Definition["searchable"]>[number]): string =>
  typeof one === "string" ? one : one.field;

export function fieldsOf(definition: Definition): readonly DefinedField[] {
  const { schema = {}, unique = [], indexed = [], searchable = [], references = {} } = definition;
  return Object.entries(schema.properties ?? {}).map(([name, property]) => ({
    name,
    type: typeOf(property),
    isRequired: schema.required?.includes(name) ?? false,
    isUnique: unique.includes(name),
    isIndexed: indexed.includes(name),
    isSearchable: searchable.some((one) => searchName(one) === name),
    refersTo: Object.hasOwn(references, name) ? references[name]?.collection : undefined,
  }));
}

/** Leaves out what is empty, as a person would. */
function withMember(definition: Definition, name: string, value: unknown): Definition {
  const { [name]: _, ...others } = definition;
  const isEmpty =
    value === undefined ||
    (Array.isArray(value) && value.length === 0) ||
    (typeof value === "object" && value !== null && Object.keys(value).length === 0);
  return isEmpty ? others : { ...definition, [name]: value };
}

const toggled = <Item>(list: readonly Item[], item: Item, isIn: boolean): readonly Item[] =>
  isIn ? [...new Set([...list, item])] : list.filter((one) => one !== item);

/** Changes one field; the members that it does not name stay as they are. */
export function changeField(
  definition: Definition,
  name: string,
  change: Partial<Omit<DefinedField, "name">>,
): Definition {
  let next = definition;
  const { schema = {}, unique = [], indexed = [], searchable = [], references = {} } = definition;
  if (change.type !== undefined && change.type !== "other")
    next = withProperty(next, name, ofType(schema.properties?.[name] ?? {}, change.type));
  if (change.isRequired !== undefined)
    next = withSchema(next, { required: toggled(schema.required ?? [], name, change.isRequired) });
  if (change.isUnique !== undefined)
    next = withMember(next, "unique", toggled(unique, name, change.isUnique));
  if (change.isIndexed !== undefined)
    next = withMember(next, "indexed", toggled(indexed, name, change.isIndexed));
  if (change.isSearchable !== undefined)
    next = withMember(
      next,
      "searchable",
      change.isSearchable
        ? toggled(searchable, name, true)
        : searchable.filter((one) => searchName(one) !== name),
    );
  if ("refersTo" in change)
    next = withMember(next, "references", withReference(references, name, change.refersTo));
  return next;
}

function ofType(schema: Schema, type: keyof typeof fieldTypes): Schema {
  const kept = Object.entries(schema).filter(([key]) => !typeKeys.includes(key));
  return { ...fieldTypes[type], ...Object.fromEntries(kept) };
}

function withReference(
  references: Readonly<Record<string, Reference>>,
  name: string,
  collection: string | undefined,
): Readonly<Record<string, Reference>> {
  const { [name]: former, ...others } = references;
  return collection === undefined ? others : { ...others, [name]: { ...former, collection } };
}

function withSchema(definition: Definition, change: Partial<Schema>): Definition {
  const schema = { ...definition.schema, ...change };
  if (schema.required?.length === 0) delete (schema as { required?: unknown }).required;
  return { ...definition, schema };
}

function withProperty(definition: Definition, name: string, property: Schema): Definition {
  const properties = { ...definition.schema?.properties, [name]: property };
  return withSchema(definition, { properties });
}

export const addField = (
  definition: Definition,
  name: string,
  type: keyof typeof fieldTypes,
): Definition => withProperty(definition, name, fieldTypes[type]);

/** Removes a field from the schema and from every list that names it. */
export function removeField(definition: Definition, name: string): Definition {
  const bare = changeField(definition, name, {
    ...{ isRequired: false, isUnique: false, isIndexed: false, isSearchable: false },
    refersTo: undefined,
  });
  const { [name]: _, ...properties } = bare.schema?.properties ?? {};
  return withSchema(bare, { properties });
}

/** Who may do something, where a word says it; undefined where grants do. */
export function accessWord(definition: Definition, verb: string): string | undefined {
  const given = definition.access?.[verb] ?? "token";
  return typeof given === "string" ? given : undefined;
}

export function changeAccess(definition: Definition, verb: string, word: string): Definition {
  const { [verb]: _, ...others } = definition.access ?? {};
  return withMember(definition, "access", word === "token" ? others : { ...others, [verb]: word });
}
