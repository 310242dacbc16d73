// Validates values against a JSON Schema 2020-12. All calls to the validator library are here.

import { createRequire } from "node:module";
import type { Format } from "typebox/format";
import type * as Validator from "typebox/schema";
import { formats, maxFormatChars } from "./formats.ts";
import { prepared } from "./prepare.ts";
import {
  allSchemas,
  isObjectSchema,
  type ObjectSchema,
  References,
  type Schema,
} from "./subschemas.ts";

/** Loads the library with the first schema, so that a server without schemas starts faster. */
function loadValidator(): typeof Validator {
  if (loaded !== undefined) return loaded;
  const load = createRequire(import.meta.url);
  const { Get, Set: set }: typeof Format = load("typebox/format").default;
  for (const name of Object.keys(formats)) {
    const isValid = Get(name);
    // Some formats take quadratic time.
    set(name, (text) => text.length <= maxFormatChars && isValid?.(text) === true);
  }
  loaded = load("typebox/schema") as typeof Validator;
  return loaded;
}
let loaded: typeof Validator | undefined;

/** A schema with resolved references that is ready to validate. */
export class CompiledSchema {
  readonly root: ObjectSchema;
  readonly references: References;
  readonly #targets: Record<string, Schema>;
  readonly #prepared: Schema;
  readonly #hasInheritedNames: boolean;
  #isValid: ((value: unknown) => boolean) | undefined;

  constructor(root: ObjectSchema) {
    this.root = root;
    this.references = new References(root);
    this.#targets = targetsOf(root, this.references);
    this.#prepared = prepared(root);
    this.#hasInheritedNames = !namesIn(root).isDisjointFrom(inherited);
  }

  /**
   * Parses a text. The library does not distinguish inherited members from own ones, so objects get no
   * prototype when the schema has a name like `toString`.
   */
  parse(text: string): unknown {
    return this.#hasInheritedNames
      ? JSON.parse(text, (_, value) => withoutPrototype(value))
      : JSON.parse(text);
  }

  /** Compiles the schema with the first value. */
  isValid(value: unknown): boolean {
    if (this.#isValid === undefined) {
      const compiled = loadValidator().Compile(this.#targets as never, this.#prepared as never);
      this.#isValid = (each) => compiled.Check(each);
    }
    return this.#isValid(value);
  }

  /** Validates with a part of the schema without compiling it. This is slower and only used to explain errors. */
  fits(schema: Schema, value: unknown): boolean {
    return loadValidator().Check(this.#targets as never, prepared(schema) as never, value);
  }

  /** The members or items that are unevaluated for `unevaluatedProperties` or `unevaluatedItems`. */
  unevaluated(keyword: string, schema: ObjectSchema, value: unknown): readonly (string | number)[] {
    const [, errors] = loadValidator().Errors(
      this.#targets as never,
      prepared(schema) as never,
      value,
    );
    return errors.flatMap((error) => {
      const isMatch = error.keyword === keyword && error.instancePath === "";
      const names = (error.params as Readonly<Record<string, unknown>>)[keyword];
      return isMatch && Array.isArray(names) ? names : [];
    });
  }
}

const inherited = new Set(Object.getOwnPropertyNames(Object.prototype));

/** The member names in a schema. */
function namesIn(root: ObjectSchema): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { schema } of allSchemas({ path: [], schema: root })) {
    if (!isObjectSchema(schema)) continue;
    const { properties, required, dependentRequired, dependentSchemas } = schema;
    for (const named of [properties, dependentRequired, dependentSchemas])
      for (const name of Object.keys(named ?? {})) names.add(name);
    for (const name of [required, ...Object.values(dependentRequired ?? {})].flat())
      if (typeof name === "string") names.add(name);
  }
  return names;
}

const withoutPrototype = (value: unknown): unknown =>
  isObjectSchema(value) ? Object.assign(Object.create(null), value) : value;

/** Maps every reference to its target. References without a target are left out. */
function targetsOf(root: ObjectSchema, references: References): Record<string, Schema> {
  const targets: Record<string, Schema> = {};
  for (const { schema } of allSchemas({ path: [], schema: root })) {
    const reference = isObjectSchema(schema) ? schema.$ref : undefined;
    const target = references.find(reference);
    if (typeof reference === "string" && target !== undefined)
      targets[reference] = prepared(target.schema);
  }
  return targets;
}
