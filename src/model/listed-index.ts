// Reads an index as a definition lists it.

/** The limit of fields in one index. */
export const maxIndexFields = 4;

/** An index as the definition lists it: a field, or several, of which `-` makes one descending. */
export type ListedIndex = string | readonly string[];

export interface ListedField {
  /** The path, with dots between the names. */
  readonly field: string;
  readonly isDescending: boolean;
}

/** The name of an index over several fields is the JSON text of its list. */
export const indexName = (listed: ListedIndex): string =>
  typeof listed === "string" ? listed : JSON.stringify(listed);

/** The fields of a unique index, by its name. */
export function fieldsOfUnique(name: string): readonly string[] {
  if (!name.startsWith("[")) return [name];
  try {
    const fields: unknown = JSON.parse(name);
    if (Array.isArray(fields)) return fields;
  } catch {
    // A field can have a name like this.
  }
  return [name];
}

export const ascending = (field: string): ListedField => ({ field, isDescending: false });

/** Reads one field of a list, where `-` means descending. */
export const indexFieldOf = (part: string): ListedField =>
  part.startsWith("-") ? { field: part.slice(1), isDescending: true } : ascending(part);
