// Prepares a schema for the validator library: keywords that it checks inexactly or cannot compile become custom checks.

import { isMultipleOf } from "../json/number.ts";
import { mapSchemas } from "./map-schema.ts";
import { isObjectSchema, type ObjectSchema, type Schema } from "./subschemas.ts";
import { hasUnevaluated } from "./unevaluated.ts";

/** A longer list compiles to an expression that is nested too deep. */
const maxListed = 100;

/** A custom check that the validator calls. */
interface Refinement {
  readonly check: (value: unknown) => boolean;
  readonly error: () => string;
}

/** What a prepared schema needs from the schema that it is a part of. */
export interface SchemaContext {
  /** Returns the check of `$ref`. */
  checkOfReference(reference: string): Refinement["check"];
  /** Returns the check of a whole schema that has `unevaluatedProperties` or `unevaluatedItems`. */
  checkOfUnevaluated(schema: ObjectSchema): Refinement["check"];
}

/** Prepares the parts of one schema. The result is cached for each schema and subschema. */
export class Preparation {
  readonly #context: SchemaContext;
  readonly #cache = new WeakMap<ObjectSchema, ObjectSchema>();

  constructor(context: SchemaContext) {
    this.#context = context;
  }

  prepared(schema: Schema): Schema {
    if (!isObjectSchema(schema)) return schema;
    const cached = this.#cache.get(schema);
    if (cached !== undefined) return cached;
    const result = hasUnevaluated(schema)
      ? refinedBy([this.#context.checkOfUnevaluated(schema)])
      : refined(this.#context, this.#withPreparedParts(schema));
    this.#cache.set(schema, result);
    return result;
  }

  /** Leaves out what is only for references: they are resolved here, and not by the library. */
  #withPreparedParts({ $id, $anchor, $defs, ...schema }: ObjectSchema): ObjectSchema {
    return mapSchemas(schema, (inner) => this.prepared(inner));
  }
}

const refinedBy = (checks: readonly Refinement["check"][]): ObjectSchema => ({
  "~refine": checks.map((check) => ({ check, error: () => "" })),
});

function refined(context: SchemaContext, schema: ObjectSchema): ObjectSchema {
  const { $ref, multipleOf, enum: choices, required, dependentRequired, ...rest } = schema;
  const checks: Refinement["check"][] = [];
  const keywords: Record<string, unknown> = rest;
  if (typeof $ref === "string") checks.push(context.checkOfReference($ref));
  if (typeof multipleOf === "number")
    checks.push((value) => typeof value !== "number" || isMultipleOf(value, multipleOf));
  if (isLong(choices)) checks.push(isAmong(choices));
  else if (choices !== undefined) keywords.enum = choices;
  if (isLong(required)) checks.push(hasAll(required));
  else if (required !== undefined) keywords.required = required;
  const dependent = isObjectSchema(dependentRequired) ? Object.entries(dependentRequired) : [];
  const [long, short] = [dependent.filter(hasLong), dependent.filter((each) => !hasLong(each))];
  for (const [name, others] of long) {
    const isComplete = hasAll(others as readonly unknown[]);
    checks.push((value) => !hasMember(value, name) || isComplete(value));
  }
  if (dependentRequired !== undefined) keywords.dependentRequired = Object.fromEntries(short);
  if (checks.length === 0) return schema;
  return { ...keywords, ...refinedBy(checks) };
}

const isLong = (list: unknown): list is readonly unknown[] =>
  Array.isArray(list) && list.length > maxListed;

const hasLong = ([, list]: readonly [string, unknown]): boolean => isLong(list);

const hasMember = (value: unknown, name: unknown): boolean =>
  isObjectSchema(value) && Object.hasOwn(value, String(name));

/** `required` applies to objects only. */
const hasAll =
  (names: readonly unknown[]): Refinement["check"] =>
  (value) =>
    !isObjectSchema(value) || names.every((name) => hasMember(value, name));

const amongChecks = new WeakMap<readonly unknown[], Refinement["check"]>();

/** Made once for each list, because explaining errors prepares parts of a schema again and again. */
function isAmong(choices: readonly unknown[]): Refinement["check"] {
  const check = amongChecks.get(choices) ?? among(choices);
  amongChecks.set(choices, check);
  return check;
}

/** Scalars are compared directly, arrays and objects by their canonical JSON text. */
function among(choices: readonly unknown[]): Refinement["check"] {
  const scalars = new Set(choices.filter((choice) => !isNested(choice)));
  const texts = new Set(choices.filter(isNested).map(canonical));
  return (value) => (isNested(value) ? texts.has(canonical(value)) : scalars.has(value));
}

const isNested = (value: unknown): boolean => typeof value === "object" && value !== null;

const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, each) =>
    isObjectSchema(each)
      ? Object.fromEntries(Object.entries(each).sort(([one], [other]) => (one < other ? -1 : 1)))
      : each,
  );
