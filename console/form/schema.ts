// Decides how a value is edited: by its JSON Schema, or by what it is.

import { isObject, type Json, memberOf } from "../api/json.ts";
import type { Schema, StoredFile } from "../api/types.ts";

export type InputKind =
  | "text"
  | "long-text"
  | "email"
  | "uri"
  | "date"
  | "date-time"
  | "number"
  | "integer"
  | "boolean"
  | "choice"
  | "object"
  | "array"
  | "file"
  | "json";

const longTextLength = 200;

/** The types that a schema allows; all when it does not say. */
export const typesOf = ({ type }: Schema): readonly string[] =>
  type === undefined ? [] : typeof type === "string" ? [type] : type;

export const allowsNull = (schema: Schema): boolean =>
  schema.enum?.includes(null) ?? (typesOf(schema).length === 0 || typesOf(schema).includes("null"));

/** A file as its resource shows it. */
export const isFile = (value: unknown): value is StoredFile & { [name: string]: Json } =>
  isObject(value) &&
  ["name", "type", "url"].every((name) => typeof memberOf(value, name) === "string") &&
  typeof memberOf(value, "size") === "number" &&
  String(memberOf(value, "url")).startsWith("/");

const fileMembers = new Set(["name", "type", "size", "sha256", "url", "width", "height"]);

/** Whether a schema describes a file as its resource shows it, or a list of files. */
export function isFileSchema(schema: Schema): boolean {
  const { properties = {}, format } = schema.items ?? schema;
  if (format === "file") return true;
  const names = Object.keys(properties);
  const { type = {} } = properties;
  const types = [type.enum ?? type.const ?? type.pattern ?? []].flat();
  const isMedia = types.length > 0 && types.every((one) => /^\^?\w+\\?\//.test(String(one)));
  const isKnown = ["size", "sha256", "url"].some((name) => names.includes(name)) || isMedia;
  return isKnown && names.every((name) => fileMembers.has(name));
}

export function kindOf(schema: Schema, value: Json | undefined): InputKind {
  if (isFile(value) || (Array.isArray(value) && value.length > 0 && value.every(isFile)))
    return "file";
  const isBlank =
    value === undefined || value === null || (Array.isArray(value) && value.length === 0);
  if (isBlank && isFileSchema(schema)) return "file";
  if (schema.enum !== undefined || schema.const !== undefined) return "choice";
  const kind = kindByType(schema, value);
  return value === undefined || value === null || fits(kind, value) ? kind : "json";
}

function kindByType(schema: Schema, value: Json | undefined): InputKind {
  const types = typesOf(schema).filter((type) => type !== "null");
  if (schema.oneOf !== undefined || schema.anyOf !== undefined || types.length > 1) return "json";
  const type = types[0] ?? (schema.properties ? "object" : schema.items ? "array" : undefined);
  if (type === undefined)
    return value === undefined || value === null ? "json" : kindByValue(value);
  return type === "string" ? textKind(schema, value) : (type as InputKind);
}

function textKind({ format, maxLength = 0 }: Schema, value: Json | undefined): InputKind {
  if (format === "date" || format === "date-time" || format === "email" || format === "uri")
    return format;
  return maxLength > longTextLength || isLong(value) ? "long-text" : "text";
}

const isLong = (value: Json | undefined): boolean =>
  typeof value === "string" && (value.includes("\n") || value.length > 80);

function kindByValue(value: Json): InputKind {
  if (typeof value === "string") return isLong(value) ? "long-text" : "text";
  if (Array.isArray(value)) return "array";
  return isObject(value) ? "object" : (typeof value as "number" | "boolean");
}

/** A number that someone is typing is a text for a while. */
const fitting: Readonly<Record<InputKind, (value: Json) => boolean>> = {
  text: (value) => typeof value === "string",
  "long-text": (value) => typeof value === "string",
  email: (value) => typeof value === "string",
  uri: (value) => typeof value === "string",
  date: (value) => typeof value === "string",
  "date-time": (value) => typeof value === "string",
  number: (value) => typeof value === "number" || typeof value === "string",
  integer: (value) => typeof value === "number" || typeof value === "string",
  boolean: (value) => typeof value === "boolean",
  choice: () => true,
  object: isObject,
  array: Array.isArray,
  file: isFile,
  json: () => true,
};
const fits = (kind: InputKind, value: Json): boolean => fitting[kind](value);

/** What a new element or object begins with. */
export function emptyValue(schema: Schema): Json {
  if (schema.default !== undefined) return schema.default;
  if (schema.enum?.[0] !== undefined) return schema.enum[0];
  const empty: Partial<Record<InputKind, Json>> = {
    object: {},
    array: [],
    boolean: false,
    json: null,
  };
  const isNumber = ["number", "integer"].includes(kindOf(schema, undefined));
  return empty[kindOf(schema, undefined)] ?? (isNumber ? 0 : "");
}

/** `2 to 100 characters`, `at least 0`. */
export function limitsOf(schema: Schema): string {
  const { minLength, maxLength, minimum, maximum } = schema;
  const length = span(minLength || undefined, maxLength);
  return [length && `${length} characters`, span(minimum, maximum), patternText(schema)]
    .filter(Boolean)
    .join(", ");
}

/** A pattern in words, if the schema has any: an example, or its description. */
function patternText({ pattern, examples, description }: Schema): string {
  if (pattern === undefined) return "";
  if (examples?.[0] !== undefined) return `such as ${examples[0]}`;
  return description === undefined ? `must match ${pattern}` : "";
}

/** An error of the server, where the schema says it in plainer words. */
export function plainError(detail: string, { pattern, examples, description }: Schema): string {
  if (pattern === undefined || !detail.startsWith("must match")) return detail;
  if (examples?.[0] !== undefined) return `must look like ${examples[0]}`;
  return description === undefined ? detail : `does not fit: ${description}`;
}

function span(from: number | undefined, to: number | undefined): string {
  if (from !== undefined && to !== undefined) return from === to ? `${from}` : `${from} to ${to}`;
  if (from !== undefined) return `at least ${from}`;
  return to === undefined ? "" : `at most ${to}`;
}
