// Rewrites a JSON Schema with the keywords that code generators understand.

import { isAnnotation, withoutAllOf, withoutUnevaluated } from "./all-of.ts";
import { mapSchemas } from "./map-schema.ts";
import {
  allSchemas,
  type Find,
  isObjectSchema,
  type ObjectSchema,
  type Schema,
  subschemasOf,
} from "./subschemas.ts";

/** Where a schema is used: in what a client sends, or in what it gets. */
export type Direction = "request" | "response";

/**
 * Keywords that would be wrong in a response: a client must not fill in defaults there, and it ignores
 * members that it does not know (RFC 9457 §3.2).
 */
const requestKeywords = new Set(["default", "readOnly", "writeOnly", "unevaluatedProperties"]);

/**
 * Accepts at least the values that the given schema accepts, and the same ones as far as the generators
 * allow: they reject boolean schemas, enums without a type, enums of numbers, defaults that are objects
 * or arrays, arrays that say nothing of their items, values of several types, and most of `allOf`.
 * References lead to components, which are converted by themselves.
 */
export function portableSchema(schema: Schema, direction: Direction, find: Find): ObjectSchema {
  const text = JSON.stringify(schema);
  // An explicit `additionalProperties` would count as evaluating all members, and `items` all items.
  const explicit = {
    members: direction === "response" || !text.includes('"unevaluatedProperties"'),
    items: !text.includes('"unevaluatedItems"'),
  };
  return new Conversion(direction, explicit, find).of(schema);
}

/** What is said of other members and of items where the schema is silent. */
interface Explicit {
  readonly members: boolean;
  readonly items: boolean;
}

/** How many references one schema replaces by their targets, which may have such references. */
const maxInlined = 100;

class Conversion {
  readonly #direction: Direction;
  readonly #explicit: Explicit;
  readonly #find: Find;
  /** The references whose targets are around the schema that is converted: recursion ends there. */
  readonly #open = new Set<string>();
  #inlined = 0;

  constructor(direction: Direction, explicit: Explicit, find: Find) {
    this.#direction = direction;
    this.#explicit = explicit;
    this.#find = find;
  }

  of(given: Schema): ObjectSchema {
    if (typeof given === "boolean") return given ? {} : { not: {} };
    const inlined: string[] = [];
    const schema = withoutAllOf(given, (reference) => {
      const target = this.#find(reference);
      // A part with such a keyword would be read with what is said explicitly of the whole.
      const isPart = !(JSON.stringify(target) ?? "").includes('"unevaluated');
      if (!isPart || this.#open.has(reference) || ++this.#inlined > maxInlined) return undefined;
      this.#open.add(reference);
      inlined.push(reference);
      return target;
    });
    const converted = this.#convert(schema);
    for (const reference of inlined) this.#open.delete(reference);
    return converted;
  }

  #convert(schema: ObjectSchema): ObjectSchema {
    if (hasSeveralTypes(schema)) return annotationsOf(schema);
    const keywords = Object.entries(schema).filter(([keyword, value]) =>
      this.#isKept(keyword, value),
    );
    const exact = withOneEnum(Object.fromEntries(keywords));
    const kept = withoutNamesakes(this.#withoutLooseConditions(exact));
    const inner = mapSchemas(kept, (one) => this.of(one));
    const open = this.#withItems(this.#withOtherMembers(inner, kept));
    const typed = withFormat(withTypedValues(open));
    return this.#direction === "request" ? withSafeBounds(typed) : typed;
  }

  #isKept(keyword: string, value: unknown): boolean {
    const isObject = typeof value === "object" && value !== null;
    if (keyword === "default" && isObject) return false;
    return this.#direction === "request" || !requestKeywords.has(keyword);
  }

