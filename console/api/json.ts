// JSON values, and how two of them are compared.

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json;
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Names such as `constructor` are members only if they are there. */
export const memberOf = (object: JsonObject, name: string): Json | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined;

/** What a JSON Pointer leads to. */
export const valueAtPointer = (value: Json | undefined, pointer: string): Json | undefined =>
  pointer
    .split("/")
    .slice(1)
    .map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce<Json | undefined>(
      (at, name) =>
        Array.isArray(at) ? at[Number(name)] : isObject(at) ? memberOf(at, name) : undefined,
      value,
    );

/** The object that a text stands for; undefined when it is no JSON, or something else. */
export function parseObject(
  text: string,
  parse: (text: string) => unknown = JSON.parse,
): JsonObject | undefined {
  try {
    const value = parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Compares two values by what they say, whatever the order of their members. */
export function isEqual(one: Json | undefined, other: Json | undefined): boolean {
  if (isObject(one) && isObject(other)) {
    const names = Object.keys(one);
    return (
      names.length === Object.keys(other).length &&
      names.every((name) => Object.hasOwn(other, name) && isEqual(one[name], other[name]))
    );
  }
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, index) => isEqual(item, other[index]));
  return one === other;
}
