// The fields that a collection's lists can be asked by, and how each is compared.

import type { Kind } from "./key.ts";
import { kindOf, planOf } from "./plan.ts";
import { serverMembers } from "./resource.ts";

/** What a field holds, as far as its schema says. */
export interface FieldShape {
  readonly kind: Kind;
  readonly holds: "object" | "array" | "value";
}

interface Schema {
  readonly type?: unknown;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly writeOnly?: unknown;
}

/** With one of these, a schema may declare fields in ways that are not followed here. */
const elsewhere = [
  ...["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if"],
  ...["patternProperties", "dependentSchemas"],
];

/** So many names are told to one who asked for another. */
const maxNames = 20;

export class Fields {
  readonly #schema: unknown;
  /** Those that an index is kept of. */
  readonly indexed: ReadonlySet<string>;
  readonly isSearchable: boolean;

  constructor(definition: string) {
    const { indexes, searchable } = planOf(definition);
    this.#schema = JSON.parse(definition).schema;
    this.indexed = new Set(indexes.map(({ field }) => field));
    this.isSearchable = searchable.length > 0;
  }

  /** Undefined when there is no such field, or it is never shown. */
  find(field: string): FieldShape | undefined {
    const kind = kindOf(this.#schema, field);
    if (serverMembers.includes(field)) return { kind, holds: "value" };
    const place = this.#placeOf(field);
    if (place === "hidden") return undefined;
    if (place === "undeclared" && !this.indexed.has(field)) return undefined;
    return { kind, holds: typeof place === "object" ? holdingOf(place) : "value" };
  }

  /** The schema of the field, or why there is none. */
  #placeOf(field: string): Schema | "hidden" | "undeclared" | "open" {
    let place = this.#schema;
    for (const name of field.split(".")) {
      if (!isSchema(place)) return "open";
      const { properties } = place;
      if (properties !== undefined && Object.hasOwn(properties, name)) {
        place = properties[name];
        if (isSchema(place) && place.writeOnly === true) return "hidden";
      } else if (isClosed(place)) {
        return "undeclared";
      } else {
        return "open";
      }
    }
    return isSchema(place) ? place : "open";
  }

  /** The fields there are, for one who asked for another. */
  names(): string {
    const declared = namesIn(this.#schema, "");
    const others = [...this.indexed].filter((field) => field !== "" && this.find(field));
    const names = [...new Set(["id", ...declared, ...others, "createdAt", "updatedAt"])];
    const rest = names.length - maxNames;
    return names.slice(0, maxNames).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
  }
}

const isSchema = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const typesOf = ({ type }: Schema): readonly unknown[] =>
  type === undefined ? [] : [type].flat().filter((name) => name !== "null");

/** Whether there are no fields in it but those that its `properties` declare. */
function isClosed(schema: Schema): boolean {
  const types = typesOf(schema);
  if (types.length > 0 && !types.includes("object")) return true;
  return schema.properties !== undefined && !elsewhere.some((word) => Object.hasOwn(schema, word));
}

function holdingOf(schema: Schema): FieldShape["holds"] {
  const types = typesOf(schema);
  const [type] = types;
  if (types.length === 1) return type === "object" || type === "array" ? type : "value";
  return types.length === 0 && schema.properties !== undefined ? "object" : "value";
}

function namesIn(schema: unknown, prefix: string): readonly string[] {
  if (!isSchema(schema)) return [];
  return Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
    if (isSchema(inner) && inner.writeOnly === true) return [];
    const below = namesIn(inner, `${prefix}${name}.`);
    return below.length > 0 ? below : [`${prefix}${name}`];
  });
}

/** More definitions than a busy server has collections. */
const maxKnown = 1_000;
const known = new Map<string, Fields>();

/** Made once for as long as the definition is the same. */
export function fieldsOf(definition: string): Fields {
  const before = known.get(definition);
  if (before !== undefined) return before;
  if (known.size === maxKnown) known.clear();
  const fields = new Fields(definition);
  known.set(definition, fields);
  return fields;
}
