// Makes the OpenAPI components of collections: schemas of each resource as it is read and as it is sent.

import { isFileSchema } from "../lib/schema/fields.ts";
import {
  allSchemas,
  isObjectSchema,
  type ObjectSchema,
  type Schema,
} from "../lib/schema/subschemas.ts";
import { TypeNames, typeName } from "../lib/schema/type-name.ts";
import { SchemaVariant } from "../lib/schema/variant.ts";

export interface CollectionSchemas {
  /** The name of the collection. */
  readonly name: string;
  /** The type name of the resource as it is read. With the suffix `Draft`, of what is sent. */
  readonly typeName: string;
  /** The type name of several resources, which differs when the collection names its singular. */
  readonly pluralName: string;
  /** The schemas by name. A `$ref` between them starts with `componentPath`. */
  readonly schemas: Readonly<Record<string, ObjectSchema>>;
}

/** The suffixes of a collection's type name. */
const typeNameSuffixes = ["", "Draft", "DraftItem", "Form", "Patch", "Page"] as const;

interface Defined {
  readonly name: string;
  readonly singular?: string | undefined;
  readonly schema?: ObjectSchema | undefined;
  /** Whether some callers see only some of the fields. */
  readonly hidesFields?: boolean;
}

/** Sorted by name, so that the same collections always get the same type names. */
export function collectionComponents(
  collections: readonly Defined[],
  taken: Iterable<string> = [],
): readonly CollectionSchemas[] {
  const names = new TypeNames(taken);
  const pluralNames = new TypeNames();
  return collections
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .map((collection) => ({
      ...collection,
      typeName: names.claim(typeName(collection.singular ?? collection.name), typeNameSuffixes),
    }))
    .map(({ name, singular, schema = anyFields, typeName: one, hidesFields = false }) => {
      const schemas = schemasOf(schema, one, names);
      return {
        name,
        typeName: one,
        pluralName: pluralNames.claim(singular === undefined ? one : typeName(name)),
        schemas: hidesFields ? { ...schemas, [one]: partOf(schemas[one] ?? anyFields) } : schemas,
      };
    });
}

/** The schema of a collection without one. */
const anyFields: ObjectSchema = { additionalProperties: true };

function schemasOf(
  root: ObjectSchema,
  name: string,
  names: TypeNames,
): CollectionSchemas["schemas"] {
  const components: Record<string, ObjectSchema> = {};
  const draft = `${name}Draft`;
  // Most schemas are the same in both directions. Then both refer to the same components.
  const isShared = !hasDirections(root);
  const sent = new SchemaVariant(root, isShared ? name : draft, "readOnly", names, components);
  sent.setName(root, draft);
  const read = isShared ? sent : new SchemaVariant(root, name, "writeOnly", names, components);
  const parts = {
    [name]: withServerMembers(read.object(new SchemaOpener(read).open(root))),
    [draft]: sent.object(root),
  };
  return { ...parts, ...components };
}

const hasDirections = (root: ObjectSchema): boolean =>
  [...allSchemas({ path: [], schema: root })].some(
    ({ schema }) =>
      isObjectSchema(schema) &&
      (schema.readOnly === true || schema.writeOnly === true || isFileSchema(schema)),
  );

const time = { type: "string", format: "date-time", readOnly: true };
const firstMembers = { id: { type: "string", readOnly: true } };
const lastMembers = { createdAt: time, updatedAt: time };

/** Adds the members that the server sets. */
function withServerMembers(schema: ObjectSchema): ObjectSchema {
  const { properties = {}, required = [], ...rest } = schema;
  const own = { ...firstMembers, ...(properties as object), ...firstMembers, ...lastMembers };
  const always = new Set(["id", ...(required as readonly string[]), ...Object.keys(lastMembers)]);
  return { ...rest, required: [...always], properties: own };
}

/** The schema of a resource of which any fields can be hidden. */
const partOf = (schema: ObjectSchema): ObjectSchema => ({
  ...(withoutRequired(schema) as ObjectSchema),
  required: ["id", "createdAt"],
});

function withoutRequired(schema: unknown, isMap = false): unknown {
  if (Array.isArray(schema)) return schema.map((each) => withoutRequired(each));
  if (typeof schema !== "object" || schema === null) return schema;
  const kept = Object.entries(schema).filter(([name]) => isMap || name !== "required");
  return Object.fromEntries(
    kept.map(([name, value]) => [name, withoutRequired(value, !isMap && maps.has(name))]),
  );
}

/** Keywords whose members are names, each with a schema. */
const maps = new Set(["properties", "patternProperties", "$defs"]);

/** Keywords that the server's members could violate. */
const restrictingKeywords = new Set([
  ..."propertyNames minProperties maxProperties not if then else dependentSchemas".split(" "),
  ..."dependentRequired unevaluatedProperties const enum".split(" "),
]);

/** Removes the keywords that restrict which members exist, because a resource as it is read has more. */
class SchemaOpener {
  readonly #variant: SchemaVariant;
  /** The reference targets that are already inlined. Each is inlined once, so that recursion ends. */
  readonly #seen = new Set<Schema>();

  constructor(variant: SchemaVariant) {
    this.#variant = variant;
  }

  open(schema: ObjectSchema, isInner = false): ObjectSchema {
    const { $ref, allOf, anyOf, oneOf, ...own } = schema;
    const others = [$ref, allOf, anyOf, oneOf, own.patternProperties];
    const isPlain = !isInner && others.every((value) => value === undefined);
    const keywords = Object.entries(own).filter(
      ([keyword]) =>
        !restrictingKeywords.has(keyword) && (isPlain || keyword !== "additionalProperties"),
    );
    const all = [...this.#each(allOf), ...this.#each(this.#referred($ref))];
    // Without the restrictions more than one may match, so oneOf becomes anyOf. `true` always matches.
    const any = [anyOf, oneOf]
      .filter((list) => !(Array.isArray(list) && list.includes(true)))
      .map((list) => this.#each(list))
      .filter((list) => list.length > 0);
    return joined(Object.fromEntries(keywords), all, any);
  }

  #each(list: unknown): readonly ObjectSchema[] {
    const schemas = (Array.isArray(list) ? list : []).filter(isObjectSchema);
    return schemas.map((one) => this.open(one, true));
  }

  #referred(reference: unknown): readonly Schema[] {
    const target = this.#variant.target(reference);
    if (target === undefined || this.#seen.has(target)) return [];
    this.#seen.add(target);
    return [target];
  }
}

/** Combines a schema with those that must all match and with the choices. */
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
