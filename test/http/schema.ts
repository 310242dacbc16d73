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
  const matches = compilerOf(document)(schema);
  if (!matches(value)) assert.fail(newAjv().errorsText(matches.errors, { dataVar: where }));
}

type Compile = (schema: JsonObject | boolean) => ValidateFunction;

const compilers = new WeakMap<Described, Compile>();

function compilerOf(document: Described): Compile {
  const compile = compilers.get(document) ?? newCompiler(document);
  compilers.set(document, compile);
  return compile;
}

function newCompiler({ components }: Described): Compile {
  const ajv = newAjv();
  ajv.addSchema(withReferences({ $defs: components.schemas }, "#/$defs/"), "components");
  const compiled = new Map<unknown, ValidateFunction>();
  return (schema) => {
    const validator =
      compiled.get(schema) ?? ajv.compile(withReferences(schema, "components#/$defs/"));
    compiled.set(schema, validator);
    return validator;
  };
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
  return ajv.addVocabulary(["discriminator"]);
}
