// Finds the write-only fields of a schema, and removes them from what is shown.

import { isObject, type ObjectTree } from "../lib/json/tree.ts";
import { type Fields, fieldsOf } from "../lib/schema/fields.ts";
import { isObjectSchema, SchemaReferences } from "../lib/schema/subschemas.ts";

/** Returns the fields of a schema in which some are write-only; undefined when none are. */
export function hidingFieldsOf(schema: unknown): Fields | undefined {
  if (!isObjectSchema(schema)) return undefined;
  const fields = fieldsOf(schema, new SchemaReferences(schema));
  return fields.some(({ isWriteOnly }) => isWriteOnly) ? fields : undefined;
}

/** Removes the write-only fields from a tree. Returns whether there were any. */
export function hide(fields: Fields, tree: ObjectTree): boolean {
  let isChanged = false;
  for (const [name, { isWriteOnly, inner }] of fields.members) {
    const value = tree.members.get(name);
    const isRemoved = isWriteOnly
      ? tree.members.delete(name)
      : isObject(value) && hide(inner, value);
    isChanged ||= isRemoved;
  }
  return isChanged;
}
