// A schema as the validator gets it: what it decides on doubles or cannot compile is decided by functions of ours.

import { isMultipleOf } from "../json/number.ts";
import { mapSchemas } from "./map-schema.ts";
import { isObjectSchema, type ObjectSchema, type Schema } from "./subschemas.ts";

/** A list this long becomes an expression that is nested too deep to compile. */
const maxListed = 100;

/** A check that the validator calls. */
interface Refinement {
  readonly check: (value: unknown) => boolean;
  readonly error: () => string;
}

const known = new WeakMap<ObjectSchema, ObjectSchema>();

/** The same schema for the validator; made once for each schema and those inside it. */
export function prepared(schema: Schema): Schema {
  if (!isObjectSchema(schema)) return schema;
  const before = known.get(schema);
  if (before !== undefined) return before;
  const made = refined(mapSchemas(schema, prepared));
  known.set(schema, made);
  return made;
}

function refined(schema: ObjectSchema): ObjectSchema {
  const { multipleOf, enum: choices, required, dependentRequired, ...rest } = schema;
  const checks: Refinement["check"][] = [];
  const kept: Record<string, unknown> = rest;
  if (typeof multipleOf === "number")
    checks.push((value) => typeof value !== "number" || isMultipleOf(value, multipleOf));
  if (isLong(choices)) checks.push(isAmong(choices));
  else if (choices !== undefined) kept.enum = choices;
  if (isLong(required)) checks.push(hasAll(required));
  else if (required !== undefined) kept.required = required;
  const dependent = isObjectSchema(dependentRequired) ? Object.entries(dependentRequired) : [];
  const [long, short] = [dependent.filter(hasLong), dependent.filter((each) => !hasLong(each))];
  for (const [name, others] of long) {
    const isComplete = hasAll(others as readonly unknown[]);
    checks.push((value) => !hasMember(value, name) || isComplete(value));
  }
  if (dependentRequired !== undefined) kept.dependentRequired = Object.fromEntries(short);
  if (checks.length === 0) return schema;
  return { ...kept, "~refine": checks.map((check) => ({ check, error: () => "" })) };
}

const isLong = (list: unknown): list is readonly unknown[] =>
  Array.isArray(list) && list.length > maxListed;

const hasLong = ([, list]: readonly [string, unknown]): boolean => isLong(list);

const hasMember = (value: unknown, name: unknown): boolean =>
  isObjectSchema(value) && Object.hasOwn(value, String(name));

/** What is no object has no members to lack. */
const hasAll =
  (names: readonly unknown[]): Refinement["check"] =>
  (value) =>
    !isObjectSchema(value) || names.every((name) => hasMember(value, name));

/** Scalars are found as they are, lists and objects by their text with members in order. */
function isAmong(choices: readonly unknown[]): Refinement["check"] {
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
