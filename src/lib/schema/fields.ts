// Lists the fields that a schema declares: which are read-only or write-only, their defaults and their nested fields.

import {
  isObjectSchema,
  type ObjectSchema,
  type Schema,
  type SchemaReferences,
} from "./subschemas.ts";

/** The format of a member that only an upload sets. */
export const fileFormat = "file";

/** What a schema declares about one value: its members by name, and its items if it is an array. */
export class Fields {
  /** The schemas that always apply to the value. */
  readonly schemas: readonly ObjectSchema[];
  readonly #cache: FieldsCache;
  #members: ReadonlyMap<string, Field> | undefined;
  #items: Fields | undefined;

  constructor(schemas: readonly ObjectSchema[], cache: FieldsCache) {
    this.schemas = schemas;
    this.#cache = cache;
  }

  get members(): ReadonlyMap<string, Field> {
    this.#members ??= this.#findMembers();
    return this.#members;
  }

  get items(): Fields {
    this.#items ??= this.#cache.of(
      this.schemas.flatMap(({ items }) => (isObjectSchema(items) ? [items] : [])),
    );
    return this.#items;
  }

  /** The index of the first item that `items` applies to. */
  get itemsStart(): number {
    const counts = this.schemas.map(({ prefixItems }) =>
      Array.isArray(prefixItems) ? prefixItems.length : 0,
    );
    return Math.max(0, ...counts);
  }

  /** The allowed types. Returns undefined when no schema has `type`. */
  get types(): ReadonlySet<unknown> | undefined {
    const typed = this.schemas.filter((schema) => Object.hasOwn(schema, "type"));
    const sets = typed.map(({ type }) => new Set([type].flat()));
    return sets.length === 0 ? undefined : sets.reduce((one, other) => one.intersection(other));
  }

  /** The alternatives of each `anyOf` and `oneOf`. */
  get alternatives(): readonly (readonly Fields[])[] {
    return this.schemas
      .flatMap(({ anyOf, oneOf }) => [anyOf, oneOf])
      .filter((choice) => Array.isArray(choice))
      .map((choice) => choice.map((one) => this.#cache.of(isObjectSchema(one) ? [one] : [])));
  }

  /** The field at a path. A name that ends with `[]` leads to the items. Returns undefined when it is not declared. */
  at(names: readonly string[]): Field | undefined {
    const [first = "", ...rest] = names;
    const isOfItems = first.endsWith("[]");
    const field = this.members.get(isOfItems ? first.slice(0, -2) : first);
    if (rest.length === 0) return field;
    return (isOfItems ? field?.inner.items : field?.inner)?.at(rest);
  }

  /** Whether the test is true for any field, at any depth. */
  some(test: (field: Field) => boolean, seen = new Set<Fields>()): boolean {
    if (seen.has(this)) return false;
    seen.add(this);
    for (const field of this.members.values())
      if (test(field) || field.inner.some(test, seen)) return true;
    return this.schemas.some(({ items }) => isObjectSchema(items)) && this.items.some(test, seen);
  }

  #findMembers(): ReadonlyMap<string, Field> {
    const declared = new Map<string, Schema[]>();
    for (const { properties } of this.schemas)
      for (const [name, schema] of Object.entries(isObjectSchema(properties) ? properties : {}))
        declared.set(name, [...(declared.get(name) ?? []), schema as Schema]);
    return new Map([...declared].map(([name, schemas]) => [name, this.#field(schemas)]));
  }

  #field(schemas: readonly Schema[]): Field {
    const inner = this.#cache.of(schemas.filter(isObjectSchema));
    const hasFlag = (name: string): boolean =>
      inner.schemas.some((schema) => schema[name] === true);
    const withDefault = inner.schemas.find((schema) => Object.hasOwn(schema, "default"));
    return {
      isReadOnly: hasFlag("readOnly"),
      isWriteOnly: hasFlag("writeOnly"),
      isFile: [inner, inner.items].some(({ schemas }) => schemas.some(isFileSchema)),
      defaultText: withDefault && JSON.stringify(withDefault.default),
      inner,
    };
  }
}

/** Whether the value is an uploaded file, which only the server describes. */
export const isFileSchema = ({ format }: ObjectSchema): boolean => format === fileFormat;

export interface Field {
  readonly isReadOnly: boolean;
  /** Stored and never returned. */
  readonly isWriteOnly: boolean;
  /** Whether it is a file, or a list of files. */
  readonly isFile: boolean;
  /** The JSON text of its default. */
  readonly defaultText: string | undefined;
  readonly inner: Fields;
}

/** Returns the same Fields for the same schemas, so that a recursive schema terminates. */
class FieldsCache {
  readonly #references: SchemaReferences;
  readonly #known = new Map<string, Fields>();
  readonly #numbers = new Map<ObjectSchema, number>();

  constructor(references: SchemaReferences) {
    this.#references = references;
  }

  of(schemas: readonly ObjectSchema[]): Fields {
    const all = new Set<ObjectSchema>();
    for (const schema of schemas) this.#collect(schema, all);
    const key = [...all].map((schema) => this.#numberOf(schema)).join();
    const known = this.#known.get(key) ?? new Fields([...all], this);
    this.#known.set(key, known);
    return known;
  }

  /** Adds the schema and those that always apply to the same value. */
  #collect(schema: ObjectSchema, all: Set<ObjectSchema>): void {
    if (all.has(schema)) return;
    all.add(schema);
    const target = this.#references.find(schema.$ref)?.schema;
    const parts = Array.isArray(schema.allOf) ? schema.allOf : [];
    for (const part of [target, ...parts]) if (isObjectSchema(part)) this.#collect(part, all);
  }

  #numberOf(schema: ObjectSchema): number {
    const number = this.#numbers.get(schema) ?? this.#numbers.size;
    this.#numbers.set(schema, number);
    return number;
  }
}

export const fieldsOf = (root: ObjectSchema, references: SchemaReferences): Fields =>
  new FieldsCache(references).of([root]);

/** Whether the field or one that contains it is write-only. */
export const isHiddenIn = (fields: Fields, names: readonly string[]): boolean =>
  names.some((_, index) => fields.at(names.slice(0, index + 1))?.isWriteOnly);
