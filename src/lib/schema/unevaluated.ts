// Applies schemas with `unevaluatedProperties` or `unevaluatedItems`: finds the members and items that other keywords evaluate.

import {
  isObjectSchema,
  type ObjectSchema,
  type Schema,
  type SchemaReferences,
  subschemasOf,
} from "./subschemas.ts";

/** Member names, or indexes as strings. */
type EvaluatedKeys = readonly string[];
type Evaluated = ReadonlySet<string>;
type ObjectValue = Readonly<Record<string, unknown>>;

const none: Evaluated = new Set();

export const hasUnevaluated = ({
  unevaluatedProperties,
  unevaluatedItems,
}: ObjectSchema): boolean => unevaluatedProperties !== undefined || unevaluatedItems !== undefined;

/**
 * Applies each schema to each value once, because the time would double with every level of a value otherwise.
 * A keyword sees what the subschemas of its own schema evaluate, if the value is valid against them
 * (JSON Schema 2020-12 Core §11).
 */
export class Evaluator {
  readonly #references: SchemaReferences;
  readonly #isValid: (schema: Schema, value: unknown) => boolean;
  readonly #ownParts = new WeakMap<ObjectSchema, OwnPart>();

  /** `isValid` is called with subschemas for children, and with the part of a schema that depends on no other schema. */
  constructor(references: SchemaReferences, isValid: (schema: Schema, value: unknown) => boolean) {
    this.#references = references;
    this.#isValid = isValid;
  }

  /** The evaluated members or items, or undefined when the value is not valid. */
  apply(schema: Schema, value: unknown): Evaluated | undefined {
    if (!isObjectSchema(schema)) return schema ? none : undefined;
    const evaluated = this.#evaluated(schema, value);
    if (evaluated === undefined || !isNested(value)) return evaluated;
    const rest = unevaluatedSchemaFor(schema, value);
    if (rest === undefined) return evaluated;
    const keys = Object.keys(value);
    const isValid = keys.every((key) => evaluated.has(key) || this.#isValid(rest, value[key]));
    return isValid ? new Set(keys) : undefined;
  }

  /** The schemas that `apply` validates with: those for children, and the own part of each schema for the same value. */
  *partsOf(schema: Schema, seen = new Set<Schema>()): Generator<Schema> {
    if (!isObjectSchema(schema) || seen.has(schema)) return;
    seen.add(schema);
    yield this.#ownPart(schema).schema;
    for (const keyword of ["contains", "unevaluatedProperties", "unevaluatedItems"])
      if (Object.hasOwn(schema, keyword)) yield schema[keyword] as Schema;
    const target = this.#references.find(schema.$ref)?.schema ?? true;
    yield* this.partsOf(target, seen);
    for (const inner of subschemasOf({ path: [], schema }))
      if (inner.applies === "in-place" && inner.keyword !== "not")
        yield* this.partsOf(inner.schema, seen);
  }

  /** The members or items that only `unevaluatedProperties` or `unevaluatedItems` apply to. */
  unevaluatedKeys(schema: ObjectSchema, value: unknown): EvaluatedKeys {
    const evaluated = this.#evaluated(schema, value);
    if (evaluated === undefined || !isNested(value)) return [];
    return Object.keys(value).filter((key) => !evaluated.has(key));
  }

  /** What the other keywords evaluate, or undefined when the value is not valid against them. */
  #evaluated(schema: ObjectSchema, value: unknown): Evaluated | undefined {
    const own = this.#ownPart(schema);
    if (!this.#isValid(own.schema, value)) return undefined;
    const evaluated = new Set(isNested(value) ? own.keysIn(value) : []);
    const matches = (inner: Schema): boolean => {
      const keys = this.apply(inner, value);
      for (const key of keys ?? []) evaluated.add(key);
      return keys !== undefined;
    };
    const isValid =
      this.#requiredSchemas(schema, value).every(matches) &&
      matchesChoices(schema, matches) &&
      matchesCondition(schema, matches) &&
      this.#matchesContains(schema, value, evaluated);
    return isValid ? evaluated : undefined;
  }

  /** The schemas for the same value that must all match. */
  #requiredSchemas({ $ref, allOf, dependentSchemas }: ObjectSchema, value: unknown) {
    const schemas = [...((allOf as readonly Schema[] | undefined) ?? [])];
    if ($ref !== undefined) schemas.push(this.#references.find($ref)?.schema ?? false);
    if (isObjectSchema(value))
      for (const [name, inner] of Object.entries(dependentSchemas ?? {}))
        if (Object.hasOwn(value, name)) schemas.push(inner as Schema);
    return schemas;
  }

  #matchesContains(schema: ObjectSchema, value: unknown, evaluated: Set<string>): boolean {
    const { contains, minContains = 1, maxContains = Infinity } = schema;
    if (contains === undefined || !Array.isArray(value)) return true;
    const keys = Object.keys(value).filter((_, index) =>
      this.#isValid(contains as Schema, value[index]),
    );
    for (const key of keys) evaluated.add(key);
    return keys.length >= Number(minContains) && keys.length <= Number(maxContains);
  }

  #ownPart(schema: ObjectSchema): OwnPart {
    const known = this.#ownParts.get(schema);
    if (known !== undefined) return known;
    const part = new OwnPart(schema);
    this.#ownParts.set(schema, part);
    return part;
  }
}

/** The keywords of a schema that apply no other schema to the same value, and `not`, which evaluates nothing. */
class OwnPart {
  readonly schema: ObjectSchema;
  readonly #patterns: readonly RegExp[];

  constructor(whole: ObjectSchema) {
    const { unevaluatedProperties, unevaluatedItems, $ref, allOf, anyOf, oneOf, ...rest } = whole;
    const { if: _, then, else: __, dependentSchemas, ...others } = rest;
    const { contains, minContains, maxContains, ...own } = others;
    this.schema = own;
    this.#patterns = Object.keys(own.patternProperties ?? {}).map(
      (pattern) => new RegExp(pattern, "u"),
    );
  }

  /** The members or items that these keywords evaluate. */
  keysIn(value: ObjectValue): EvaluatedKeys {
    const { properties = {}, additionalProperties, prefixItems, items } = this.schema;
    const keys = Object.keys(value);
    if (Array.isArray(value))
      return items === undefined ? keys.slice(0, lengthOf(prefixItems)) : keys;
    if (additionalProperties !== undefined) return keys;
    return keys.filter(
      (name) =>
        Object.hasOwn(properties as object, name) ||
        this.#patterns.some((pattern) => pattern.test(name)),
    );
  }
}

const isNested = (value: unknown): value is ObjectValue =>
  typeof value === "object" && value !== null;

const lengthOf = (list: unknown): number => (Array.isArray(list) ? list.length : 0);

const unevaluatedSchemaFor = (schema: ObjectSchema, value: ObjectValue): Schema | undefined =>
  (Array.isArray(value) ? schema.unevaluatedItems : schema.unevaluatedProperties) as
    | Schema
    | undefined;

type Matches = (schema: Schema) => boolean;

/** Tries every form, because each that matches evaluates members. */
function matchesChoices({ anyOf, oneOf }: ObjectSchema, matches: Matches): boolean {
  const count = (forms: unknown) => (forms as readonly Schema[]).filter(matches).length;
  return (anyOf === undefined || count(anyOf) > 0) && (oneOf === undefined || count(oneOf) === 1);
}

function matchesCondition(schema: ObjectSchema, matches: Matches): boolean {
  if (schema.if === undefined) return true;
  const branch = matches(schema.if as Schema) ? schema.then : schema.else;
  return branch === undefined || matches(branch as Schema);
}
