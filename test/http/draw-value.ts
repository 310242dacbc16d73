// Draws values that fit a schema of the OpenAPI document.

import fc from "../fast-check.ts";
import { type Json, type JsonObject, resolve, validate } from "./schema.ts";

interface Described {
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
}

const isoTime = (value: Date) => value.toISOString();
const times = fc.date({
  min: new Date("1970-01-01T00:00:00Z"),
  max: new Date("2999-12-31T00:00:00Z"),
  noInvalidDate: true,
});

const formats: Readonly<Record<string, fc.Arbitrary<string>>> = {
  date: times.map((value) => isoTime(value).slice(0, 10)),
  "date-time": times.map(isoTime),
  email: fc.stringMatching(/^[a-z]{1,8}@[a-z]{1,8}\.[a-z]{2,3}$/),
  uuid: fc.uuid(),
  // Not `fc.webUrl`, which takes seconds to list all characters that can be encoded.
  uri: fc.stringMatching(
    /^https?:\/\/[a-z0-9]{1,8}\.[a-z]{2,3}(\/([\w.~-]|%[2-7][0-9A-F]){0,6}){0,3}$/,
  ),
  "uri-reference": fc.stringMatching(/^(\/([\w.~-]|%[2-7][0-9A-F]){0,6}){0,3}$/),
};

const anything = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>;

/** Values that fit the schema. */
export function valuesOf(schema: JsonObject, document: Described): fc.Arbitrary<Json> {
  const fits = (value: Json) => {
    try {
      validate(value, schema, document);
      return true;
    } catch {
      return false;
    }
  };
  return drawn(schema, document, 0).filter(fits);
}

function drawn(given: JsonObject, document: Described, depth: number): fc.Arbitrary<Json> {
  const schema = resolve(document, given) as JsonObject;
  if (Array.isArray(schema.enum)) return fc.constantFrom(...(schema.enum as readonly Json[]));
  if ("const" in schema) return fc.constant(schema.const as Json);
  const branches = (schema.anyOf ?? schema.oneOf) as readonly JsonObject[] | undefined;
  if (branches !== undefined)
    return fc.oneof(...branches.map((branch) => drawn(branch, document, depth + 1)));
  const types = [schema.type ?? []].flat() as readonly string[];
  if (types.length === 0) return depth > 2 ? fc.constant(null) : anything;
  return fc.oneof(...types.map((type) => ofType(type, schema, document, depth)));
}

function ofType(
  type: string,
  schema: JsonObject,
  document: Described,
  depth: number,
): fc.Arbitrary<Json> {
  if (type === "string") return texts(schema);
  if (type === "integer" || type === "number") return numbers(type, schema);
  if (type === "boolean") return fc.boolean();
  if (type === "array") return arrays(schema, document, depth);
  if (type === "object") return objects(schema, document, depth);
  return fc.constant(null);
}

function texts({ pattern, format, minLength, maxLength }: JsonObject): fc.Arbitrary<string> {
  if (typeof pattern === "string") return fc.stringMatching(new RegExp(pattern));
  const known = formats[String(format)];
  if (known !== undefined) return known;
  const limits = { minLength: Number(minLength ?? 0), maxLength: Number(maxLength ?? 20) };
  return fc.string({ ...limits, maxLength: Math.max(limits.minLength, limits.maxLength) });
}

function numbers(type: string, schema: JsonObject): fc.Arbitrary<number> {
  const { minimum = -1e9, maximum = 1e9 } = schema;
  const limits = { min: Number(minimum), max: Number(maximum) };
  return type === "integer"
    ? fc.integer(limits)
    : fc.double({ ...limits, noNaN: true, noDefaultInfinity: true });
}

function arrays(schema: JsonObject, document: Described, depth: number): fc.Arbitrary<Json> {
  const { items = {}, minItems = 0, maxItems = 3 } = schema;
  const minLength = Number(minItems);
  const maxLength = Math.max(minLength, Math.min(Number(maxItems), 3));
  return fc.array(drawn(items as JsonObject, document, depth + 1), { minLength, maxLength });
}

function objects(schema: JsonObject, document: Described, depth: number): fc.Arbitrary<Json> {
  const properties = (schema.properties ?? {}) as Readonly<Record<string, JsonObject>>;
  const required = (schema.required ?? []) as readonly string[];
  const isPossible = ([name, member]: [string, JsonObject]) =>
    required.includes(name) || (depth < 3 && !("not" in member));
  const undeclared = Object.fromEntries(required.map((name) => [name, {}]));
  const members = Object.fromEntries(
    Object.entries({ ...undeclared, ...properties })
      .filter(isPossible)
      .map(([name, member]) => [name, drawn(member, document, depth + 1)]),
  );
  const named = fc.record(members, { requiredKeys: [...required] });
  const { additionalProperties: more = {} } = schema;
  if (more === false || depth > 1) return named as fc.Arbitrary<Json>;
  const names = fc.stringMatching(/^[a-z]{1,6}$/).filter((name) => !(name in properties));
  const others = fc.dictionary(names, drawn(more as JsonObject, document, depth + 2), {
    maxKeys: 2,
  });
  return fc.tuple(others, named).map(([some, fields]) => ({ ...some, ...fields }) as Json);
}
