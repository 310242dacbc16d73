// Validates values against the schemas of an OpenAPI document. An unknown keyword or format is an error.

import assert from "node:assert/strict";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [member: string]: Json;
}

/** Follows a `$ref` within the document. */
export function resolve<Node>(document: object, node: Node): Node {
  if (typeof node !== "object" || node === null || !("$ref" in node)) return node;
  const steps = String(node.$ref).replace("#/", "").split("/");
  const found = steps.reduce<unknown>(
    (at, step) => (at as Record<string, unknown> | undefined)?.[step],
    document,
  );
  assert.ok(found !== undefined, `${node.$ref} does not exist`);
  return found as Node;
}

interface Described {
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
}

/** Throws when the value does not match a schema of the document. */
export function validate(
  value: Json,
  schema: JsonObject | boolean,
  document: Described,
  where = "the value",
): void {
  const matches = validatorOf(schema, document);
  if (!matches(value)) assert.fail(shared.errorsText(matches.errors, { dataVar: where }));
}

const validators = new WeakMap<Described, Map<unknown, ValidateFunction>>();

function validatorOf(schema: JsonObject | boolean, document: Described): ValidateFunction {
  const known = validators.get(document) ?? new Map<unknown, ValidateFunction>();
  validators.set(document, known);
  const validator = known.get(schema) ?? compiled(schema, document);
  known.set(schema, validator);
  return validator;
}

/** By the text of the schema and of the components that it needs: the documents of all apps have most of them in common. */
const compiledByText = new Map<string, ValidateFunction>();

function compiled(schema: JsonObject | boolean, document: Described): ValidateFunction {
  const linked = link(schema, document);
  const text = JSON.stringify(linked);
  const validator = compiledByText.get(text) ?? shared.compile(linked);
  compiledByText.set(text, validator);
  return validator;
}

const reference = /"\$ref":"#\/components\/schemas\/([^"]+)"/g;

/** Points the references to components at what they are in `shared`. */
function link<Schema>(schema: Schema, document: Described): Schema {
  const text = JSON.stringify(schema);
  return JSON.parse(
    text.replaceAll(reference, (_, name) => `"$ref":"${keyOf(name, document)}"`),
  ) as Schema;
}

const keys = new WeakMap<Described, Map<string, string>>();
const keysByText = new Map<string, string>();

/** Adds a component, and those that it needs, to `shared` once for each text that it has in a document. */
function keyOf(name: string, document: Described): string {
  const known = keys.get(document) ?? new Map<string, string>();
  keys.set(document, known);
  const before = known.get(name);
  if (before !== undefined) return before;
  const text = JSON.stringify([name, neededBy(name, document.components.schemas)]);
  const key = keysByText.get(text) ?? `component-${keysByText.size}`;
  known.set(name, key);
  if (!keysByText.has(text)) {
    keysByText.set(text, key);
    shared.addSchema(link(document.components.schemas[name] as JsonObject, document), key);
  }
  return key;
}

/** Returns a component and those that it refers to, directly and through others. */
function neededBy(name: string, components: Described["components"]["schemas"]): object {
  const found: Record<string, unknown> = {};
  const visit = (name: string): void => {
    assert.ok(name in components, `${name} does not exist`);
    if (name in found) return;
    found[name] = components[name];
    for (const [, next = ""] of JSON.stringify(components[name]).matchAll(reference)) visit(next);
  };
  visit(name);
  return found;
}

/** Compiling is most of the work here, so it is neither optimized nor inlined. */
const shared = new Ajv2020({
  code: { optimize: false },
  inlineRefs: false,
  ownProperties: true,
  strictTypes: false,
  strictTuples: false,
  validateSchema: false,
});
addFormats.default(shared);
