// Looks up a name that comes from outside in a plain object, which also inherits names such as `constructor`.

/** The object's own member of this name; undefined when it has none. */
export const own = <T>(table: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;
