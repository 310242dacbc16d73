// Where in a JSON Schema other schemas stand, what each of them judges, and where references lead.

import type { Path } from "../json/error-report.ts";

export type Schema = boolean | ObjectSchema;
export type ObjectSchema = Readonly<Record<string, unknown>>;

export const isObjectSchema = (value: unknown): value is ObjectSchema =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isSchema = (value: unknown): value is Schema =>
  typeof value === "boolean" || isObjectSchema(value);

/** What an inner schema judges: the same value, one inside it, or nothing until it is referred to. */
export type Application = "in-place" | "child" | "none";

/** How a keyword holds schemas: it is one, a list of them, or they have names. */
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

/** A schema and the way to it. */
export interface SchemaLocation {
  readonly path: Path;
  readonly schema: Schema;
}

export interface Subschema extends SchemaLocation {
  readonly keyword: string;
  readonly applies: Application;
}

/** The schemas right inside a schema. What is no schema where one should be is passed over. */
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

/** The schema itself and every schema inside it. */
export function* allSchemas(place: SchemaLocation): Generator<SchemaLocation> {
  yield place;
  for (const inner of subschemasOf(place)) yield* allSchemas(inner);
}

/** Where `#`, `#/a/pointer` and `#anchor` lead. */
export class References {
  readonly #places = new Map<string, SchemaLocation>();

  constructor(root: Schema) {
    for (const place of allSchemas({ path: [], schema: root })) {
      this.#places.set(keyOf(place.path), place);
      const anchor = isObjectSchema(place.schema) ? place.schema.$anchor : undefined;
      if (typeof anchor === "string") this.#places.set(anchor, place);
    }
  }

  get count(): number {
    return this.#places.size;
  }

  /** Undefined when it leads nowhere in this schema. */
  find(reference: unknown): SchemaLocation | undefined {
    const fragment = typeof reference === "string" ? fragmentOf(reference) : undefined;
    if (fragment === undefined) return undefined;
    const isPointer = fragment === "" || fragment.startsWith("/");
    return this.#places.get(isPointer ? keyOf(stepsOf(fragment)) : fragment);
  }
}

/** The steps as JSON, so that no name can be mistaken for two; no anchor begins with a bracket. */
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
