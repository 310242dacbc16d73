// Derives the schema of a merge patch from the schema of a draft.

import { isObjectSchema, type ObjectSchema, type Schema } from "../../lib/schema/subschemas.ts";

/** No member is required, optional members may be null, and nested objects are patches too. */
export function patchOf(schema: ObjectSchema): ObjectSchema {
  const { properties = {}, required = [], additionalProperties } = schema;
  const members = Object.entries(properties as Readonly<Record<string, Schema>>);
  const isNeeded = (name: string) => (required as readonly string[]).includes(name);
  return {
    type: "object",
    description:
      "JSON Merge Patch (RFC 7396): null removes, objects merge, anything else replaces.",
    properties: Object.fromEntries(
      members.map(([name, member]) => [
        name,
        isNeeded(name) ? partOf(member) : orNull(partOf(member)),
      ]),
    ),
    ...(additionalProperties === false && isPlain(schema) ? { additionalProperties } : {}),
  };
}

/** Whether all members are declared in `properties`. */
const isPlain = (schema: ObjectSchema): boolean =>
  !["$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties", "dependentSchemas"].some((word) =>
    Object.hasOwn(schema, word),
  );

function partOf(schema: Schema): Schema {
  if (!isObjectSchema(schema) || schema.type !== "object" || !isPlain(schema)) return schema;
  const { description: _, ...patch } = patchOf(schema);
  return patch;
}

const orNull = (schema: Schema): Schema => ({ anyOf: [schema, { type: "null" }] });
