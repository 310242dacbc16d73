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

interface NamedFields {
  /** What the entries are stored under: the field, or the JSON text of a list. */
  readonly name: string;
  readonly fields: readonly ListedField[];
}

/**
 * Entries with the same key are in order of creation, and can be read in either direction. So a
 * `createdAt` at the end is left out, and the direction of a single field, too.
 */
export function readIndex(listed: ListedIndex): NamedFields {
  if (typeof listed === "string") return { name: listed, fields: [ascending(listed)] };
  const all = listed.map(indexFieldOf);
  const fields = all.at(-1)?.field === "createdAt" ? all.slice(0, -1) : all;
  const [first, ...more] = fields;
  if (first && more.length === 0) return readIndex(first.field);
  const parts = fields.map(({ field, isDescending }) => (isDescending ? `-${field}` : field));
  return { name: JSON.stringify(parts), fields };
}

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

const ascending = (field: string): ListedField => ({ field, isDescending: false });

/** Reads one field of a list, where `-` means descending. */
export const indexFieldOf = (part: string): ListedField =>
  part.startsWith("-") ? { field: part.slice(1), isDescending: true } : ascending(part);
