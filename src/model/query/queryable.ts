// The fields that a collection's lists can be asked by, and how each is compared.

import { definitionOf } from "../definition.ts";
import { reservedMembers, serverMembers } from "../resource.ts";
import { type ResourceValidator, validatorOf } from "../validator.ts";
import { indexPlanOf, kindOf, ownerField } from "./index-plan.ts";
import type { ValueKind } from "./sort-key.ts";

/** What a field holds, as far as its schema says. */
export interface QueryableField {
  readonly kind: ValueKind;
  readonly holds: "object" | "array" | "value";
}

interface Schema {
  readonly type?: unknown;
  readonly properties?: Readonly<Record<string, unknown>>;
}

/** With one of these, a schema may declare fields in ways that are not followed here. */
const elsewhere = [
  ...["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if"],
  ...["patternProperties", "dependentSchemas"],
];

/** So many names are told to one who asked for another. */
const maxNames = 20;

export class QueryableFields {
  readonly #schema: unknown;
  readonly #shape: ResourceValidator;
  /** Those that an index is kept of. */
  readonly indexed: ReadonlySet<string>;
  readonly isSearchable: boolean;

  constructor(definition: string) {
    const { indexes, searchable } = indexPlanOf(definition);
    const read = definitionOf({ version: 0, definition });
    this.#schema = read.schema;
    this.#shape = validatorOf(read);
    this.indexed = new Set(indexes.map(({ field }) => field));
    this.isSearchable = searchable.length > 0;
  }

  /** Undefined when there is no such field, or it is never shown. */
  find(field: string): QueryableField | undefined {
    const kind = kindOf(this.#schema, field);
    if (serverMembers.includes(field)) return { kind, holds: "value" };
    const [head = ""] = field.split(".", 1);
    if (reservedMembers.includes(head) || this.#shape.isHidden(field)) return undefined;
    const place = this.#placeOf(field);
    if (place === "undeclared" && !this.indexed.has(field)) return undefined;
    return { kind, holds: typeof place === "object" ? holdingOf(place) : "value" };
  }

  /** Whether the definition names the field: in its schema or as indexed. */
  declares(field: string): boolean {
    if (serverMembers.includes(field) || this.indexed.has(field)) return true;
    let place = this.#schema;
    for (const name of field.split(".")) {
      const properties = isSchema(place) ? place.properties : undefined;
      if (properties === undefined || !Object.hasOwn(properties, name)) return false;
      place = properties[name];
    }
    return true;
  }

  /** The schema of the field, or why there is none. */
  #placeOf(field: string): Schema | "undeclared" | "open" {
    let place = this.#schema;
    for (const name of field.split(".")) {
      if (!isSchema(place)) return "open";
      const { properties } = place;
      if (properties !== undefined && Object.hasOwn(properties, name)) {
        place = properties[name];
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
    const others = [...this.indexed].filter((field) => field !== ownerField);
    const all = new Set(["id", ...declared, ...others, "createdAt", "updatedAt"]);
    const names = [...all].filter((field) => !this.#shape.isHidden(field));
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

function holdingOf(schema: Schema): QueryableField["holds"] {
  const types = typesOf(schema);
  const [type] = types;
  if (types.length === 1) return type === "object" || type === "array" ? type : "value";
  return types.length === 0 && schema.properties !== undefined ? "object" : "value";
}

function namesIn(schema: unknown, prefix: string): readonly string[] {
  if (!isSchema(schema)) return [];
  return Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
    // No path leads to it.
    if (name.includes(".")) return [];
    const below = namesIn(inner, `${prefix}${name}.`);
    return below.length > 0 ? below : [`${prefix}${name}`];
  });
}

/** More definitions than a busy server has collections. */
const maxKnown = 1_000;
const known = new Map<string, QueryableFields>();

/** Made once for as long as the definition is the same. */
export function queryableFieldsOf(definition: string): QueryableFields {
  const before = known.get(definition);
  if (before !== undefined) return before;
  if (known.size === maxKnown) known.clear();
  const queryable = new QueryableFields(definition);
  known.set(definition, queryable);
  return queryable;
}
