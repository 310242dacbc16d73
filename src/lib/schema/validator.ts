// Validates values against a JSON Schema 2020-12. All calls to the validator library are here.

import { closeSync, openSync } from "node:fs";
import { createRequire } from "node:module";
import { devNull } from "node:os";
import type { Format } from "typebox/format";
import type * as Validator from "typebox/schema";
import type { WorkSteps } from "../turns.ts";
import { formats, maxFormatChars } from "./formats.ts";
import { Preparation } from "./preparation.ts";
import {
  allSchemas,
  isObjectSchema,
  type ObjectSchema,
  type Schema,
  SchemaReferences,
} from "./subschemas.ts";
import { Evaluator } from "./unevaluated.ts";

/**
 * File descriptors for the files of the library. When connections have used up all others, it could not be
 * loaded, and Bun would remember that its files are missing.
 */
const reserved = Array.from({ length: 4 }, () => openSync(devNull, "r"));

const hasTime = (text: string): boolean => !Number.isNaN(Date.parse(text));

/** Loads the library with the first schema, so that a server without schemas starts faster. */
function loadValidator(): typeof Validator {
  if (loaded !== undefined) return loaded;
  for (const descriptor of reserved.splice(0)) closeSync(descriptor);
  const load = createRequire(import.meta.url);
  const { Get, Set: set }: typeof Format = load("typebox/format").default;
  for (const name of Object.keys(formats)) {
    const isValid = Get(name);
    // A leap second has no place among the times that are compared.
    const isTime = name === "date-time" ? hasTime : () => true;
    // Some formats take quadratic time.
    set(name, (text) => text.length <= maxFormatChars && isValid?.(text) === true && isTime(text));
  }
  loaded = load("typebox/schema") as typeof Validator;
  return loaded;
}
let loaded: typeof Validator | undefined;

/** A schema with resolved references that is ready to validate. */
export class CompiledSchema {
  readonly root: ObjectSchema;
  readonly references: SchemaReferences;
  readonly #preparation: Preparation;
  readonly #evaluator: Evaluator;
  /** The schemas that are compiled on their own: the root, the targets of references, and parts of schemas. */
  readonly #compiled = new Map<Schema, LazyCheck>();
  readonly #check: LazyCheck;
  readonly #hasInheritedNames: boolean;

  constructor(root: ObjectSchema) {
    this.root = root;
    this.references = new SchemaReferences(root);
    this.#evaluator = new Evaluator(this.references, (schema, value) =>
      this.#checkOf(schema).isValid(value),
    );
    this.#preparation = new Preparation({
      checkOfReference: (reference) => {
        const target = this.#checkOf(this.references.find(reference)?.schema ?? false);
        return (value) => target.isValid(value);
      },
      checkOfUnevaluated: (schema) => {
        for (const part of this.#evaluator.partsOf(schema)) this.#checkOf(part);
        return (value) => this.#evaluator.apply(schema, value) !== undefined;
      },
    });
    this.#check = this.#checkOf(root);
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

  isValid(value: unknown): boolean {
    return this.#check.isValid(value);
  }

  /** Compiles all parts. Throws when one cannot be compiled. Compiling a part adds the parts that it needs. */
  *compileSteps(): WorkSteps<void> {
    for (const check of this.#compiled.values()) {
      check.compile();
      yield compileWork;
    }
  }

  #checkOf(schema: Schema): LazyCheck {
    const known = this.#compiled.get(schema);
    if (known !== undefined) return known;
    const check = new LazyCheck(() => this.#preparation.prepared(schema));
    this.#compiled.set(schema, check);
    return check;
  }

  /** Validates with a part of the schema without compiling it. This is slower and only used to explain errors. */
  fits(schema: Schema, value: unknown): boolean {
    return loadValidator().Check(this.#preparation.prepared(schema) as never, value);
  }

  /** The members or items that only `unevaluatedProperties` or `unevaluatedItems` apply to. */
  unevaluatedKeys(schema: ObjectSchema, value: unknown): readonly string[] {
    return this.#evaluator.unevaluatedKeys(schema, value);
  }
}

/** Compiles a schema with the first value. */
class LazyCheck {
  readonly #schema: () => Schema;
  #isValid: ((value: unknown) => boolean) | undefined;

  constructor(schema: () => Schema) {
    this.#schema = schema;
  }

  compile(): (value: unknown) => boolean {
    const compiled = loadValidator().Compile(this.#schema() as never);
    this.#isValid = (value) => compiled.Check(value);
    return this.#isValid;
  }

  isValid(value: unknown): boolean {
    return (this.#isValid ?? this.compile())(value);
  }
}

/** In bytes of a turn. */
const compileWork = 4_096;

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
