// Checks one name in a definition's list of fields: whether the field exists, and whether it suits the list.

import { type Fields, isHiddenIn } from "../lib/schema/fields.ts";
import { reservedMembers } from "./resource.ts";

/** The server's members, and the lists of fields that each may be in. */
export const listable: Readonly<Record<string, readonly string[]>> = {
  id: [],
  createdAt: ["indexed"],
  updatedAt: ["indexed"],
};

/** Returns why the field cannot be in the list, or undefined. */
export function fieldError(
  field: string,
  list: string,
  fields: Fields | undefined,
): string | undefined {
  const names = field.split(".");
  if (reservedMembers.includes(names[0] ?? "")) return `${names[0]} is reserved and never stored`;
  if (Object.hasOwn(listable, field)) {
    const isAllowed = listable[field]?.includes(list);
    return isAllowed ? undefined : `the server manages ${field}; remove it`;
  }
  return fields && (undeclaredError(fields, names) ?? unsuitableError(fields, names, list));
}

/** An undeclared name among declared ones is treated as a typing error. */
function undeclaredError(fields: Fields, names: readonly string[]): string | undefined {
  let level: Fields = fields;
  for (const [index, name] of names.entries()) {
    const { types } = level;
    const parent = names.slice(0, index).join(".");
    if (index > 0 && types !== undefined && !types.has("object"))
      return `${parent} is not an object in the schema, so it has no fields`;
    if (level.members.size === 0) return undefined;
    const field = level.members.get(name);
    const where = index === 0 ? "" : ` in ${parent}`;
    const declared = [...level.members.keys()].join(", ");
    if (field === undefined)
      return `the schema has no field ${name}${where}; known fields: ${declared}`;
    level = field.inner;
  }
  return undefined;
}

function unsuitableError(
  fields: Fields,
  names: readonly string[],
  list: string,
): string | undefined {
  const types = fields.at(names)?.inner.types;
  const isObjectOnly =
    types?.has("object") && types.isSubsetOf(new Set<unknown>(["object", "null"]));
  if (isObjectOnly && list !== "searchable")
    return "objects cannot be compared; name a field of the object";
  if (isHiddenIn(fields, names))
    return "this field is writeOnly, so it must not be searchable or comparable";
  return undefined;
}
