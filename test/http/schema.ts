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
  if (!matches(value)) assert.fail(newAjv().errorsText(matches.errors, { dataVar: where }));
}

const validators = new WeakMap<Described, Map<unknown, ValidateFunction>>();

function validatorOf(schema: JsonObject | boolean, document: Described): ValidateFunction {
  const known = validators.get(document) ?? new Map<unknown, ValidateFunction>();
  validators.set(document, known);
  const validator = known.get(schema) ?? compiled(schema, document);
  known.set(schema, validator);
  return validator;
}

/** By the text of the schema and its components: the documents of all apps have most of them in common. */
const compiledByText = new Map<string, ValidateFunction>();

function compiled(schema: JsonObject | boolean, { components }: Described): ValidateFunction {
  const $defs = referencedBy(schema, components.schemas);
  const text = JSON.stringify([schema, $defs]);
  const validator = compiledByText.get(text) ?? compile(schema, $defs);
  compiledByText.set(text, validator);
  return validator;
}

type Components = Described["components"]["schemas"];

/** Returns the components that a schema refers to, directly and through others. */
function referencedBy(schema: unknown, components: Components): Components {
  const found = new Map<string, unknown>();
  const visit = (node: unknown): void => {
    for (const [, name = ""] of JSON.stringify(node).matchAll(reference)) {
      assert.ok(name in components, `${name} does not exist`);
      if (found.has(name)) continue;
      found.set(name, components[name]);
      visit(components[name]);
    }
  };
  visit(schema);
  return Object.fromEntries(found);
}

const reference = /"\$ref":"#\/components\/schemas\/([^"]+)"/g;

function compile(schema: JsonObject | boolean, $defs: Components): ValidateFunction {
  const ajv = newAjv();
  ajv.addSchema(withReferences({ $defs }, "#/$defs/"), "components");
  return ajv.compile(withReferences(schema, "components#/$defs/"));
}

/** Points the references to components at another location. */
function withReferences<Schema>(schema: Schema, location: string): Schema {
  const text = JSON.stringify(schema);
  return JSON.parse(text.replaceAll('"$ref":"#/components/schemas/', `"$ref":"${location}`));
}

/** Compiling is most of the work here, so it is neither optimized nor inlined. */
function newAjv(): Ajv2020 {
  const ajv = new Ajv2020({
    code: { optimize: false },
    inlineRefs: false,
    ownProperties: true,
    strictTypes: false,
    strictTuples: false,
    validateSchema: false,
  });
  addFormats.default(ajv);
  return ajv;
}
