// The error messages for values that violate a keyword of their schema.

import { own } from "../own-property.ts";
import { formats, maxFormatChars } from "./formats.ts";
import type { ObjectSchema } from "./subschemas.ts";

const maxChoices = 10;
/** The limit for quoting a value of the schema. */
const maxQuotedChars = 200;

const typeNames: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  integer: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  null: "null",
};

export const describeType = (type: unknown): string =>
  [type]
    .flat()
    .map((name) => own(typeNames, String(name)) ?? String(name))
    .join(" or ");

export function describeValue(value: unknown): string {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "number") return Number.isInteger(value) ? "a number" : `${value}`;
  return describeType(Array.isArray(value) ? "array" : typeof value);
}

const shortened = (text: string): string =>
  text.length > maxQuotedChars ? `${text.slice(0, maxQuotedChars)}…` : text;
const quoted = (value: unknown): string => shortened(JSON.stringify(value));

export const joinAtMost = (
  values: readonly unknown[],
  max: number,
  write: (value: unknown) => string = String,
): string =>
  values.slice(0, max).map(write).join(", ") +
  (values.length > max ? ` and ${values.length - max} more` : "");

const counted = (count: unknown, noun: string): string =>
  `${count} ${noun}${count === 1 ? "" : "s"}`;

/** JSON Schema counts code points. */
const lengthOf = (text: unknown): number => [...String(text)].length;

/** The messages of the keywords that are checked without subschemas. */
export const keywordMessages: Readonly<Record<string, (limit: unknown, value: unknown) => string>> =
  {
    const: (only) => `must be ${quoted(only)}`,
    enum: (choices) =>
      `must be one of: ${joinAtMost(choices as readonly unknown[], maxChoices, quoted)}`,
    minimum: (limit) => `must be at least ${limit}`,
    maximum: (limit) => `must be at most ${limit}`,
    exclusiveMinimum: (limit) => `must be more than ${limit}`,
    exclusiveMaximum: (limit) => `must be less than ${limit}`,
    multipleOf: (step) => `must be a multiple of ${step}`,
    minLength: (limit) =>
      limit === 1 ? "must not be empty" : `must have at least ${counted(limit, "character")}`,
    maxLength: (limit, value) =>
      `must have at most ${counted(limit, "character")}, but has ${lengthOf(value)}`,
    pattern: (pattern) => `must match the pattern ${shortened(String(pattern))}`,
    format: (format, value) =>
      String(value).length > maxFormatChars
        ? `must have at most ${counted(maxFormatChars, "character")}, as any ${format}`
        : `must be ${own(formats, String(format)) ?? quoted(format)}`,
    minItems: (limit) => `must have at least ${counted(limit, "item")}`,
    maxItems: (limit, value) =>
      `must have at most ${counted(limit, "item")}, but has ${(value as readonly unknown[]).length}`,
    uniqueItems: () => "must not contain the same item twice",
    minProperties: (limit) => `must have at least ${counted(limit, "field")}`,
    maxProperties: (limit) => `must have at most ${counted(limit, "field")}`,
  };

/** The message for a value of another type. It names the choices or an example, if the schema has them. */
export function typeMessage(
  { type, enum: choices, examples }: ObjectSchema,
  value: unknown,
): string {
  if (Array.isArray(choices)) return keywordMessages.enum?.(choices, value) ?? "";
  const [example] = Array.isArray(examples) ? examples : [];
  const suchAs = example === undefined ? "" : ` such as ${quoted(example)}`;
  return `must be ${describeType(type)}${suchAs}, not ${describeValue(value)}`;
}

export function containsMessage({ minContains = 1, maxContains }: ObjectSchema): string {
  const max = maxContains === undefined ? "" : ` and at most ${maxContains}`;
  return `must contain at least ${minContains}${max} items that match the contains schema`;
}
