// Looks up an untrusted name in a plain object without finding inherited names such as `constructor`.

/** Returns undefined when the object has no own property of this name. */
export const own = <T>(table: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;

/** Returns the member of a parsed JSON value; undefined when it is no object, or has none of this name. */
export function memberOf(value: unknown, name: string): unknown {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? own(value as Readonly<Record<string, unknown>>, name) : undefined;
}
