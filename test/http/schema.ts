// As much of JSON Schema 2020-12 as our OpenAPI document uses; a keyword it does not know is an error.

import assert from "node:assert/strict";

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [member: string]: Json;
}

/** What `$ref` points at, within the document. */
export function resolve<Node>(document: object, node: Node): Node {
  if (typeof node !== "object" || node === null || !("$ref" in node)) return node;
  const steps = String(node.$ref).replace("#/", "").split("/");
  const found = steps.reduce<unknown>(
    (at, step) => (at as Record<string, unknown> | undefined)?.[step],
    document,
  );
  assert.ok(found !== undefined, `${node.$ref} leads nowhere`);
  return found as Node;
}

type Check = (value: Json, argument: Json, schema: JsonObject, where: string, root: object) => void;

const isObject = (value: Json): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const typeOf = (value: Json): string =>
  value === null
    ? "null"
    : Array.isArray(value)
      ? "array"
      : Number.isInteger(value)
        ? "integer"
        : typeof value;

const formats: Readonly<Record<string, RegExp>> = {
  "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
  uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  "uri-reference": /^(?:https?:\/\/[^/]+)?\/\S*$/,
};

const atLeast = (value: number, bound: Json, where: string) =>
  assert.ok(value >= Number(bound), `${where}: ${value} is under ${bound}`);
const atMost = (value: number, bound: Json, where: string) =>
  assert.ok(value <= Number(bound), `${where}: ${value} is over ${bound}`);
const sizeOf = (value: Json) => (value as string | readonly Json[]).length;

const checks: Readonly<Record<string, Check>> = {
  type: (value, types, _, where) => {
    const allowed = [types].flat();
    assert.ok(allowed.includes(typeOf(value)), `${where} is ${typeOf(value)}, not ${allowed}`);
  },
  required: (value, names, _, where) => {
    for (const name of names as string[]) {
      assert.ok(isObject(value) && Object.hasOwn(value, name), `${where}/${name} is missing`);
    }
  },
  properties: (value, shapes, _, where, root) => {
    for (const [name, shape] of Object.entries(shapes as JsonObject)) {
      if (!isObject(value) || !Object.hasOwn(value, name)) continue;
      validate(value[name] as Json, shape as JsonObject, root, `${where}/${name}`);
    }
  },
  additionalProperties: (value, shape, { properties = {} }, where, root) => {
    for (const [name, member] of Object.entries(value as JsonObject)) {
      if (Object.hasOwn(properties as JsonObject, name)) continue;
      assert.notEqual(shape, false, `${where}/${name} is not described`);
      if (isObject(shape)) validate(member, shape, root, `${where}/${name}`);
    }
  },
  items: (value, shape, _, where, root) => {
    (value as readonly Json[]).forEach((item, index) => {
      validate(item, shape as JsonObject, root, `${where}/${index}`);
    });
  },
  oneOf: (value, shapes, _, where, root) => {
    const refusals = (shapes as readonly JsonObject[]).flatMap((shape) => {
      try {
        validate(value, shape, root, where);
        return [];
      } catch (refusal) {
        return [(refusal as Error).message];
      }
    });
    const fits = (shapes as readonly Json[]).length - refusals.length;
    assert.equal(fits, 1, `${where} fits ${fits} of the shapes: ${refusals.join("; ")}`);
  },
  not: (value, shape, _, where, root) =>
    assert.throws(() => validate(value, shape as JsonObject, root, where), `${where} must not fit`),
  enum: (value, values, _, where) =>
    assert.ok((values as readonly Json[]).includes(value), `${where}: ${value} is not in the enum`),
  pattern: (value, source, _, where) =>
    assert.match(value as string, new RegExp(source as string, "u"), where),
  format: (value, name, _, where) => {
    if (value !== null) assert.match(value as string, formats[name as string] ?? /(?!)/, where);
  },
  minimum: (value, bound, _, where) => atLeast(value as number, bound, where),
  maximum: (value, bound, _, where) => atMost(value as number, bound, where),
  minLength: (value, bound, _, where) => atLeast(sizeOf(value), bound, where),
  maxLength: (value, bound, _, where) => atMost(sizeOf(value), bound, where),
  minItems: (value, bound, _, where) => atLeast(sizeOf(value), bound, where),
  maxItems: (value, bound, _, where) => atMost(sizeOf(value), bound, where),
};

const notes = new Set(["description", "examples", "default", "discriminator"]);

/** Throws when the value does not fit. */
export function validate(value: Json, schema: JsonObject, root: object, where = ""): void {
  const shape = resolve(root, schema);
  for (const [keyword, argument] of Object.entries(shape)) {
    if (notes.has(keyword)) continue;
    const check = checks[keyword];
    assert.ok(check !== undefined, `the keyword ${keyword} is not known here`);
    check(value, argument, shape, where, root);
  }
}
