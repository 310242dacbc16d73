// Makes an example value for a schema: one that the schema names, or a simple guess.

import { own } from "../own-property.ts";
import { type Find, isObjectSchema, type ObjectSchema, type Schema } from "./subschemas.ts";

/** Limits of the search and of the length of an example. */
const maxSchemas = 1_000;
const maxLength = 1_000;

/** Returns undefined when no example is found. The example may be invalid, because it is a guess. */
export const exampleOf = (schema: Schema, find: Find): unknown =>
  new ExampleSearch(find).of(schema);

class ExampleSearch {
  readonly #find: Find;
  /** The references being followed. A recursive one ends the search. */
  readonly #open = new Set<string>();
  #count = 0;

  constructor(find: Find) {
    this.#find = find;
  }

  of(schema: Schema): unknown {
    if (schema === false || ++this.#count > maxSchemas) return undefined;
    if (schema === true) return "text";
    const { examples, const: only, enum: values } = schema;
    if (Array.isArray(examples) && examples.length > 0) return examples[0];
    if (schema.default !== undefined) return schema.default;
    if (only !== undefined) return only;
    return Array.isArray(values) ? values[0] : this.#combined(schema);
  }

  /** Combines the example of the schema itself with those of its $ref, allOf, anyOf and oneOf. */
  #combined(schema: ObjectSchema): unknown {
    const parts = partsOf(schema);
    const others = [
      ...(typeof schema.$ref === "string" ? [this.#ofReference(schema.$ref)] : []),
      ...parts.map((part) => this.of(part)),
    ];
    if (others.length === 0) return this.#ofType(schema);
    if (others.includes(undefined)) return undefined;
    const ownExample = typeOf(schema) === "object" ? this.#ofType(schema) : {};
    const all = [ownExample, ...others];
    return all.every(isObjectSchema) ? Object.assign({}, ...all) : others[0];
  }

  #ofReference(reference: string): unknown {
    const target = this.#find(reference);
    if (target === undefined || this.#open.has(reference)) return undefined;
    this.#open.add(reference);
    const example = this.of(target);
    this.#open.delete(reference);
    return example;
  }

  #ofType(schema: ObjectSchema): unknown {
    switch (typeOf(schema)) {
      case "object":
        return this.#object(schema);
      case "array":
        return this.#array(schema);
      case "number":
      case "integer":
        return exampleNumber(schema);
      case "null":
        return null;
      case "boolean":
        return true;
      default:
        return exampleText(schema);
    }
  }

  #object({ properties = {}, required = [] }: ObjectSchema): unknown {
    const members = Object.entries(properties as Readonly<Record<string, Schema>>)
      .map(([name, member]) => [name, this.of(member)] as const)
      .filter(([, example]) => example !== undefined);
    const example = Object.fromEntries(members);
    const isMissing = (name: string) =>
      Object.hasOwn(properties as object, name) && !Object.hasOwn(example, name);
    return (required as readonly string[]).some(isMissing) ? undefined : example;
  }

  #array({ prefixItems, items = true, minItems = 1 }: ObjectSchema): unknown {
    const first = (Array.isArray(prefixItems) ? prefixItems : []).map((item) => this.of(item));
    const missing = Math.max(0, Math.min(Number(minItems), 10) - first.length);
    const rest = missing > 0 ? this.of(items as Schema) : [];
    const isIncomplete = first.includes(undefined) || (rest === undefined && minItems !== 1);
    if (isIncomplete) return undefined;
    return rest === undefined ? first : [...first, ...Array(missing).fill(rest)];
  }
}

/** All schemas of `allOf`, and the first of `anyOf` and `oneOf`. */
function partsOf({ allOf, anyOf, oneOf }: ObjectSchema): readonly Schema[] {
  const first = (list: unknown) => (Array.isArray(list) ? list.slice(0, 1) : []);
  return [...(Array.isArray(allOf) ? allOf : []), ...first(anyOf), ...first(oneOf)];
}

const numericKeywords = "minimum exclusiveMinimum maximum exclusiveMaximum multipleOf".split(" ");

/** The declared type other than null, or the type that the keywords imply. */
function typeOf(schema: ObjectSchema): unknown {
  const { type, properties, items, prefixItems } = schema;
  const [first] = [type].flat().filter((one) => one !== "null" && one !== undefined);
  if (first !== undefined) return first;
  if (type !== undefined) return "null";
  if (properties !== undefined) return "object";
  if (items !== undefined || prefixItems !== undefined) return "array";
  return numericKeywords.some((keyword) => Object.hasOwn(schema, keyword)) ? "number" : "string";
}

const samples: Readonly<Record<string, string>> = {
  "date-time": "2026-11-15T09:30:00Z",
  date: "2026-11-15",
  time: "09:30:00Z",
  duration: "P3D",
  email: "ada@example.org",
  "idn-email": "ada@example.org",
  hostname: "example.org",
  "idn-hostname": "example.org",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  uri: "https://example.org/",
  iri: "https://example.org/",
  "uri-reference": "/people",
  "iri-reference": "/people",
  "uri-template": "/people/{id}",
  url: "https://example.org/",
  uuid: "019a8448-5a3c-7c31-9d41-6f2f3f0c9a11",
  "json-pointer": "/name",
  "relative-json-pointer": "0",
  regex: "^a",
};

/** Candidates that are tried against a pattern. */
const guesses = ["text", "Text", "TEXT", "A1", "a1", "12345", "123", "1", "AB-123", "ab-1", "x"];

function exampleText(schema: ObjectSchema): unknown {
  const { format, pattern } = schema;
  const min = Number(schema.minLength ?? 0);
  const max = Number(schema.maxLength ?? maxLength);
  if (min > maxLength) return undefined;
  const sample = typeof format === "string" ? own(samples, format) : undefined;
  if (sample !== undefined) return sample;
  const fits = typeof pattern === "string" ? new RegExp(pattern, "u") : /^/;
  const sized = (text: string) =>
    text.repeat(Math.ceil(min / text.length) || 1).slice(0, Math.max(min, Math.min(max, 4)));
  return [...guesses, ...guesses.map(sized)].find(
    (text) => fits.test(text) && text.length >= min && text.length <= max,
  );
}

function exampleNumber(schema: ObjectSchema): number {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf } = schema;
  const step = typeof multipleOf === "number" ? multipleOf : 1;
  const min = Math.max(limit(minimum), limit(exclusiveMinimum, step));
  const max = Math.min(limit(maximum, 0, 1), limit(exclusiveMaximum, -step, 1));
  const start = Number.isFinite(min) ? min : Math.min(step, max);
  return Math.ceil(start / step) * step;
}

/** A missing limit is infinite. */
const limit = (value: unknown, shift = 0, sign = -1): number =>
  typeof value === "number" ? value + shift : sign * Number.POSITIVE_INFINITY;
