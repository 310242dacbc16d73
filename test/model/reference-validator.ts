// A slow validator that follows JSON Schema 2020-12 keyword by keyword. ajv checks the keywords without subschemas.

import { isDeepStrictEqual } from "node:util";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import {
  applicatorKeywords,
  isObjectSchema,
  type ObjectSchema,
  type Schema,
  SchemaReferences,
} from "../../src/lib/schema/subschemas.ts";

/** Decision 29 lists what ajv 8.20 does wrong with schemas in schemas. */
const ajv = new Ajv2020({ strict: false, ownProperties: true });
addFormats.default(ajv);

/** Whether the value is valid against the schema. References must be within it. */
export const isValidByReference = (root: ObjectSchema, value: unknown): boolean =>
  new ReferenceValidator(root).evaluated(root, value) !== undefined;

class ReferenceValidator {
  readonly #references: SchemaReferences;

  constructor(root: ObjectSchema) {
    this.#references = new SchemaReferences(root);
  }

  /** The members or items that the schema evaluates, or undefined when the value is not valid. */
  evaluated(schema: unknown, value: unknown): ReadonlySet<string> | undefined {
    if (!isObjectSchema(schema)) return schema === true ? new Set() : undefined;
    const keys = new Set<string>();
    // Core §11: these keywords apply after all others.
    const last = Object.keys(schema).filter((keyword) => keyword.startsWith("unevaluated"));
    const first = Object.keys(schema).filter((keyword) => !last.includes(keyword));
    const isValid = [...first, ...last].every((keyword) =>
      this.#isValid(schema, keyword, value, keys),
    );
    return isValid ? keys : undefined;
  }

  #isValid(schema: ObjectSchema, keyword: string, value: unknown, keys: Set<string>): boolean {
    const given = schema[keyword];
    const matches = (inner: unknown): boolean => {
      const evaluated = this.evaluated(inner, value);
      for (const key of evaluated ?? []) keys.add(key);
      return evaluated !== undefined;
    };
    const count = (forms: unknown): number => (forms as readonly Schema[]).filter(matches).length;
    switch (keyword) {
      case "$ref":
        return matches(this.#references.find(given)?.schema);
      case "allOf":
        return (given as readonly Schema[]).every(matches);
      case "anyOf":
        return count(given) > 0;
      case "oneOf":
        return count(given) === 1;
      case "not":
        return this.evaluated(given, value) === undefined;
      case "if":
        return matches((matches(given) ? schema.then : schema.else) ?? true);
      case "const":
        return isDeepStrictEqual(value, given);
      case "enum":
        return (given as readonly unknown[]).some((choice) => isDeepStrictEqual(value, choice));
      case "dependentSchemas":
        return Object.entries(given as object).every(
          ([name, inner]) =>
            !isObjectSchema(value) || !Object.hasOwn(value, name) || matches(inner),
        );
    }
    if (!applicatorKeywords.includes(keyword)) return isValidLeaf(keyword, given, value);
    return typeof value !== "object" || value === null
      ? true
      : this.#areChildrenValid(schema, keyword, value as Children, keys);
  }

  #areChildrenValid(
    schema: ObjectSchema,
    keyword: string,
    children: Children,
    keys: Set<string>,
  ): boolean {
    const given = schema[keyword];
    const matches = ([key, inner]: readonly [string, unknown]): boolean => {
      const isValid = this.evaluated(inner, children[key]) !== undefined;
      if (isValid) keys.add(key);
      return isValid;
    };
    if (keyword === "propertyNames" && isObjectSchema(children))
      return Object.keys(children).every((name) => this.evaluated(given, name) !== undefined);
    if (keyword === "contains" && Array.isArray(children)) {
      const { minContains = 1, maxContains = Infinity } = schema;
      const found = Object.keys(children).filter((key) => matches([key, given])).length;
      return found >= Number(minContains) && found <= Number(maxContains);
    }
    const applied = Array.isArray(children)
      ? itemSchemas(schema, keyword, Object.keys(children), keys)
      : memberSchemas(schema, keyword, Object.keys(children), keys);
    return applied.every(matches);
  }
}

type Children = Readonly<Record<string, unknown>>;

/** The members or items that a keyword applies schemas to. */
type Applied = readonly (readonly [key: string, schema: unknown])[];

function itemSchemas(
  schema: ObjectSchema,
  keyword: string,
  all: readonly string[],
  evaluated: ReadonlySet<string>,
): Applied {
  const first = (schema.prefixItems ?? []) as readonly Schema[];
  switch (keyword) {
    case "prefixItems":
      return all.slice(0, first.length).map((key) => [key, first[Number(key)]]);
    case "items":
      return all.slice(first.length).map((key) => [key, schema.items]);
    case "unevaluatedItems":
      return all.filter((key) => !evaluated.has(key)).map((key) => [key, schema.unevaluatedItems]);
  }
  return [];
}

function memberSchemas(
  schema: ObjectSchema,
  keyword: string,
  all: readonly string[],
  evaluated: ReadonlySet<string>,
): Applied {
  const declared = (schema.properties ?? {}) as Children;
  const patterns = Object.entries(schema.patternProperties ?? {});
  const isDeclared = (name: string) => Object.hasOwn(declared, name);
  const patternsOf = (name: string) =>
    patterns.filter(([each]) => new RegExp(each, "u").test(name));
  const rest = {
    additionalProperties: (name: string) => !isDeclared(name) && patternsOf(name).length === 0,
    unevaluatedProperties: (name: string) => !evaluated.has(name),
  };
  switch (keyword) {
    case "properties":
      return all.filter(isDeclared).map((name) => [name, declared[name]]);
    case "patternProperties":
      return all.flatMap((name) => patternsOf(name).map(([, inner]) => [name, inner] as const));
    case "additionalProperties":
    case "unevaluatedProperties":
      return all.filter(rest[keyword]).map((name) => [name, schema[keyword]]);
  }
  return [];
}

const leaves = new Map<string, (value: unknown) => boolean>();

/** Checks a keyword that applies no schema to the value or its children. */
function isValidLeaf(keyword: string, given: unknown, value: unknown): boolean {
  if (keyword === "uniqueItems" && Array.isArray(value))
    // ajv does not compare objects with a member `constructor`.
    return !given || !value.some((item, index) => value.slice(0, index).some(same(item)));
  const text = JSON.stringify({ [keyword]: given });
  const isValid = leaves.get(text) ?? ajv.compile(isAnnotation(keyword) ? {} : JSON.parse(text));
  leaves.set(text, isValid);
  return isValid(value);
}

const same = (one: unknown) => (other: unknown) => isDeepStrictEqual(one, other);

const isAnnotation = (keyword: string): boolean =>
  /^\$|Contains$|^content|^(title|description|examples|deprecated)$/.test(keyword);
