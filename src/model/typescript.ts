// Writes TypeScript types for collections from their JSON Schemas.

import { isObjectSchema, type ObjectSchema, type Schema } from "../lib/schema/subschemas.ts";
import { componentPath } from "../lib/schema/variant.ts";
import type { CollectionSchemas } from "./collection-components.ts";
import { isOfElements } from "./field-kind.ts";
import { type ListedReferences, type Reference, referencesOf } from "./reference.ts";
import { expandedMember } from "./resource.ts";

/** The names that the module has for itself. */
export const reservedNames = ["Collections"] as const;

/** The text of a module with an exported type for each schema. `references` are those of a collection. */
export function writeTypes(
  collections: readonly CollectionSchemas[],
  references: ReadonlyMap<string, ListedReferences> = new Map(),
): string {
  const typeNames = new Map(collections.map(({ name, typeName }) => [name, typeName]));
  const texts = collections.flatMap(({ name, typeName, schemas }) =>
    Object.entries(schemas).map(([own, schema]) => {
      const described = { description: aboutOf(own, name, typeName), ...schema };
      const referring = own === typeName ? referencesOf(references.get(name)) : [];
      return declaration(own, withExpanded(described, referring, typeNames));
    }),
  );
  const head = "// Types of the collections, as `restante types` writes them.";
  return `${[head, ...texts, listOf(collections)].join("\n\n")}\n`;
}

/** The type that a client of `restante-client` takes. */
function listOf(collections: readonly CollectionSchemas[]): string {
  const members = collections.map(
    ({ name, typeName }) =>
      `  readonly ${keyOf(name)}: { readonly resource: ${typeName}; readonly draft: ${typeName}Draft };`,
  );
  const lines = [
    "/** All collections, for `restante-client`. */",
    "export interface Collections {",
  ];
  return [...lines, ...members, "}"].join("\n");
}

/** Adds the member that `expand` adds to a resource. */
function withExpanded(
  schema: ObjectSchema,
  references: readonly Reference[],
  typeNames: ReadonlyMap<string, string>,
): ObjectSchema {
  if (references.length === 0) return schema;
  const shown = references.map(({ field, collection }): [string, Schema] => {
    const name = typeNames.get(collection);
    const resource = name === undefined ? { type: "object" } : { $ref: componentPath + name };
    const value = { anyOf: [resource, { type: "null" }] };
    return [field, isOfElements(field) ? { type: "array", items: value } : value];
  });
  const expanded = {
    description: "With `expand`: the resources that this one refers to.",
    type: "object",
    properties: Object.fromEntries(shown),
    additionalProperties: false,
  };
  return { ...schema, properties: { ...(schema.properties ?? {}), [expandedMember]: expanded } };
}

function aboutOf(own: string, name: string, typeName: string): string | undefined {
  if (own === typeName) return `A resource of /${name}.`;
  return own === `${typeName}Draft` ? `What can be sent to /${name}.` : undefined;
}

function declaration(name: string, schema: ObjectSchema): string {
  const { text, form } = typeOf(schema, "");
  const body = form === "object" ? `interface ${name} ${text}` : `type ${name} = ${text};`;
  return `${comment(schema, "")}export ${body}`;
}

interface Type {
  readonly text: string;
  /** An object can be an interface. A compound type needs parentheses next to an operator. */
  readonly form: "object" | "atom" | "compound";
}

const atom = (text: string): Type => ({ text, form: "atom" });
const unknown = atom("unknown");
const never = atom("never");
const literal = (value: unknown): Type => atom(JSON.stringify(value));
const bracketed = ({ text, form }: Type): string => (form === "compound" ? `(${text})` : text);

function joined(types: readonly Type[], operator: "|" | "&"): Type {
  const texts = [...new Set(types.map(bracketed))];
  const [first = unknown] = types;
  return texts.length < 2 ? first : { text: texts.join(` ${operator} `), form: "compound" };
}

function union(types: readonly Type[]): Type {
  if (types.length === 0) return never;
  return types.some(({ text }) => text === "unknown") ? unknown : joined(types, "|");
}

/** Leaves out `unknown`. */
const intersection = (types: readonly Type[]): Type =>
  joined(
    types.filter(({ text }) => text !== "unknown"),
    "&",
  );

/** The intersection of everything that a schema requires. */
function typeOf(schema: Schema, indent: string): Type {
  if (typeof schema === "boolean") return schema ? unknown : never;
  const { $ref, const: only, enum: values, allOf, anyOf, oneOf } = schema;
  if (only !== undefined) return literal(only);
  if (Array.isArray(values)) return union(values.map(literal));
  return intersection([
    ...(typeof $ref === "string" ? [atom($ref.slice(componentPath.length))] : []),
    declaredType(schema, indent),
    ...typesOf(allOf, indent),
    ...[anyOf, oneOf].filter(Array.isArray).map((list) => union(typesOf(list, indent))),
  ]);
}

