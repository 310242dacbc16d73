// As much of JSON Schema 2020-12 as our OpenAPI documents use; a keyword it does not know is an error.

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

/** Others are for people. */
const formats: Readonly<Record<string, RegExp>> = {
  "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i,
  date: /^\d{4}-\d\d-\d\d$/,
  email: /^[^@\s]+@[^@\s]+$/,
  uuid: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
  "uri-reference": /^(?:https?:\/\/[^/]+)?\/\S*$/,
};

const atLeast = (value: number, bound: Json, where: string) =>
  assert.ok(value >= Number(bound), `${where}: ${value} is under ${bound}`);
const atMost = (value: number, bound: Json, where: string) =>
  assert.ok(value <= Number(bound), `${where}: ${value} is over ${bound}`);

/** In characters, as JSON Schema counts. */
const lengthOf = (text: Json): number => [...(text as string)].length;
const isSame = (one: Json, other: Json): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Why a value does not fit each of the shapes that it does not fit. */
function refusals(value: Json, shapes: Json, where: string, root: object): readonly string[] {
  return (shapes as readonly (JsonObject | boolean)[]).flatMap((shape) => {
    try {
      validate(value, shape, root, where);
      return [];
    } catch (refusal) {
      return [(refusal as Error).message];
    }
  });
}

const ofAnything: Readonly<Record<string, Check>> = {
  type: (value, types, _, where) => {
    const allowed = [types].flat();
    const type = typeOf(value);
    const isNumber = type === "integer" && allowed.includes("number");
    assert.ok(isNumber || allowed.includes(type), `${where} is ${type}, not ${allowed}`);
  },
  const: (value, only, _, where) => assert.deepEqual(value, only, where),
  enum: (value, values, _, where) =>
    assert.ok(
      (values as readonly Json[]).some((one) => isSame(one, value)),
      `${where}: ${value} is not in the enum`,
    ),
  oneOf: (value, shapes, _, where, root) => {
    const unfit = refusals(value, shapes, where, root);
    const fits = (shapes as readonly Json[]).length - unfit.length;
    assert.equal(fits, 1, `${where} fits ${fits} of the shapes: ${unfit.join("; ")}`);
  },
  anyOf: (value, shapes, _, where, root) => {
    const unfit = refusals(value, shapes, where, root);
    const isFitting = unfit.length < (shapes as readonly Json[]).length;
    assert.ok(isFitting, `${where} matches none of the shapes: ${unfit.join("; ")}`);
  },
  allOf: (value, shapes, _, where, root) => {
    for (const shape of shapes as readonly JsonObject[]) validate(value, shape, root, where);
  },
  not: (value, shape, _, where, root) =>
    assert.equal(refusals(value, [shape], where, root).length, 1, `${where} must not fit`),
  $ref: (value, $ref, _, where, root) => validate(value, resolve(root, { $ref }), root, where),
};

const ofObjects: Readonly<Record<string, Check>> = {
  required: (value, names, _, where) => {
    for (const name of names as string[]) {
      assert.ok(Object.hasOwn(value as JsonObject, name), `${where}/${name} is missing`);
    }
  },
  properties: (value, shapes, _, where, root) => {
    for (const [name, shape] of Object.entries(shapes as JsonObject)) {
      const object = value as JsonObject;
      if (!Object.hasOwn(object, name)) continue;
      validate(object[name] as Json, shape as JsonObject, root, `${where}/${name}`);
    }
  },
  patternProperties: (value, shapes, _, where, root) => {
    for (const [pattern, shape] of Object.entries(shapes as JsonObject)) {
      for (const [name, member] of Object.entries(value as JsonObject)) {
        if (!new RegExp(pattern, "u").test(name)) continue;
        validate(member, shape as JsonObject, root, `${where}/${name}`);
      }
    }
  },
  additionalProperties: (value, shape, schema, where, root) => {
    const { properties = {}, patternProperties = {} } = schema;
    const patterns = Object.keys(patternProperties as JsonObject).map(
      (one) => new RegExp(one, "u"),
    );
    for (const [name, member] of Object.entries(value as JsonObject)) {
      if (Object.hasOwn(properties as JsonObject, name)) continue;
      if (patterns.some((pattern) => pattern.test(name))) continue;
      assert.notEqual(shape, false, `${where}/${name} is not described`);
      validate(member, shape as JsonObject | boolean, root, `${where}/${name}`);
    }
  },
};

const ofArrays: Readonly<Record<string, Check>> = {
  prefixItems: (value, shapes, _, where, root) => {
    (value as readonly Json[]).forEach((item, index) => {
      const shape = (shapes as readonly JsonObject[])[index];
      if (shape !== undefined) validate(item, shape, root, `${where}/${index}`);
    });
  },
  items: (value, shape, { prefixItems = [] }, where, root) => {
    const start = (prefixItems as readonly Json[]).length;
    (value as readonly Json[]).slice(start).forEach((item, index) => {
      validate(item, shape as JsonObject, root, `${where}/${start + index}`);
    });
  },
  minItems: (value, bound, _, where) => atLeast((value as Json[]).length, bound, where),
  maxItems: (value, bound, _, where) => atMost((value as Json[]).length, bound, where),
  uniqueItems: (value, isUnique, _, where) => {
    const texts = (value as readonly Json[]).map((item) => JSON.stringify(item));
    assert.ok(!isUnique || new Set(texts).size === texts.length, `${where} repeats an item`);
  },
};

const ofTexts: Readonly<Record<string, Check>> = {
  pattern: (value, source, _, where) =>
    assert.match(value as string, new RegExp(source as string, "u"), where),
  format: (value, name, _, where) =>
    assert.match(value as string, formats[name as string] ?? /^/, where),
  minLength: (value, bound, _, where) => atLeast(lengthOf(value), bound, where),
  maxLength: (value, bound, _, where) => atMost(lengthOf(value), bound, where),
};

const ofNumbers: Readonly<Record<string, Check>> = {
  minimum: (value, bound, _, where) => atLeast(value as number, bound, where),
  maximum: (value, bound, _, where) => atMost(value as number, bound, where),
  exclusiveMinimum: (value, bound, _, where) =>
    assert.ok((value as number) > Number(bound), `${where}: ${value}`),
  exclusiveMaximum: (value, bound, _, where) =>
    assert.ok((value as number) < Number(bound), `${where}: ${value}`),
};

/** A keyword about one type says nothing of the others. */
const checks: readonly [
  isAbout: (value: Json) => boolean,
  checks: Readonly<Record<string, Check>>,
][] = [
  [() => true, ofAnything],
  [isObject, ofObjects],
  [Array.isArray, ofArrays],
  [(value) => typeof value === "string", ofTexts],
  [(value) => typeof value === "number", ofNumbers],
];

const notes = new Set(
  "title description examples default discriminator readOnly writeOnly deprecated".split(" "),
);

/** Throws when the value does not fit. */
export function validate(
  value: Json,
  schema: JsonObject | boolean,
  root: object,
  where = "",
): void {
  assert.ok(schema !== false, `${where} is not described`);
  if (schema === true) return;
  for (const [keyword, argument] of Object.entries(schema)) {
    if (notes.has(keyword)) continue;
    const found = checks.find(([, some]) => Object.hasOwn(some, keyword));
    assert.ok(found !== undefined, `the keyword ${keyword} is not known here`);
    const [isAbout, some] = found;
    if (isAbout(value)) some[keyword]?.(value, argument, schema, where, root);
  }
}
