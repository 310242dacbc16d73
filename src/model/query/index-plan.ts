// Derives from a definition which indexes and search texts an engine maintains, and computes their entries.

import { type Fields, fieldsOf } from "../../lib/schema/fields.ts";
import { isObjectSchema, SchemaReferences } from "../../lib/schema/subschemas.ts";
import { type FormerFields, formerFieldsOf } from "../access/former-state.ts";
import { type ListedRules, namesOwner } from "../access/grant.ts";
import { ruleFields } from "../access/rule-fields.ts";
import { kindOf } from "../field-kind.ts";
import { type ListedField, type ListedIndex, readIndex } from "../listed-index.ts";
import { type ListedReferences, type Reference, referencesOf } from "../reference.ts";
import type { Resource } from "../resource.ts";
import { compoundKey, missingValue } from "./compound-key.ts";
import { keysAt, valueIn } from "./field-path.ts";
import type { EvaluatedContent, RelatedFacts } from "./predicate.ts";
import { keyOf, minKey, type ValueKind } from "./sort-key.ts";

export interface Index {
  /** What its entries are stored under: the field of an index over one ascending field. */
  readonly name: string;
  readonly fields: readonly IndexField[];
  /** No two resources have the same values. Resources without one of the values are ignored. */
  readonly isUnique: boolean;
}

export interface IndexField extends ListedField {
  readonly kind: ValueKind;
}

export interface IndexPlan {
  readonly indexes: readonly Index[];
  readonly searchable: readonly SearchField[];
  /** Fields with the ids of other resources. Each has an index of its name. */
  readonly references?: readonly Reference[];
  /** Set when searchable fields contain write-only fields, which must not be found. */
  readonly hidden?: HiddenFields;
  /** Set when former states are kept, because rules decide who reads what. */
  readonly formerFields?: FormerFields;
  /** Set while the words of existing resources are written: a search has to look at the resources. */
  readonly isSearchIncomplete?: true;
}

/** A field that full-text search covers. */
export interface SearchField {
  readonly field: string;
  /** Multiplies the rank of what is found in the field. */
  readonly weight: number;
}

/** A searchable field as the definition lists it. */
type ListedSearchField = string | { readonly field: string; readonly weight?: number };

interface HiddenFields {
  readonly fields: Fields;
  /** Equal for equal schemas. */
  readonly key: string;
}

/** The owner of the resource, as a field name that no path can have. */
export const ownerField = "";

const ownerIndex: Index = {
  name: ownerField,
  fields: [{ field: ownerField, kind: "text", isDescending: false }],
  isUnique: false,
};

/** The members of a definition that matter for indexes. */
interface IndexedDefinition extends ListedRules {
  readonly schema?: unknown;
  readonly unique?: readonly ListedIndex[];
  readonly indexed?: readonly ListedIndex[];
  readonly searchable?: readonly ListedSearchField[];
  readonly references?: ListedReferences;
}

export const emptyIndexPlan: IndexPlan = { indexes: [], searchable: [] };

/** The plan of a valid definition. */
export function indexPlanOf(definition: string): IndexPlan {
  if (definition === "{}") return emptyIndexPlan;
  const parsed: IndexedDefinition = JSON.parse(definition);
  const {
    schema,
    unique = [],
    indexed = [],
    searchable: searched = [],
    references: listed,
  } = parsed;
  const searchable = searched.map(toSearchField);
  const uniqueNames = new Set(unique.map((listed) => readIndex(listed).name));
  const references = referencesOf(listed);
  const named = [...references.map(({ field }) => field), ...ruleFields(parsed, references)];
  const all = [...unique, ...indexed, ...named].map(readIndex);
  const read = new Map(all.map((each) => [each.name, each]));
  const indexes = [...read.values()].map(
    ({ name, fields }): Index => ({
      name,
      fields: fields.map((each) => ({ ...each, kind: kindOf(schema, each.field) })),
      isUnique: uniqueNames.has(name),
    }),
  );
  const isOwned = namesOwner(parsed);
  const formerFields = formerFieldsOf(parsed);
  const hidden = searchable.length === 0 ? undefined : hiddenFieldsIn(schema, searchable);
  const plan = {
    indexes: isOwned ? [ownerIndex, ...indexes] : indexes,
    searchable,
    ...(references.length > 0 && { references }),
    ...(formerFields && { formerFields }),
  };
  return hidden === undefined ? plan : { ...plan, hidden };
}

