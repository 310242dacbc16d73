// Finds the fields of a collection that lists can filter and sort by, and how each is compared.

import { RecentMap } from "../../lib/recent-map.ts";
import { definitionOf } from "../definition.ts";
import { kindOf, plainName } from "../field-kind.ts";
import { firstReference, type Reference, referencesOf } from "../reference.ts";
import { reservedMembers, serverMembers } from "../resource.ts";
import { type ResourceValidator, validatorOf } from "../validator.ts";
import { indexPlanOf, ownerField } from "./index-plan.ts";
import type { ValueKind } from "./sort-key.ts";

/** The kind of value of a field, as its schema declares it. */
export interface QueryableField {
  readonly kind: ValueKind;
  readonly holds: "object" | "array" | "value";
}

interface FieldSchema {
  readonly type?: unknown;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly items?: unknown;
}

/** Keywords that can declare fields outside `properties`. They are not analysed here. */
const otherApplicators = [
  "$ref",
  "$dynamicRef",
  "allOf",
  "anyOf",
  "oneOf",
  "if",
  "patternProperties",
  "dependentSchemas",
];

/** How many field names an error message lists. */
const maxNames = 20;

export class QueryableFields {
  readonly #schema: unknown;
  readonly #validator: ResourceValidator;
  /** The fields that an index begins with. */
  readonly indexed: ReadonlySet<string>;
  /** The fields that a search covers. */
  readonly searchable: readonly string[];
  readonly #references: readonly Reference[];
  /** The fields that were asked for, as many as the definition declares. */
  readonly #found = new Map<string, QueryableField>();

  constructor(definition: string) {
    const { indexes, searchable } = indexPlanOf(definition);
    const parsed = definitionOf({ version: 0, definition });
    this.#schema = parsed.schema;
    this.#validator = validatorOf(parsed);
    this.indexed = new Set(
      indexes.flatMap(({ fields }) => fields.slice(0, 1).map(({ field }) => field)),
    );
    this.searchable = searchable.map(({ field }) => field);
    this.#references = referencesOf(parsed.references);
  }

