// What a collection's definition asks an engine to keep beside the resources: indexes and words.

import { own } from "../../lib/own-property.ts";
import { type Fields, fieldsOf } from "../../lib/schema/fields.ts";
import { isObjectSchema, References } from "../../lib/schema/subschemas.ts";
import type { Resource } from "../resource.ts";
import { keysOf, type ValueKind } from "./sort-key.ts";

export interface Index {
  /** A path of names with dots. */
  readonly field: string;
  readonly kind: ValueKind;
  /** No two resources have the same value; those without one do not count. */
  readonly isUnique: boolean;
}

export interface IndexPlan {
  readonly indexes: readonly Index[];
  /** The fields whose words can be searched. */
  readonly searchable: readonly string[];
  /** Where fields in these are never shown, and so must not be found: what the schema declares. */
  readonly hidden?: HiddenFields;
}

interface HiddenFields {
  readonly fields: Fields;
  /** The same for schemas that are the same. */
  readonly key: string;
}

/** Who created the resource, as a field that no path can name. */
export const ownerField = "";

/** As much of a definition as matters here. */
interface IndexedDefinition {
  readonly schema?: unknown;
  readonly access?: Readonly<Record<string, unknown>>;
  readonly unique?: readonly string[];
  readonly indexed?: readonly string[];
  readonly searchable?: readonly string[];
}

export const emptyIndexPlan: IndexPlan = { indexes: [], searchable: [] };

/** The plan in a definition that was found to be valid. */
export function indexPlanOf(definition: string): IndexPlan {
  if (definition === "{}") return emptyIndexPlan;
  const {
    schema,
    access = {},
    unique = [],
    indexed = [],
    searchable = [],
  }: IndexedDefinition = JSON.parse(definition);
  const fields = [...new Set([...unique, ...indexed])];
  const indexes = fields.map((field) => {
    return { field, kind: kindOf(schema, field), isUnique: unique.includes(field) };
  });
  const isOwned = Object.values(access).includes("owner");
  const owners: readonly Index[] = [{ field: ownerField, kind: "text", isUnique: false }];
  const hidden = searchable.length === 0 ? undefined : hiddenFieldsIn(schema, searchable);
  const plan = { indexes: isOwned ? [...owners, ...indexes] : indexes, searchable };
  return hidden === undefined ? plan : { ...plan, hidden };
}

/** Undefined where all of the searchable fields is shown. */
function hiddenFieldsIn(schema: unknown, searchable: readonly string[]): HiddenFields | undefined {
  if (!isObjectSchema(schema)) return undefined;
  const fields = fieldsOf(schema, new References(schema));
  const holdsHidden = (field: string) =>
    fields.at(field.split("."))?.inner.some(({ isWriteOnly }) => isWriteOnly);
  return searchable.some(holdsHidden) ? { fields, key: JSON.stringify(schema) } : undefined;
}

/** Whether the same words are kept by both plans. */
export const isSameSearch = (one: IndexPlan, other: IndexPlan): boolean =>
  JSON.stringify(one.searchable) === JSON.stringify(other.searchable) &&
  one.hidden?.key === other.hidden?.key;

interface Declared {
  readonly type?: unknown;
  readonly format?: unknown;
  readonly properties?: Readonly<Record<string, unknown>>;
}

const kinds: Readonly<Record<string, ValueKind>> = {
  string: "text",
  number: "number",
  integer: "number",
  boolean: "boolean",
};
const timeFormats = new Set<unknown>(["date-time", "date"]);
const times = new Set(["createdAt", "updatedAt"]);

/** How a field is compared: as its schema declares it; a null beside the type does not matter. */
export function kindOf(schema: unknown, field: string): ValueKind {
  if (times.has(field)) return "time";
  if (field === "id") return "text";
  const declared = declaredAt(schema, field);
  if (declared === undefined) return "any";
  const types = [declared.type].flat().filter((type) => type !== "null");
  const [type] = types;
  if (types.length !== 1 || typeof type !== "string") return "any";
  if (type === "string" && timeFormats.has(declared.format)) return "time";
  return own(kinds, type) ?? "any";
}

/** The schema of a field, where `properties` lead to it. */
export function declaredAt(schema: unknown, field: string): Declared | undefined {
  let place: unknown = schema;
  for (const name of field.split(".")) {
    const properties = isObject(place) ? (place as Declared).properties : undefined;
    if (!properties || !Object.hasOwn(properties, name)) return undefined;
    place = properties[name];
  }
  return isObject(place) ? (place as Declared) : undefined;
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A resource as it is compared: the parsed fields and what the server knows of it. */
export class IndexedContent {
  readonly #resource: Resource;
  #fields: unknown;

  constructor(resource: Resource) {
    this.#resource = resource;
  }

  /** The value of a field; a name with a dot in it cannot be reached. */
  at(field: string): unknown {
    const { id, createdAt, updatedAt, owner, fields } = this.#resource;
    switch (field) {
      case "id":
        return id;
      case "createdAt":
        return createdAt;
      case "updatedAt":
        return updatedAt;
      case ownerField:
        return owner;
    }
    this.#fields ??= JSON.parse(fields);
    return valueIn(this.#fields, field);
  }
}

/** The value at a path of names with dots, within a value that was parsed. */
export function valueIn(content: unknown, field: string): unknown {
  let place = content;
  for (const name of field.split(".")) {
    if (!isObject(place) || !Object.hasOwn(place, name)) return undefined;
    place = (place as Readonly<Record<string, unknown>>)[name];
  }
  return place;
}

/** What an index holds of a resource. */
export interface IndexEntry {
  readonly field: string;
  readonly key: string;
}

export function entriesOf({ indexes }: IndexPlan, resource: Resource): readonly IndexEntry[] {
  if (indexes.length === 0) return [];
  const content = new IndexedContent(resource);
  return indexes.flatMap(({ field, kind }) =>
    keysOf(kind, content.at(field)).map((key) => ({ field, key })),
  );
}

/** The words of a resource that can be searched, in order; empty where nothing is searchable. */
export function searchTextOf({ searchable, hidden }: IndexPlan, resource: Resource): string {
  if (searchable.length === 0) return "";
  const content = new IndexedContent(resource);
  return searchable
    .map((field) => {
      const declared = hidden?.fields.at(field.split("."))?.inner;
      return normalizeWords(textsIn(content.at(field), declared).join(" "));
    })
    .join(" ");
}

/** The texts in a value, at any depth, without those of fields that are never shown. */
function textsIn(value: unknown, declared: Fields | undefined): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value === "number") return [String(value)];
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item) => textsIn(item, undefined));
  return Object.entries(value).flatMap(([name, inner]) => {
    const field = declared?.members.get(name);
    return field?.isWriteOnly ? [] : textsIn(inner, field?.inner);
  });
}

/** Letters and digits, small and without accents, divided by single spaces: the same in every engine. */
export const normalizeWords = (text: string): string =>
  text
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
