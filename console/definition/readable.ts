// Whether a definition that someone is typing has a shape that can be shown. The server says whether it is right.

import { isObject, type Json, type JsonObject } from "../api/json.ts";

type Check = (value: Json) => boolean;

const isText: Check = (value) => typeof value === "string";
const isList = (value: Json, isItem: Check): boolean => Array.isArray(value) && value.every(isItem);
const isMap = (value: Json, isMember: Check): boolean =>
  isObject(value) && Object.values(value).every(isMember);
const isTexts: Check = (value) => isList(value, isText);
const isTextOrTexts: Check = (value) => isText(value) || isTexts(value);
const isSchemas: Check = (value) => isList(value, isSchema);
const isSchemaMap: Check = (value) => isMap(value, isSchema);

/** The members are right where they are. */
const hasOnly = (object: JsonObject, checks: Readonly<Record<string, Check>>): boolean =>
  Object.entries(checks).every(
    ([name, check]) => !Object.hasOwn(object, name) || check(object[name] ?? null),
  );

const ofSchema: Readonly<Record<string, Check>> = {
  type: isTextOrTexts,
  format: isText,
  title: isText,
  description: isText,
  pattern: isText,
  $ref: isText,
  required: isTexts,
  enum: Array.isArray,
  examples: Array.isArray,
  items: isSchema,
  additionalProperties: isSchema,
  properties: isSchemaMap,
  patternProperties: isSchemaMap,
  $defs: isSchemaMap,
  allOf: isSchemas,
  anyOf: isSchemas,
  oneOf: isSchemas,
  prefixItems: isSchemas,
};

function isSchema(value: Json): boolean {
  return typeof value === "boolean" || (isObject(value) && hasOnly(value, ofSchema));
}

const ofDefinition: Readonly<Record<string, Check>> = {
  description: isText,
  schema: (value) => isObject(value) && isSchema(value),
  access: isObject,
  unique: (value) => isList(value, isTextOrTexts),
  indexed: (value) => isList(value, isTextOrTexts),
  searchable: (value) =>
    isList(value, (one) => isText(one) || (isObject(one) && isText(one.field ?? null))),
  references: (value) => isMap(value, (one) => isObject(one) && isText(one.collection ?? null)),
};

export const isReadable = (definition: JsonObject): boolean => hasOnly(definition, ofDefinition);
