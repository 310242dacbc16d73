// What is said of a value that breaks a keyword of its schema, in words a person understands.

import { own } from "../own-property.ts";
import { formats, maxFormatChars } from "./formats.ts";
import type { ObjectSchema } from "./subschemas.ts";

const maxChoices = 10;
/** What is quoted of a schema. */
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

export const joinAtMost = (values: readonly unknown[], most: number): string =>
  values.slice(0, most).join(", ") +
  (values.length > most ? ` and ${values.length - most} more` : "");

const counted = (count: unknown, noun: string): string =>
  `${count} ${noun}${count === 1 ? "" : "s"}`;

/** Characters as JSON Schema counts them: code points. */
const lengthOf = (text: unknown): number => [...String(text)].length;

/** What is said when a keyword does not hold that says all by itself. */
export const keywordMessages: Readonly<Record<string, (limit: unknown, value: unknown) => string>> =
  {
    const: (only) => `must be ${quoted(only)}`,
    enum: (choices) =>
      `must be one of: ${joinAtMost((choices as readonly unknown[]).map(quoted), maxChoices)}`,
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
    uniqueItems: () => "must not hold the same item twice",
    minProperties: (limit) => `must have at least ${counted(limit, "field")}`,
    maxProperties: (limit) => `must have at most ${counted(limit, "field")}`,
  };

export function containsMessage({ minContains = 1, maxContains }: ObjectSchema): string {
  const most = maxContains === undefined ? "" : ` and at most ${maxContains}`;
  return `must hold at least ${minContains}${most} of the items that the schema asks for`;
}