  /**
   * Some keywords accept fewer values when a schema in them accepts more. They are left out where that
   * happens, and `oneOf` becomes `anyOf`.
   */
  #withoutLooseConditions(schema: ObjectSchema): ObjectSchema {
    const { not, if: condition, then, else: otherwise, oneOf, maxContains, ...others } = schema;
    const rest = this.#evaluatesLess(schema) ? withoutUnevaluated(others) : others;
    const isLoose = (one: unknown) => this.#isLoosened(one as Schema);
    const isOneLoose = Array.isArray(oneOf) && oneOf.some(isLoose);
    const any = rest.anyOf === undefined ? { anyOf: oneOf } : {};
    return {
      ...rest,
      ...(not !== undefined && !isLoose(not) && { not }),
      ...(condition !== undefined &&
        !isLoose(condition) && {
          if: condition,
          ...(then !== undefined && { then }),
          ...(otherwise !== undefined && { else: otherwise }),
        }),
      ...(oneOf !== undefined && (isOneLoose ? any : { oneOf })),
      ...(maxContains !== undefined && !isLoose(rest.contains) && { maxContains }),
    };
  }

  /** Whether the converted schema may accept more values. */
  #isLoosened(root: Schema = true, seen = new Set<Schema>()): boolean {
    if (seen.has(root)) return false;
    seen.add(root);
    return [...allSchemas({ path: [], schema: root })].some(({ schema }) => {
      if (!isObjectSchema(schema)) return false;
      const { $ref, allOf, additionalProperties, patternProperties } = schema;
      const isOpened =
        additionalProperties === false || Object.hasOwn(schema, "unevaluatedProperties");
      return (
        allOf !== undefined ||
        namesakesIn(schema).size > 0 ||
        (additionalProperties === false && patternProperties !== undefined) ||
        hasInexactValues(withOneEnum(schema)) ||
        hasSeveralTypes(schema) ||
        (isOpened && this.#direction === "response") ||
        (hasUnevaluated(schema) && hasReferences(schema)) ||
        (typeof $ref === "string" && this.#isLoosened(this.#find($ref), seen))
      );
    });
  }

  /** Whether the converted schema may evaluate fewer members or items of the same value. */
  #evaluatesLess(schema: Schema = true, seen = new Set<Schema>()): boolean {
    if (!isObjectSchema(schema) || seen.has(schema)) return false;
    seen.add(schema);
    const { $ref, allOf, anyOf, oneOf, if: condition } = schema;
    const inPlace = subschemasOf({ path: [], schema }).filter(
      ({ applies, keyword }) => applies === "in-place" && keyword !== "not",
    );
    return (
      allOf !== undefined ||
      namesakesIn(schema).size > 0 ||
      (anyOf !== undefined && oneOf !== undefined) ||
      hasSeveralTypes(schema) ||
      (condition !== undefined && this.#isLoosened(condition as Schema)) ||
      inPlace.some((inner) => this.#evaluatesLess(inner.schema, seen)) ||
      (typeof $ref === "string" && this.#evaluatesLess(this.#find($ref), seen))
    );
  }

  /** Says explicitly whether an object may have other members. Generators do not know patterns of names. */
  #withOtherMembers(converted: ObjectSchema, { additionalProperties }: ObjectSchema): ObjectSchema {
    const { type, properties } = converted;
    const [named, ...more] = Object.values(converted.patternProperties ?? {});
    if (additionalProperties === false && named !== undefined)
      return { ...converted, additionalProperties: more.length === 0 ? named : {} };
    if (additionalProperties === false)
      return { ...converted, additionalProperties: this.#direction === "request" ? false : {} };
    const isObject = [type].flat().includes("object") || isObjectSchema(properties);
    const isSilent = isObject && additionalProperties === undefined;
    return isSilent && this.#explicit.members
      ? { ...converted, additionalProperties: {} }
      : converted;
  }

  /** Says explicitly that an array may have any items. */
  #withItems(schema: ObjectSchema): ObjectSchema {
    const isArray = [schema.type].flat().includes("array");
    const isSilent = isArray && schema.items === undefined && this.#explicit.items;
    return isSilent ? { ...schema, items: {} } : schema;
  }
}

/** Beside null. */
const hasSeveralTypes = ({ type }: ObjectSchema): boolean =>
  [type].flat().filter((one) => one !== "null").length > 1;

const annotationsOf = ({ title, description, examples }: ObjectSchema): ObjectSchema => ({
  ...(title === undefined ? {} : { title }),
  ...(description === undefined ? {} : { description }),
  ...(examples === undefined ? {} : { examples }),
});

const hasUnevaluated = (schema: ObjectSchema): boolean =>
  Object.hasOwn(schema, "unevaluatedProperties") || Object.hasOwn(schema, "unevaluatedItems");

/** A schema that is referred to is converted by itself, and may evaluate more. */
const hasReferences = (schema: ObjectSchema): boolean =>
  [...allSchemas({ path: [], schema })].some(
    ({ schema: inner }) => isObjectSchema(inner) && inner.$ref !== undefined,
  );

/** Generated members and constants have names without punctuation, and may change their case. */
const plainName = (name: string): string =>
  name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "") || name;

