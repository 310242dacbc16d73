// A definition as a list of fields, with those inside of objects and lists, and the changes that a person makes to one.

import type { Definition, Reference, Schema } from "../api/types.ts";
import { escapeName } from "../grid/paths.ts";

/** A field of the schema, or of an object inside. */
export interface DefinedField {
  /** As the lists of a definition name it, such as `address.city` or `lines[].sku`. */
  readonly path: string;
  readonly name: string;
  /** The schemas that it is in: names of fields, and `[]` for the items of a list. */
  readonly parents: readonly string[];
  /** The same for its own members. */
  readonly inside: readonly string[];
  readonly type: FieldType;
  /** Whether it can have members: an object, or a list of objects. */
  readonly hasMembers: boolean;
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
  "list of objects": { type: "array", items: { type: "object" } },
  anything: {},
} as const satisfies Readonly<Record<string, Schema>>;

export type TypeName = keyof typeof fieldTypes;
export type FieldType = TypeName | "other";

/** What belongs to a type, and goes with it. */
const typeKeys: readonly string[] = ["type", "format", "items"];
const memberKeys: readonly string[] = ["properties", "required", "additionalProperties"];

/** Titles, limits and the like do not change the type. */
function typeOf(schema: Schema | boolean): FieldType {
  if (typeof schema === "boolean") return schema ? "anything" : "other";
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

/** All fields, each before its members. */
export const fieldsOf = (definition: Definition): readonly DefinedField[] =>
  fieldsIn(definition, definition.schema ?? {}, []);

const deepest = 6;

function fieldsIn(
  definition: Definition,
  schema: Schema,
  parents: readonly string[],
): readonly DefinedField[] {
  if (parents.length > deepest) return [];
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const own = fieldOf(definition, schema, parents, name);
    return [own, ...fieldsIn(definition, property.items ?? property, own.inside)];
  });
}

function fieldOf(
  definition: Definition,
  schema: Schema,
  parents: readonly string[],
  name: string,
): DefinedField {
  const { unique = [], indexed = [], searchable = [], references = {} } = definition;
  const property = schema.properties?.[name] ?? {};
  const path = pathOf([...parents, name]);
  const type = typeOf(property);
  return {
    ...{ path, name, parents, type },
    inside: [...parents, name, ...(property.items === undefined ? [] : ["[]"])],
    hasMembers:
      type === "object" || type === "list of objects" || hasProperties(property.items ?? property),
    isRequired: schema.required?.includes(name) ?? false,
    isUnique: unique.includes(path),
    isIndexed: indexed.includes(path),
    isSearchable: searchable.some((one) => searchName(one) === path),
    refersTo: Object.hasOwn(references, path) ? references[path]?.collection : undefined,
  };
}

const hasProperties = ({ properties }: Schema): boolean => properties !== undefined;

/** `lines`, `[]` and `sku` are `lines[].sku`. */
const pathOf = (steps: readonly string[]): string =>
  steps.reduce((path, step, index) => {
    if (step === "[]") return `${path}[]`;
    return index === 0 ? escapeName(step) : `${path}.${escapeName(step)}`;
  }, "");

/** Leaves out what is empty, as a person would. */
export function withMember(definition: Definition, name: string, value: unknown): Definition {
  const { [name]: _, ...others } = definition;
  const isEmpty =
    value === undefined ||
    (Array.isArray(value) && value.length === 0) ||
    (typeof value === "object" && value !== null && Object.keys(value).length === 0);
  return isEmpty ? others : { ...definition, [name]: value };
}

const toggled = <Item>(list: readonly Item[], item: Item, isIn: boolean): readonly Item[] =>
  isIn ? [...new Set([...list, item])] : list.filter((one) => one !== item);

type FieldChange = Partial<
  Pick<DefinedField, "type" | "isRequired" | "isUnique" | "isIndexed" | "isSearchable" | "refersTo">
>;

