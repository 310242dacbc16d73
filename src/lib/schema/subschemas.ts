// Finds the subschemas of a JSON Schema, the values they apply to, and the targets of references.

import type { Path } from "../json/error-report.ts";

export type Schema = boolean | ObjectSchema;
export type ObjectSchema = Readonly<Record<string, unknown>> & SchemaMessages;

/** Symbols, so that they are no keywords: they are not in the JSON text of a schema. */
export const invalidMessage = Symbol("invalidMessage");
export const unknownMemberMessage = Symbol("unknownMemberMessage");

/** Messages that a schema of ours may have. */
interface SchemaMessages {
  /** Replaces the messages of all keywords, unless it returns undefined. */
  readonly [invalidMessage]?: string | ((value: unknown) => string | undefined);
  /** Returns the message for a member that `additionalProperties: false` rejects. */
  readonly [unknownMemberMessage]?: (name: string) => string;
}

export const isObjectSchema = (value: unknown): value is ObjectSchema =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isSchema = (value: unknown): value is Schema =>
  typeof value === "boolean" || isObjectSchema(value);

/** What a subschema applies to: the same value, a child value, or nothing until it is referenced. */
export type Application = "in-place" | "child" | "none";

/** The form of a keyword's value: a schema, a list of schemas, or schemas by name. */
type Form = "one" | "list" | "named";

const applicators: Readonly<Record<string, readonly [form: Form, applies: Application]>> = {
  $defs: ["named", "none"],
  contentSchema: ["one", "none"],
  allOf: ["list", "in-place"],
  anyOf: ["list", "in-place"],
  oneOf: ["list", "in-place"],
  not: ["one", "in-place"],
  if: ["one", "in-place"],
  // biome-ignore lint/suspicious/noThenProperty: JSON Schema calls it so.
  then: ["one", "in-place"],
  else: ["one", "in-place"],
  dependentSchemas: ["named", "in-place"],
  properties: ["named", "child"],
  patternProperties: ["named", "child"],
  additionalProperties: ["one", "child"],
  unevaluatedProperties: ["one", "child"],
  propertyNames: ["one", "child"],
  prefixItems: ["list", "child"],
  items: ["one", "child"],
  unevaluatedItems: ["one", "child"],
  contains: ["one", "child"],
};

export const applicatorKeywords: readonly string[] = Object.keys(applicators);

/** A schema and its path. */
export interface SchemaLocation {
  readonly path: Path;
  readonly schema: Schema;
}

export interface Subschema extends SchemaLocation {
  readonly keyword: string;
  readonly applies: Application;
}

/** The direct subschemas. Values that are not schemas are skipped. */
export function subschemasOf({ path, schema }: SchemaLocation): readonly Subschema[] {
  if (!isObjectSchema(schema)) return [];
  return Object.entries(schema).flatMap(([keyword, value]) => {
    const [form, applies] = (Object.hasOwn(applicators, keyword) && applicators[keyword]) || [];
    if (form === undefined || applies === undefined) return [];
    const steps: readonly (readonly [Path, unknown])[] =
      form === "one"
        ? [[[keyword], value]]
        : Array.isArray(value)
          ? value.map((item, index) => [[keyword, index], item])
          : Object.entries(isObjectSchema(value) ? value : {}).map(([name, item]) => [
              [keyword, name],
              item,
            ]);
    return steps.flatMap(([step, inner]) =>
      isSchema(inner) ? [{ path: [...path, ...step], schema: inner, keyword, applies }] : [],
    );
  });
}

/** The schema itself and all its subschemas. */
export function* allSchemas(location: SchemaLocation): Generator<SchemaLocation> {
  yield location;
  for (const inner of subschemasOf(location)) yield* allSchemas(inner);
}

/** Returns the target of a `$ref`. */
export type Find = (reference: string) => Schema | undefined;

/** Resolves `#`, `#/a/pointer` and `#anchor`. */
export class SchemaReferences {
  readonly #locations = new Map<string, SchemaLocation>();

  constructor(root: Schema) {
    for (const location of allSchemas({ path: [], schema: root })) {
      this.#locations.set(keyOf(location.path), location);
      const anchor = isObjectSchema(location.schema) ? location.schema.$anchor : undefined;
      if (typeof anchor === "string") this.#locations.set(anchor, location);
    }
  }

  get count(): number {
    return this.#locations.size;
  }

  /** Returns undefined when the target is not in this schema. */
  find(reference: unknown): SchemaLocation | undefined {
    const fragment = typeof reference === "string" ? fragmentOf(reference) : undefined;
    if (fragment === undefined) return undefined;
    const isPointer = fragment === "" || fragment.startsWith("/");
    return this.#locations.get(isPointer ? keyOf(stepsOf(fragment)) : fragment);
  }
}

/** Uses JSON, so that a name cannot be confused with two steps. No anchor begins with a bracket. */
const keyOf = (path: Path): string => JSON.stringify(path.map(String));

function fragmentOf(reference: string): string | undefined {
  if (!reference.startsWith("#")) return undefined;
  try {
    return decodeURIComponent(reference.slice(1));
  } catch {
    return undefined;
  }
}

/** RFC 6901 §4. */
const stepsOf = (pointer: string): Path =>
  pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
