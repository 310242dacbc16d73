// Says what a JSON Schema is in a few words, and makes an example of it.

import { isObject, type Json, type JsonObject } from "../../api/json.ts";
import type { Schema } from "../../api/types.ts";
import { refName, resolve } from "./document.ts";

export interface Property {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
}

const asSchema = (value: Json | undefined): Schema => (isObject(value) ? (value as Schema) : {});

/** `array of string`, `"open" or "paid"`, `Token`. */
export function typeText(document: JsonObject, schema: Schema): string {
  const name = refName(schema as JsonObject);
  if (name !== undefined) return name;
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((one) => JSON.stringify(one)).join(" or ");
  if (schema.type === "array" && schema.items)
    return `array of ${typeText(document, schema.items)}`;
  const types = [schema.type ?? []].flat().join(" or ") || choiceText(document, schema);
  return schema.format === undefined ? types : `${types} (${schema.format})`;
}

function choiceText(document: JsonObject, { anyOf, oneOf }: Schema): string {
  const choices = (Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : []) as Schema[];
  return choices.map((one) => typeText(document, one)).join(" or ") || "anything";
}

/** The members of an object, or of the objects in an array. */
export function propertiesOf(document: JsonObject, schema: Schema): readonly Property[] {
  const found = resolve(document, schema as JsonObject) as Schema;
  if (found.type === "array" && found.items) return propertiesOf(document, found.items);
  const required = found.required ?? [];
  return Object.entries(found.properties ?? {}).map(([name, one]) => ({
    ...{ name, schema: one, isRequired: required.includes(name) },
  }));
}

const deepest = 5;

/** An example that the schema has, or one made from its types. */
export function exampleOf(document: JsonObject, schema: Schema, depth = 0): Json {
  const found = resolve(document, schema as JsonObject) as Schema;
  const [given] = found.examples ?? [];
  const chosen = given ?? found.const ?? found.default ?? found.enum?.[0];
  if (chosen !== undefined && !isEmptyObject(chosen)) return chosen;
  const [choice] = (found.anyOf ?? found.oneOf ?? []) as Schema[];
  if (choice !== undefined) return exampleOf(document, choice, depth + 1);
  return exampleOfType(document, found, depth);
}

const isEmptyObject = (value: Json): boolean => isObject(value) && Object.keys(value).length === 0;

const formats: Readonly<Record<string, string>> = {
  date: "2026-01-31",
  "date-time": "2026-01-31T12:00:00Z",
  email: "ada@example.org",
  uri: "https://example.org",
};

function exampleOfType(document: JsonObject, schema: Schema, depth: number): Json {
  const [type] = [schema.type ?? []].flat();
  if (type === "string") return formats[schema.format ?? ""] ?? "text";
  if (type === "integer" || type === "number") return schema.minimum ?? 1;
  if (type === "boolean") return true;
  if (type === "array")
    return depth < deepest && schema.items
      ? [exampleOf(document, asSchema(schema.items as Json), depth + 1)]
      : [];
  if (depth >= deepest) return {};
  const writable = propertiesOf(document, schema).filter((one) => one.schema.readOnly !== true);
  const required = writable.filter((one) => one.isRequired);
  const shown = required.length > 0 ? required : writable;
  return Object.fromEntries(
    shown.map((one) => [one.name, exampleOf(document, one.schema, depth + 1)]),
  );
}