const typesOf = (list: unknown, indent: string): readonly Type[] =>
  (Array.isArray(list) ? list : []).map((inner: Schema) => typeOf(inner, indent));

function declaredType(schema: ObjectSchema, indent: string): Type {
  const implied = impliedType(schema);
  const { type = implied, $ref, allOf, anyOf, oneOf } = schema;
  // Another keyword describes the object.
  if (type === "object" && implied === undefined && [$ref, allOf, anyOf, oneOf].some(isDefined)) {
    return unknown;
  }
  const known = [type].flat().filter((one) => typeof one === "string");
  return known.length === 0 ? unknown : union(known.map((type) => ofType(type, schema, indent)));
}

const isDefined = (keyword: unknown): boolean => keyword !== undefined;

/** The type that the keywords imply when there is no `type`. */
function impliedType(schema: ObjectSchema): string | undefined {
  const { properties, additionalProperties, patternProperties, items, prefixItems } = schema;
  const isObject = [properties, additionalProperties, patternProperties].some(isDefined);
  if (isObject) return "object";
  return items === undefined && prefixItems === undefined ? undefined : "array";
}

function ofType(type: string, schema: ObjectSchema, indent: string): Type {
  switch (type) {
    case "integer":
      return atom("number");
    case "array":
      return arrayType(schema, indent);
    case "object":
      return objectType(schema, indent);
    default:
      return atom(type);
  }
}

function arrayType({ prefixItems, items, minItems = 0 }: ObjectSchema, indent: string): Type {
  const many = `${bracketed(typeOf((items as Schema | undefined) ?? true, indent))}[]`;
  // `readonly` is a prefix operator, so the type is compound.
  if (!Array.isArray(prefixItems)) return { text: `readonly ${many}`, form: "compound" };
  const first = typesOf(prefixItems, indent).map(
    (type, index) => bracketed(type) + (index < Number(minItems) ? "" : "?"),
  );
  const all = items === false ? first : [...first, `...${many}`];
  return { text: `readonly [${all.join(", ")}]`, form: "compound" };
}

type Schemas = Readonly<Record<string, Schema>>;

function objectType(schema: ObjectSchema, indent: string): Type {
  const required = new Set(schema.required as readonly string[] | undefined);
  const inner = `${indent}  `;
  const members = Object.entries(declaredMembers(schema, required)).map(([name, member]) => {
    const mark = required.has(name) ? "" : "?";
    const about = isObjectSchema(member) ? comment(member, inner) : "";
    return `${about}${inner}readonly ${keyOf(name)}${mark}: ${typeOf(member, inner).text};`;
  });
  const others = othersOf(schema, members.length > 0, inner);
  const lines =
    others === undefined
      ? members
      : [...members, `${inner}readonly [name: string]: ${others.text};`];
  return { text: `{\n${lines.join("\n")}\n${indent}}`, form: "object" };
}

/** Those that are only required are members, too, or an object that has them would not compile. */
function declaredMembers(schema: ObjectSchema, required: ReadonlySet<string>): Schemas {
  const { additionalProperties = true } = schema;
  const properties = (schema.properties ?? {}) as Schemas;
  const rest = schema.patternProperties ? true : (additionalProperties as Schema);
  const others = [...required].filter((name) => !Object.hasOwn(properties, name));
  return { ...properties, ...Object.fromEntries(others.map((name) => [name, rest])) };
}

/** The type of undeclared members, or undefined when the type needs no index signature. */
function othersOf(schema: ObjectSchema, hasMembers: boolean, indent: string): Type | undefined {
  const { additionalProperties, patternProperties = {} } = schema;
  const isClosed = additionalProperties === false;
  const patterned = Object.values(patternProperties as Schemas);
  const isOpen = patterned.length > 0 || (additionalProperties !== undefined && !isClosed);
  if (hasMembers) return isOpen ? unknown : undefined;
  const rest = (additionalProperties as Schema | undefined) ?? true;
  const types = [...patterned, ...(isClosed ? [] : [rest])].map((one) => typeOf(one, indent));
  return union(types);
}

const keyOf = (name: string): string =>
  /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);

function comment({ description, deprecated }: ObjectSchema, indent: string): string {
  const words = typeof description === "string" ? description.trim() : "";
  const lines = [
    ...(words === "" ? [] : words.split(/\r?\n/)),
    ...(deprecated === true ? ["@deprecated"] : []),
  ].map((line) => line.replaceAll("*/", "* /").trim());
  if (lines.length < 2) return lines.map((line) => `${indent}/** ${line} */\n`).join("");
  const starred = lines.map((line) => `${indent} * ${line}`.trimEnd());
  return [`${indent}/**`, ...starred, `${indent} */\n`].join("\n");
}