  /** Returns the reference before a field of another collection. */
  referenceBefore(field: string): Reference | undefined {
    if (this.#references.length === 0) return undefined;
    const reference = firstReference(this.#references, field);
    return reference?.field === field ? undefined : reference;
  }

  /** Returns undefined when the field does not exist, is write-only, or is in another collection. */
  find(field: string): QueryableField | undefined {
    const cached = this.#found.get(field);
    if (cached !== undefined) return cached;
    if (this.referenceBefore(field) !== undefined) return undefined;
    const found = this.#fieldAt(field);
    if (found !== undefined && this.declares(field)) this.#found.set(field, found);
    return found;
  }

  #fieldAt(field: string): QueryableField | undefined {
    const kind = kindOf(this.#schema, field);
    if (serverMembers.includes(field)) return { kind, holds: "value" };
    const [head = ""] = field.split(".", 1);
    if (reservedMembers.includes(plainName(head)) || this.#validator.isHidden(field))
      return undefined;
    const schema = this.#schemaOf(field);
    if (schema === "undeclared" && !this.indexed.has(field)) return undefined;
    return { kind, holds: typeof schema === "object" ? holdingOf(schema) : "value" };
  }

  /** Whether the field is declared in the schema or indexed. */
  declares(field: string): boolean {
    if (this.#found.has(field)) return true;
    if (serverMembers.includes(field) || this.indexed.has(field)) return true;
    let current = this.#schema;
    for (const name of field.split(".")) {
      const properties = isSchema(current) ? current.properties : undefined;
      const plain = plainName(name);
      if (properties === undefined || !Object.hasOwn(properties, plain)) return false;
      current = properties[plain];
      if (plain !== name) current = isSchema(current) ? current.items : undefined;
    }
    return current !== undefined;
  }

  /** The schema of the field, `undeclared` when it cannot exist, or `open` when nothing is declared about it. */
  #schemaOf(field: string): FieldSchema | "undeclared" | "open" {
    let current = this.#schema;
    for (const name of field.split(".")) {
      if (!isSchema(current)) return "open";
      const { properties } = current;
      const plain = plainName(name);
      if (properties !== undefined && Object.hasOwn(properties, plain)) {
        current = properties[plain];
      } else if (isClosed(current)) {
        return "undeclared";
      } else {
        return "open";
      }
      if (plain === name) continue;
      if (!isSchema(current)) return "open";
      if (!mayBe("array", current)) return "undeclared";
      current = current.items;
    }
    return isSchema(current) ? current : "open";
  }

  /** Says that there is no such field, and which there are, as far as the caller is shown them. */
  explainUnknown(field: string, isShown: (field: string) => boolean = () => true): string {
    const reference = this.referenceBefore(field);
    const finds = (path: string) => this.find(path) !== undefined && isShown(path);
    if (reference !== undefined && finds(reference.field))
      return `"${field}" is not in this collection, because "${reference.field}" refers to another; filters and sort can name it, and expand=${reference.field} shows it`;
    const known = corrections(field).find(finds);
    return known === undefined
      ? `there is no field "${field}" in this collection; its fields are: ${this.#names(isShown)}`
      : `there is no field "${field}" in this collection; write ${known}`;
  }

  #names(isShown: (field: string) => boolean): string {
    const declared = namesIn(this.#schema, "");
    const others = [...this.indexed].filter((field) => field !== ownerField);
    const all = new Set(["id", ...declared, ...others, "createdAt", "updatedAt"]);
    const names = [...all].filter((field) => !this.#validator.isHidden(field) && isShown(field));
    const rest = names.length - maxNames;
    return names.slice(0, maxNames).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
  }
}

/** The path without `[]`, and with `[]` after one of its names. */
function corrections(field: string): readonly string[] {
  const names = field.split(".");
  const plain = names.map(plainName).join(".");
  const elements = names
    .slice(0, -1)
    .map((name, index) => names.with(index, `${name}[]`).join("."));
  return plain === field ? elements : [plain, ...elements];
}

const isSchema = (value: unknown): value is FieldSchema =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const typesOf = ({ type }: FieldSchema): readonly unknown[] =>
  type === undefined ? [] : [type].flat().filter((name) => name !== "null");

/** Whether values of this type can be valid, by the declared types. */
function mayBe(type: "array" | "object", schema: FieldSchema): boolean {
  const types = typesOf(schema);
  return types.length === 0 || types.includes(type);
}

/** Whether the schema allows only the fields in its `properties`. */
function isClosed(schema: FieldSchema): boolean {
  if (!mayBe("object", schema)) return true;
  return (
    schema.properties !== undefined &&
    !otherApplicators.some((keyword) => Object.hasOwn(schema, keyword))
  );
}

function holdingOf(schema: FieldSchema): QueryableField["holds"] {
  const types = typesOf(schema);
  const [type] = types;
  if (types.length === 1) return type === "object" || type === "array" ? type : "value";
  return types.length === 0 && schema.properties !== undefined ? "object" : "value";
}

function namesIn(schema: unknown, prefix: string): readonly string[] {
  if (!isSchema(schema)) return [];
  return Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
    // A name with a dot cannot be addressed.
    if (name.includes(".")) return [];
    const own = `${prefix}${name}`;
    const items = isSchema(inner) ? namesIn(inner.items, `${own}[].`) : [];
    const below = [...namesIn(inner, `${own}.`), ...items];
    return below.length > 0 ? below : [own];
  });
}

/** Enough for all collections of a busy server. */
const maxCached = 1_000;
const cache = new RecentMap<string, QueryableFields>(maxCached);

/** Cached by the text of the definition. */
export const queryableFieldsOf = (definition: string): QueryableFields =>
  cache.getOrAdd(definition, (text) => new QueryableFields(text));