/** The members that would have the name of another one, such as `_owner` beside `owner`. */
function namesakesIn({ properties }: ObjectSchema): ReadonlySet<string> {
  const names = Object.keys(isObjectSchema(properties) ? properties : {});
  const groups = [...Map.groupBy(names, plainName).values()];
  const later = groups.flatMap((group) => {
    const kept = group.find((name) => /^\p{L}/u.test(name)) ?? group[0];
    return group.filter((name) => name !== kept);
  });
  return new Set(later);
}

/** Leaves those members out; an object with one has it as any other member. */
function withoutNamesakes(schema: ObjectSchema): ObjectSchema {
  const left = namesakesIn(schema);
  if (left.size === 0) return schema;
  const { properties, required, additionalProperties: _, ...rest } = withoutUnevaluated(schema);
  const members = Object.entries(properties as object).filter(([name]) => !left.has(name));
  const names = (Array.isArray(required) ? required : []).filter((name) => !left.has(name));
  return {
    ...rest,
    ...(names.length > 0 && { required: names }),
    properties: Object.fromEntries(members),
  };
}

const typeOf = (value: unknown): string => {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
};

/** Whether a schema of one type is for a value. */
const isTypeOf = (type: unknown, value: unknown): boolean =>
  type === undefined || type === typeOf(value) || (type === "number" && typeof value === "number");

/** Writes a choice of constants as an enum. */
function withOneEnum(schema: ObjectSchema): ObjectSchema {
  const { anyOf, oneOf, ...rest } = schema;
  const choice = oneOf ?? anyOf;
  const isPlain = rest.enum === undefined && rest.const === undefined;
  if (!Array.isArray(choice) || !isPlain || (oneOf !== undefined && anyOf !== undefined))
    return schema;
  const lists = choice.map(constantsOf);
  const values = lists.flatMap((list) => list ?? []);
  const isChoice =
    lists.filter((list) => list?.some((value) => value !== null)).length > 1 &&
    lists.every((list) => list?.every((value) => isTypeOf(rest.type, value))) &&
    new Set(values.map((value) => JSON.stringify(value))).size === values.length;
  return isChoice ? { ...rest, enum: values } : schema;
}

/** The values of a schema that says nothing else; undefined for other schemas. */
function constantsOf(schema: unknown): readonly unknown[] | undefined {
  if (!isObjectSchema(schema)) return undefined;
  const { type, const: only, enum: list, ...others } = schema;
  if (!isAnnotation(others) || (only !== undefined && list !== undefined)) return undefined;
  if (type === "null" && only === undefined && list === undefined) return [null];
  const values = Array.isArray(list) ? list : Object.hasOwn(schema, "const") ? [only] : [];
  return values.length > 0 && values.every((value) => isTypeOf(type, value)) ? values : undefined;
}

