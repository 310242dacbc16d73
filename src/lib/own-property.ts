// Looks up an untrusted name in a plain object without finding inherited names such as `constructor`.

/** Returns undefined when the object has no own property of this name. */
export const own = <T>(table: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;
