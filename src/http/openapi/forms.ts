// Describes the multipart form of a collection in the OpenAPI document: its fields and its files.

import { own } from "../../lib/own-property.ts";
import { isObjectSchema, type ObjectSchema, type Schema } from "../../lib/schema/subschemas.ts";
import { componentPath } from "../../lib/schema/variant.ts";

const file = { type: "string", format: "binary" };

/** The members of a file as a resource shows it. */
const fileMembers = new Set(["name", "type", "size", "sha256", "url"]);
/** Other objects have names, types and addresses, too. */
const distinctive = new Set(["size", "sha256"]);

/** A member that the schema marks as a file. */
export interface FormFile {
  readonly name: string;
  readonly isList: boolean;
  readonly isRequired: boolean;
}

/** Whether the values that a schema lists are media types. */
const isMediaType = (schema: unknown): boolean =>
  isObjectSchema(schema) &&
  [schema.enum, schema.const]
    .flat()
    .some((value) => typeof value === "string" && /^[a-z]+\/\S+$/.test(value));

/**
 * Returns the schema of the form from the schema of the draft: a member with the shape of a file is sent
 * as a file, another object as JSON. Returns undefined without files: then the form is like the draft.
 * `components` are the schemas that the draft refers to.
 */
export function formOf(
  draft: ObjectSchema,
  components: Readonly<Record<string, Schema>>,
  marked: readonly FormFile[],
): ObjectSchema | undefined {
  const { properties = {}, required = [] } = draft;
  if (!isObjectSchema(properties)) return undefined;
  const members = Object.entries(properties as Readonly<Record<string, Schema>>);
  const files = members.flatMap(([name, member]) => {
    const described = fileOf(member, components);
    return described === undefined ? [] : [[name, described] as const];
  });
  for (const { name, isList } of marked)
    files.push([name, isList ? { type: "array", items: file } : file]);
  if (files.length === 0) return undefined;
  const needed = marked.filter(({ isRequired }) => isRequired).map(({ name }) => name);
  const all = [...(required as readonly string[]), ...needed];
  return {
    ...draft,
    ...(all.length > 0 && { required: all }),
    properties: { ...properties, ...Object.fromEntries(files) },
  };
}

/**
 * Some code generators make no type of a component that only a form refers to, and then use it. A
 * second reference makes them write it.
 */
export const formHeaderName = "X-Form-Type";
export const formHeader = (form: object) => ({
  [formHeaderName]: {
    description: "Never sent. Names the type of the form.",
    content: { "application/json": { schema: form } },
  },
});

/** Returns undefined for a member that is not sent as a file. */
function fileOf(
  member: Schema,
  components: Readonly<Record<string, Schema>>,
): ObjectSchema | undefined {
  if (!isObjectSchema(member)) return undefined;
  const { $ref, type, items, properties } = member;
  if (typeof $ref === "string")
    return fileOf(own(components, $ref.slice(componentPath.length)) ?? true, components);
  if (type === "array") {
    const isList = isObjectSchema(items) && fileOf(items, components) !== undefined;
    return isList ? { type, items: file } : undefined;
  }
  if (!isObjectSchema(properties)) return undefined;
  const names = Object.keys(properties);
  const isFile = names.some((name) => distinctive.has(name)) || isMediaType(properties.type);
  return isFile && names.every((name) => fileMembers.has(name)) ? file : undefined;
}