const toSearchField = (listed: ListedSearchField): SearchField =>
  typeof listed === "string" ? { field: listed, weight: 1 } : { weight: 1, ...listed };

/** Returns undefined when no searchable field contains a write-only field. */
function hiddenFieldsIn(
  schema: unknown,
  searchable: readonly SearchField[],
): HiddenFields | undefined {
  if (!isObjectSchema(schema)) return undefined;
  const fields = fieldsOf(schema, new SchemaReferences(schema));
  const containsHidden = ({ field }: SearchField) =>
    fields.at(field.split("."))?.inner.some(({ isWriteOnly }) => isWriteOnly);
  return searchable.some(containsHidden) ? { fields, key: JSON.stringify(schema) } : undefined;
}

/** Whether both plans have the same search texts. */
export const isSameSearch = (one: IndexPlan, other: IndexPlan): boolean =>
  JSON.stringify(one.searchable) === JSON.stringify(other.searchable) &&
  one.hidden?.key === other.hidden?.key;

/** The values of a resource by field path, including the server's own members. Parses the fields on first use. */
export class IndexedContent implements EvaluatedContent {
  readonly related: RelatedFacts | undefined;
  readonly #resource: Resource;
  #fields: unknown;

  constructor(resource: Resource, related?: RelatedFacts) {
    this.#resource = resource;
    this.related = related;
  }

  /** The value of a field. A member name with a dot cannot be addressed. */
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

/** One index entry of a resource. */
export interface IndexEntry {
  /** The name of the index. */
  readonly field: string;
  readonly key: string;
}

export function entriesOf({ indexes }: IndexPlan, resource: Resource): readonly IndexEntry[] {
  if (indexes.length === 0) return [];
  const content = new IndexedContent(resource);
  return indexes.flatMap((index) =>
    keysIn(index, content).map((key) => ({ field: index.name, key })),
  );
}

/** The keys of a resource in an index. */
export function keysIn({ fields }: Index, content: IndexedContent): readonly string[] {
  const [first, ...more] = fields;
  if (first && more.length === 0) return keysAt(first.field, first.kind, content.at(first.field));
  const keys = fields.map(({ kind, field }) => keyOf(kind, content.at(field)));
  return [compoundKey(fields, keys)];
}

/** The keys in a unique index that no other resource may have. */
export const uniqueKeysIn = (index: Index, content: IndexedContent): readonly string[] =>
  keysIn(index, content).filter((key) =>
    index.fields.length === 1 ? key !== minKey : !key.includes(missingValue),
  );

/** The text of one searchable field, from `normalizeWords`. */
export interface SearchText {
  readonly text: string;
  /** The weight of the field. */
  readonly weight: number;
}

/** The texts that full-text search indexes. */
export function searchTextsOf(
  { searchable, hidden }: IndexPlan,
  resource: Resource,
): readonly SearchText[] {
  if (searchable.length === 0) return [];
  const content = new IndexedContent(resource);
  return searchable.map(({ field, weight }) => {
    const declared = hidden?.fields.at(field.split("."))?.inner;
    return { text: normalizeWords(textsIn(content.at(field), declared).join(" ")), weight };
  });
}

/** The strings and numbers in a value at any depth, without write-only fields. */
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

/** Lower-case letters and digits without accents, separated by single spaces. The same in every engine. */
export const normalizeWords = (text: string): string =>
  text
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