/** Changes one field; the members that it does not name stay as they are. */
export function changeField(definition: Definition, path: string, change: FieldChange): Definition {
  const field = fieldsOf(definition).find((one) => one.path === path);
  if (field === undefined) return definition;
  const { name, parents } = field;
  const { unique = [], indexed = [], searchable = [], references = {} } = definition;
  const { type, isRequired, isUnique, isIndexed, isSearchable } = change;
  let next = definition;
  if (type !== undefined && type !== "other")
    next = withProperties(next, parents, (properties) => ({
      ...properties,
      [name]: ofType(properties[name] ?? {}, type),
    }));
  if (isRequired !== undefined) next = withRequired(next, parents, name, isRequired);
  if (isUnique !== undefined) next = withMember(next, "unique", toggled(unique, path, isUnique));
  if (isIndexed !== undefined)
    next = withMember(next, "indexed", toggled(indexed, path, isIndexed));
  if (isSearchable !== undefined)
    next = withMember(
      next,
      "searchable",
      isSearchable
        ? toggled(searchable, path, true)
        : searchable.filter((one) => searchName(one) !== path),
    );
  if ("refersTo" in change)
    next = withMember(next, "references", withReference(references, path, change.refersTo));
  return next;
}

function ofType(schema: Schema, type: TypeName): Schema {
  const gone = type === "object" ? typeKeys : [...typeKeys, ...memberKeys];
  const kept = Object.entries(schema).filter(([key]) => !gone.includes(key));
  return { ...fieldTypes[type], ...Object.fromEntries(kept) };
}

function withReference(
  references: Readonly<Record<string, Reference>>,
  path: string,
  collection: string | undefined,
): Readonly<Record<string, Reference>> {
  const { [path]: former, ...others } = references;
  return collection === undefined ? others : { ...others, [path]: { ...former, collection } };
}

/** Changes the schema that some steps lead to. */
function changeAt(
  schema: Schema,
  [step, ...rest]: readonly string[],
  change: (schema: Schema) => Schema,
): Schema {
  if (step === undefined) return change(schema);
  if (step === "[]") return { ...schema, items: changeAt(schema.items ?? {}, rest, change) };
  const inner = changeAt(schema.properties?.[step] ?? {}, rest, change);
  return { ...schema, properties: { ...schema.properties, [step]: inner } };
}

const withProperties = (
  definition: Definition,
  parents: readonly string[],
  change: (properties: Readonly<Record<string, Schema>>) => Readonly<Record<string, Schema>>,
): Definition => ({
  ...definition,
  schema: changeAt(definition.schema ?? {}, parents, (schema) => ({
    ...schema,
    properties: change(schema.properties ?? {}),
  })),
});

const withRequired = (
  definition: Definition,
  parents: readonly string[],
  name: string,
  isRequired: boolean,
): Definition => ({
  ...definition,
  schema: changeAt(definition.schema ?? {}, parents, ({ required = [], ...schema }) => {
    const names = toggled(required, name, isRequired);
    return names.length === 0 ? schema : { ...schema, required: names };
  }),
});

export const addField = (
  definition: Definition,
  name: string,
  type: TypeName,
  parents: readonly string[] = [],
): Definition =>
  withProperties(definition, parents, (properties) => ({
    ...properties,
    [name]: fieldTypes[type],
  }));

/** Removes a field with its members from the schema and from every list that names them. */
export function removeField(definition: Definition, path: string): Definition {
  const fields = fieldsOf(definition);
  const field = fields.find((one) => one.path === path);
  if (field === undefined) return definition;
  const isBelow = (one: DefinedField): boolean =>
    one.path === path || one.path.startsWith(`${path}.`) || one.path.startsWith(`${path}[].`);
  const bare = fields.filter(isBelow).reduce(
    (next, one) =>
      changeField(next, one.path, {
        ...{ isRequired: false, isUnique: false, isIndexed: false, isSearchable: false },
        refersTo: undefined,
      }),
    definition,
  );
  return withProperties(bare, field.parents, ({ [field.name]: _, ...others }) => others);
}
