// The fields that a schema declares: which are read-only, hidden or filled in, and what is inside them.

import { isObjectSchema, type ObjectSchema, type References, type Schema } from "./subschemas.ts";

/** What a schema declares of one value: its members by name, and its items if it is a list. */
export class Fields {
  /** Those that always judge the value. */
  readonly schemas: readonly ObjectSchema[];
  readonly #family: FieldsCache;
  #members: ReadonlyMap<string, Field> | undefined;
  #items: Fields | undefined;

  constructor(schemas: readonly ObjectSchema[], family: FieldsCache) {
    this.schemas = schemas;
    this.#family = family;
  }

  get members(): ReadonlyMap<string, Field> {
    this.#members ??= this.#findMembers();
    return this.#members;
  }

  get items(): Fields {
    this.#items ??= this.#family.of(
      this.schemas.flatMap(({ items }) => (isObjectSchema(items) ? [items] : [])),
    );
    return this.#items;
  }

  /** How many items come before those that `items` speaks of. */
  get itemsStart(): number {
    const counts = this.schemas.map(({ prefixItems }) =>
      Array.isArray(prefixItems) ? prefixItems.length : 0,
    );
    return Math.max(0, ...counts);
  }

  /** The types that are allowed; undefined where nothing is said. */
  get types(): ReadonlySet<unknown> | undefined {
    const said = this.schemas.filter((schema) => Object.hasOwn(schema, "type"));
    const sets = said.map(({ type }) => new Set([type].flat()));
    return sets.length === 0 ? undefined : sets.reduce((one, other) => one.intersection(other));
  }

  /** What `anyOf` and `oneOf` choose from: a list for each of them. */
  get alternatives(): readonly (readonly Fields[])[] {
    return this.schemas
      .flatMap(({ anyOf, oneOf }) => [anyOf, oneOf])
      .filter((choice) => Array.isArray(choice))
      .map((choice) => choice.map((one) => this.#family.of(isObjectSchema(one) ? [one] : [])));
  }

  /** The field at a path of names; undefined where it is not declared. */
  at(names: readonly string[]): Field | undefined {
    const [first = "", ...rest] = names;
    const field = this.members.get(first);
    return rest.length === 0 ? field : field?.inner.at(rest);
  }

  /** Whether it holds for a field in here, at any depth. */
  some(test: (field: Field) => boolean, seen = new Set<Fields>()): boolean {
    if (seen.has(this)) return false;
    seen.add(this);
    for (const field of this.members.values())
      if (test(field) || field.inner.some(test, seen)) return true;
    return this.schemas.some(({ items }) => isObjectSchema(items)) && this.items.some(test, seen);
  }

  #findMembers(): ReadonlyMap<string, Field> {
    const found = new Map<string, Schema[]>();
    for (const { properties } of this.schemas)
      for (const [name, schema] of Object.entries(isObjectSchema(properties) ? properties : {}))
        found.set(name, [...(found.get(name) ?? []), schema as Schema]);
    return new Map([...found].map(([name, schemas]) => [name, this.#field(schemas)]));
  }

  #field(schemas: readonly Schema[]): Field {
    const inner = this.#family.of(schemas.filter(isObjectSchema));
    const flagged = (name: string): boolean =>
      inner.schemas.some((schema) => schema[name] === true);
    const filled = inner.schemas.find((schema) => Object.hasOwn(schema, "default"));
    return {
      isReadOnly: flagged("readOnly"),
      isWriteOnly: flagged("writeOnly"),
      defaultText: filled && JSON.stringify(filled.default),
      inner,
    };
  }
}

export interface Field {
  readonly isReadOnly: boolean;
  /** Stored, and never shown. */
  readonly isWriteOnly: boolean;
  /** The JSON text of its default. */
  readonly defaultText: string | undefined;
  readonly inner: Fields;
}

/** The same schemas have the same fields, so that a schema which refers to itself ends. */
class FieldsCache {
  readonly #references: References;
  readonly #known = new Map<string, Fields>();
  readonly #numbers = new Map<ObjectSchema, number>();

  constructor(references: References) {
    this.#references = references;
  }

  of(schemas: readonly ObjectSchema[]): Fields {
    const all = new Set<ObjectSchema>();
    for (const schema of schemas) this.#gather(schema, all);
    const key = [...all].map((schema) => this.#numberOf(schema)).join();
    const known = this.#known.get(key) ?? new Fields([...all], this);
    this.#known.set(key, known);
    return known;
  }

  /** With the schemas that always judge the same value. */
  #gather(schema: ObjectSchema, all: Set<ObjectSchema>): void {
    if (all.has(schema)) return;
    all.add(schema);
    const target = this.#references.find(schema.$ref)?.schema;
    const parts = Array.isArray(schema.allOf) ? schema.allOf : [];
    for (const part of [target, ...parts]) if (isObjectSchema(part)) this.#gather(part, all);
  }

  #numberOf(schema: ObjectSchema): number {
    const number = this.#numbers.get(schema) ?? this.#numbers.size;
    this.#numbers.set(schema, number);
    return number;
  }
}

export const fieldsOf = (root: ObjectSchema, references: References): Fields =>
  new FieldsCache(references).of([root]);

/** Whether the field is never shown, or lies in one that is not. */
export const isHiddenIn = (fields: Fields, names: readonly string[]): boolean =>
  names.some((_, index) => fields.at(names.slice(0, index + 1))?.isWriteOnly);
