// JSON Schema 2020-12: the one door to who judges values by it.

import { createRequire } from "node:module";
import type { Format } from "typebox/format";
import type * as Judge from "typebox/schema";
import { formats, maxFormatChars } from "./formats.ts";
import { prepared } from "./prepare.ts";
import {
  allSchemas,
  isObjectSchema,
  type ObjectSchema,
  References,
  type Schema,
} from "./subschemas.ts";

/** Loaded with the first schema: a server without any starts sooner. */
function loadValidator(): typeof Judge {
  if (loaded !== undefined) return loaded;
  const load = createRequire(import.meta.url);
  const { Get, Set: set }: typeof Format = load("typebox/format").default;
  for (const name of Object.keys(formats)) {
    const isGood = Get(name);
    // Some formats take time that grows with the square of the text.
    set(name, (text) => text.length <= maxFormatChars && isGood?.(text) === true);
  }
  loaded = load("typebox/schema") as typeof Judge;
  return loaded;
}
let loaded: typeof Judge | undefined;

/** A schema made ready: its references are resolved within it. */
export class CompiledSchema {
  readonly root: ObjectSchema;
  readonly references: References;
  readonly #targets: Record<string, Schema>;
  readonly #prepared: Schema;
  readonly #namesInherited: boolean;
  #isValid: ((value: unknown) => boolean) | undefined;

  constructor(root: ObjectSchema) {
    this.root = root;
    this.references = new References(root);
    this.#targets = targetsOf(root, this.references);
    this.#prepared = prepared(root);
    this.#namesInherited = !namesIn(root).isDisjointFrom(inherited);
  }

  /**
   * The value of a text. Who judges takes inherited members for those of the value, so where the
   * schema speaks of a name like `toString`, objects inherit nothing.
   */
  parse(text: string): unknown {
    return this.#namesInherited ? JSON.parse(text, (_, value) => bare(value)) : JSON.parse(text);
  }

  /** Compiled with the first value: the quick way. */
  isValid(value: unknown): boolean {
    if (this.#isValid === undefined) {
      const compiled = loadValidator().Compile(this.#targets as never, this.#prepared as never);
      this.#isValid = (each) => compiled.Check(each);
    }
    return this.#isValid(value);
  }

  /** Judges by a part of the schema, or by some keywords of it: slower, and rarely needed. */
  fits(schema: Schema, value: unknown): boolean {
    return loadValidator().Check(this.#targets as never, prepared(schema) as never, value);
  }

  /** Members or items that nothing in the schema has looked at, as `unevaluated…` forbids. */
  unevaluated(keyword: string, schema: ObjectSchema, value: unknown): readonly (string | number)[] {
    const [, errors] = loadValidator().Errors(
      this.#targets as never,
      prepared(schema) as never,
      value,
    );
    return errors.flatMap((error) => {
      const isOurs = error.keyword === keyword && error.instancePath === "";
      const found = (error.params as Readonly<Record<string, unknown>>)[keyword];
      return isOurs && Array.isArray(found) ? found : [];
    });
  }
}

const inherited = new Set(Object.getOwnPropertyNames(Object.prototype));

/** The names of members that a schema speaks of. */
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

const bare = (value: unknown): unknown =>
  isObjectSchema(value) ? Object.assign(Object.create(null), value) : value;

/** Every reference as it is written, with what it leads to; those that lead nowhere are left out. */
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
