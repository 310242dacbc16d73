// Finds how the values of a field are compared, from the schema of a collection.

import { own } from "../lib/own-property.ts";

/**
 * How a field is compared. `any` is for fields that no schema declares: each value is compared by its
 * own type, and an array by each of its elements.
 */
export type ValueKind = "text" | "number" | "boolean" | "time" | "any";

const everyElement = "[]";

/** Whether the path has a value for each element of an array. */
export const isOfElements = (field: string): boolean =>
  field.endsWith(everyElement) || field.includes(`${everyElement}.`);

/** The path of all elements of the array at a path. */
export const elementsOf = (field: string): string => `${field}${everyElement}`;

/** The names on the way to a value, or to the array that contains it. */
export const pathOf = (field: string): readonly string[] =>
  (field.split(everyElement, 1)[0] ?? "").split(".");

/** The name without `[]`. */
export const plainName = (name: string): string =>
  name.endsWith(everyElement) ? name.slice(0, -everyElement.length) : name;

interface Declared {
  readonly type?: unknown;
  readonly format?: unknown;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly items?: unknown;
  readonly prefixItems?: unknown;
}

const kinds: Readonly<Record<string, ValueKind>> = {
  string: "text",
  number: "number",
  integer: "number",
  boolean: "boolean",
};
const timeFormats = new Set<unknown>(["date-time", "date"]);
const times = new Set(["createdAt", "updatedAt"]);

/** How a field is compared, by its declared type. The type null is ignored. */
export function kindOf(schema: unknown, field: string): ValueKind {
  if (times.has(field)) return "time";
  if (field === "id") return "text";
  const declared = declaredAt(schema, field);
  if (declared === undefined) return "any";
  const types = [declared.type].flat().filter((type) => type !== "null");
  const [type] = types;
  if (types.length !== 1 || typeof type !== "string") return "any";
  if (type === "string" && timeFormats.has(declared.format)) return "time";
  return own(kinds, type) ?? "any";
}

/** The schema of a field that is declared by nested `properties` and `items`. */
export function declaredAt(schema: unknown, field: string): Declared | undefined {
  let current: unknown = schema;
  for (const name of field.split(".")) {
    const plain = plainName(name);
    const properties = isObject(current) ? (current as Declared).properties : undefined;
    if (!properties || !Object.hasOwn(properties, plain)) return undefined;
    const member = properties[plain];
    current = plain === name ? member : itemsOf(member);
  }
  return isObject(current) ? (current as Declared) : undefined;
}

/** The schema of all items, if they have the same one. */
function itemsOf(schema: unknown): unknown {
  const { items, prefixItems }: Declared = isObject(schema) ? schema : {};
  return prefixItems === undefined ? items : undefined;
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);
