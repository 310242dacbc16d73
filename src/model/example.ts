// An example of what a schema describes: what it names itself, or the simplest thing that may fit.

import { isObjectSchema, type ObjectSchema, type Schema } from "./schema-places.ts";

/** Finds what a `$ref` means. */
export type Find = (reference: string) => Schema | undefined;

const deepest = 8;

/** Undefined where none is found. It may still not fit: some schemas cannot be met by guessing. */
export function exampleOf(schema: Schema | undefined, find: Find, depth = 0): unknown {
  if (schema === undefined || schema === false || depth > deepest) return undefined;
  if (schema === true) return "text";
  const { examples, const: only, enum: values, $ref } = schema;
  if (Array.isArray(examples) && examples.length > 0) return examples[0];
  if (schema.default !== undefined) return schema.default;
  if (only !== undefined) return only;
  if (Array.isArray(values)) return values[0];
  const target = typeof $ref === "string" ? find($ref) : undefined;
  const parts = [target, ...choices(schema)].filter((part) => part !== undefined);
  const own = exampleOfType(schema, find, depth);
  if (parts.length === 0) return own;
  const all = parts.map((part) => exampleOf(part, find, depth + 1));
  if (typeOf(schema) !== "object" && all.length === 1) return all[0];
  const objects = [own, ...all].filter(isObjectSchema);
  return objects.length > 0 ? Object.assign({}, ...objects) : all[0];
}

/** What must hold beside the schema itself: all of `allOf`, the first of the others. */
function choices({ allOf, anyOf, oneOf }: ObjectSchema): readonly Schema[] {
  const first = (list: unknown) => (Array.isArray(list) ? list.slice(0, 1) : []);
  return [...(Array.isArray(allOf) ? allOf : []), ...first(anyOf), ...first(oneOf)];
}

/** The declared type, null aside; or the one that the keywords are about. */
function typeOf({ type, properties, items, prefixItems }: ObjectSchema): unknown {
  const [first] = [type].flat().filter((one) => one !== "null" && one !== undefined);
  if (first !== undefined) return first;
  if (type !== undefined) return "null";
  if (properties !== undefined) return "object";
  return items === undefined && prefixItems === undefined ? undefined : "array";
}

function exampleOfType(schema: ObjectSchema, find: Find, depth: number): unknown {
  switch (typeOf(schema)) {
    case "object":
      return exampleObject(schema, find, depth);
    case "array":
      return exampleArray(schema, find, depth);
    case "string":
      return exampleText(schema);
    case "number":
    case "integer":
      return exampleNumber(schema);
    case "null":
      return null;
    case "boolean":
      return true;
    default:
      return "text";
  }
}

function exampleObject(schema: ObjectSchema, find: Find, depth: number): unknown {
  const { properties = {}, required = [] } = schema;
  const members = Object.entries(properties as ObjectSchema).map(
    ([name, member]) => [name, exampleOf(member as Schema, find, depth + 1)] as const,
  );
  const found = Object.fromEntries(members.filter(([, example]) => example !== undefined));
  const isWhole = (required as readonly string[]).every(
    (name) => Object.hasOwn(found, name) || !Object.hasOwn(properties as object, name),
  );
  return isWhole ? found : undefined;
}

function exampleArray(schema: ObjectSchema, find: Find, depth: number): unknown {
  const { prefixItems, items, minItems = 1, maxItems = 1 } = schema;
  const first = (Array.isArray(prefixItems) ? prefixItems : []).map((item) =>
    exampleOf(item, find, depth + 1),
  );
  if (first.includes(undefined)) return undefined;
  const missing = Math.max(0, Math.min(Number(minItems), 10) - first.length);
  const one = exampleOf((items as Schema | undefined) ?? true, find, depth + 1);
  if (one === undefined) return Number(minItems) > 1 ? undefined : first;
  return [...first, ...Array(missing).fill(one)].slice(
    0,
    Math.max(Number(maxItems), first.length, Number(minItems)),
  );
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

/** Tried one after the other where a pattern must be met. */
const guesses = ["text", "Text", "TEXT", "A1", "a1", "12345", "123", "1", "AB-123", "ab-1", "x"];

function exampleText({ format, pattern, minLength = 0, maxLength = 200 }: ObjectSchema): unknown {
  const sample = typeof format === "string" ? samples[format] : undefined;
  if (sample !== undefined) return sample;
  const fits = typeof pattern === "string" ? new RegExp(pattern, "u") : /^/;
  const sized = (text: string) =>
    text.repeat(Math.ceil(Number(minLength) / text.length) || 1).slice(0, Number(maxLength));
  return [...guesses, ...guesses.map(sized)].find(
    (text) =>
      fits.test(text) && text.length >= Number(minLength) && text.length <= Number(maxLength),
  );
}

function exampleNumber(schema: ObjectSchema): number {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf } = schema;
  const step = typeof multipleOf === "number" ? multipleOf : 1;
  const least = Math.max(bound(minimum), bound(exclusiveMinimum, step));
  const most = Math.min(bound(maximum, 0, 1), bound(exclusiveMaximum, -step, 1));
  const start = Number.isFinite(least) ? least : Math.min(step, most);
  return Math.ceil(start / step) * step;
}

/** None is infinitely far away. */
const bound = (value: unknown, shift = 0, sign = -1): number =>
  typeof value === "number" ? value + shift : sign * Number.POSITIVE_INFINITY;
