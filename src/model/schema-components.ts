// The schemas of collections as named parts of one document: each resource as it is read and as it is sent.

import {
  allSchemas,
  isObjectSchema,
  type ObjectSchema,
  type Schema,
} from "../lib/schema/subschemas.ts";
import { TypeNames, typeName } from "../lib/schema/type-name.ts";
import { SchemaVariant } from "../lib/schema/variant.ts";
import { resourceId } from "./id.ts";

export interface CollectionSchemas {
  /** Of the collection. */
  readonly name: string;
  /** Of the resource as it is read; with `Draft` behind it, of what is sent. */
  readonly typeName: string;
  /** By name; a `$ref` in them leads to another, as `componentPath` says. */
  readonly schemas: Readonly<Record<string, ObjectSchema>>;
}

/** What may stand behind a collection's type name. */
export const typeNameSuffixes = ["", "Draft", "Patch", "Page"] as const;

interface Defined {
  readonly name: string;
  readonly schema?: ObjectSchema | undefined;
}

/** In the order of their names, so that the same collections have the same type names everywhere. */
export function describeCollections(
  collections: readonly Defined[],
  taken: Iterable<string> = [],
): readonly CollectionSchemas[] {
  const names = new TypeNames(taken);
  return collections
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .map((collection) => ({
      ...collection,
      typeName: names.claim(typeName(collection.name), typeNameSuffixes),
    }))
    .map(({ name, schema = free, typeName }) => ({
      name,
      typeName,
      schemas: schemasOf(schema, typeName, names),
    }));
}

/** Of a collection without a schema. */
const free: ObjectSchema = { additionalProperties: true };

function schemasOf(
  root: ObjectSchema,
  name: string,
  names: TypeNames,
): CollectionSchemas["schemas"] {
  const made: Record<string, ObjectSchema> = {};
  const draft = `${name}Draft`;
  // Most schemas say the same in both directions, and then both refer to the same parts.
  const isOne = !isDivided(root);
  const sent = new SchemaVariant(root, isOne ? name : draft, "readOnly", names, made);
  sent.setName(root, draft);
  const read = isOne ? sent : new SchemaVariant(root, name, "writeOnly", names, made);
  const parts = {
    [name]: shown(read.object(new Opening(read).open(root))),
    [draft]: sent.object(root),
  };
  return { ...parts, ...made };
}

const isDivided = (root: ObjectSchema): boolean =>
  [...allSchemas({ path: [], schema: root })].some(
    ({ schema }) =>
      isObjectSchema(schema) && (schema.readOnly === true || schema.writeOnly === true),
  );

const time = { type: "string", format: "date-time", readOnly: true };
const before = { id: { type: "string", pattern: resourceId.source, readOnly: true } };
const behind = { createdAt: time, updatedAt: time };

/** With the members that the server sets. */
function shown(schema: ObjectSchema): ObjectSchema {
  const { properties = {}, required = [], ...rest } = schema;
  const own = { ...before, ...(properties as object), ...before, ...behind };
  const always = new Set(["id", ...(required as readonly string[]), ...Object.keys(behind)]);
  return { ...rest, required: [...always], properties: own };
}

/** Keywords that the server's members could break. */
const counting = new Set([
  ..."propertyNames minProperties maxProperties not if then else dependentSchemas".split(" "),
  ..."dependentRequired unevaluatedProperties const enum".split(" "),
]);

/** A schema without what says how many or which members there are; a resource as it is read has more. */
class Opening {
  readonly #direction: SchemaVariant;
  /** What was put in place of a reference to it; once is enough, and to have an end. */
  readonly #seen = new Set<Schema>();

  constructor(direction: SchemaVariant) {
    this.#direction = direction;
  }

  open(schema: ObjectSchema, isInner = false): ObjectSchema {
    const { $ref, allOf, anyOf, oneOf, ...own } = schema;
    const others = [$ref, allOf, anyOf, oneOf, own.patternProperties];
    const isPlain = !isInner && others.every((value) => value === undefined);
    const kept = Object.entries(own).filter(
      ([keyword]) => !counting.has(keyword) && (isPlain || keyword !== "additionalProperties"),
    );
    const all = [...this.#each(allOf), ...this.#each(this.#referred($ref))];
    // Opened, more than one may fit.
    const any = [anyOf, oneOf].map((list) => this.#each(list)).filter((list) => list.length > 0);
    return joined(Object.fromEntries(kept), all, any);
  }

  #each(list: unknown): readonly ObjectSchema[] {
    const schemas = (Array.isArray(list) ? list : []).filter(isObjectSchema);
    return schemas.map((one) => this.open(one, true));
  }

  #referred(reference: unknown): readonly Schema[] {
    const target = this.#direction.target(reference);
    if (target === undefined || this.#seen.has(target)) return [];
    this.#seen.add(target);
    return [target];
  }
}

/** All of these hold, and one of each of those. */
function joined(
  own: ObjectSchema,
  all: readonly ObjectSchema[],
  any: readonly (readonly ObjectSchema[])[],
): ObjectSchema {
  const [first, ...more] = any;
  const together = [...all, ...more.map((list) => ({ anyOf: list }))];
  const [only] = together;
  const isAlone = Object.keys(own).length === 0 && first === undefined && together.length === 1;
  if (isAlone && only !== undefined) return only;
  return {
    ...own,
    ...(first === undefined ? {} : { anyOf: first }),
    ...(together.length === 0 ? {} : { allOf: together }),
  };
}