/** Replaces `enum` and `const`: only texts stay an enum. */
function withTypedValues(schema: ObjectSchema): ObjectSchema {
  if (!Object.hasOwn(schema, "const") && !Array.isArray(schema.enum)) return schema;
  const { const: only, enum: list, ...rest } = schema;
  const values: readonly unknown[] = Array.isArray(list) ? list : [only];
  const known = values.filter((value) => value !== null);
  const typed = { ...rest, ...valuesOf(known, rest) };
  if (known.length === values.length) return typed;
  if (known.length === 0) return { ...rest, type: "null" };
  const { type: _, ...outer } = rest;
  const { description, ...value } = typed;
  const words = description === undefined ? {} : { description };
  return { ...outer, ...words, anyOf: [withFormat(value), { type: "null" }] };
}

/** Whether generators can make a name of each value: names differ in more than case and punctuation. */
function areNames(values: readonly unknown[]): boolean {
  const names = values.map((value) => (typeof value === "string" ? plainName(value) : undefined));
  return !names.includes(undefined) && new Set(names).size === new Set(values).size;
}

/** Whether `enum` or `const` has values that only words can tell. */
function hasInexactValues({ enum: list, const: only }: ObjectSchema): boolean {
  const values: readonly unknown[] = Array.isArray(list) ? list : only === undefined ? [] : [only];
  const known = new Set(values.filter((value) => value !== null));
  const numbers = [...known].filter((value) => typeof value === "number");
  if (numbers.length === 0) return !areNames([...known]);
  const span = Math.max(...numbers) - Math.min(...numbers) + 1;
  return numbers.length < known.size || !numbers.every(Number.isInteger) || span > numbers.length;
}

/** Describes a list of values other than null. */
function valuesOf(values: readonly unknown[], { type, description }: ObjectSchema): ObjectSchema {
  const types = new Set(values.map(typeOf));
  const [only = ""] = types;
  if (areNames(values)) return { type: "string", enum: values };
  const words = `One of ${values.map((value) => JSON.stringify(value)).join(", ")}.`;
  const worded = {
    description: typeof description === "string" ? `${description} ${words}` : words,
  };
  const numbers = values.filter((value) => typeof value === "number");
  if (numbers.length === values.length && numbers.length > 0) {
    const bounds = { minimum: Math.min(...numbers), maximum: Math.max(...numbers) };
    return { type: types.has("number") ? "number" : "integer", ...bounds, ...worded };
  }
  if (types.size === 1)
    return { type: only, ...(only === "boolean" && allowsBoth(values) ? {} : worded) };
  return { ...(type === undefined ? {} : { type }), ...worded };
}

/** Whether both booleans are allowed. */
const allowsBoth = (values: readonly unknown[]): boolean => new Set(values).size === 2;

/** Without a format, generators take 32 bits. */
const formats: Readonly<Record<string, string>> = { integer: "int64", number: "double" };

function withFormat(schema: ObjectSchema): ObjectSchema {
  const types = [schema.type].flat().filter((type) => type !== "null");
  const [type] = types;
  if (types.length !== 1 || typeof type !== "string" || schema.format !== undefined) return schema;
  return Object.hasOwn(formats, type) ? { ...schema, format: formats[type] } : schema;
}

/** The server rejects an integer that JavaScript would round. */
function withSafeBounds(schema: ObjectSchema): ObjectSchema {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum } = schema;
  if (schema.format !== "int64" || ![schema.type].flat().includes("integer")) return schema;
  const hasMinimum = minimum !== undefined || exclusiveMinimum !== undefined;
  const hasMaximum = maximum !== undefined || exclusiveMaximum !== undefined;
  return {
    ...schema,
    ...(hasMinimum ? {} : { minimum: Number.MIN_SAFE_INTEGER }),
    ...(hasMaximum ? {} : { maximum: Number.MAX_SAFE_INTEGER }),
  };
}
