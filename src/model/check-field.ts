// Checks one name in a definition's list of fields: whether the field exists, and whether it suits the list.

import { type Fields, isHiddenIn } from "../lib/schema/fields.ts";
import { plainName } from "./field-kind.ts";
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
  const head = plainName(names[0] ?? "");
  if (reservedMembers.includes(head)) return `${head} is reserved and never stored`;
  if (Object.hasOwn(listable, field)) {
    const isAllowed = listable[field]?.includes(list);
    return isAllowed ? undefined : `the server manages ${field}; remove it`;
  }
  return fields && (undeclaredError(fields, names) ?? unsuitableError(fields, names, list));
}

/** An undeclared name among declared ones is treated as a typing error. */
export function undeclaredError(fields: Fields, names: readonly string[]): string | undefined {
  let level: Fields = fields;
  for (const [index, name] of names.entries()) {
    const parent = names.slice(0, index).join(".");
    if (index > 0 && !mayBe(level, "object"))
      return `${parent} is not an object in the schema, so it has no fields${elementsAdvice(level, parent)}`;
    if (level.members.size === 0) return undefined;
    const plain = plainName(name);
    const field = level.members.get(plain);
    const where = index === 0 ? "" : ` in ${parent}`;
    const declared = [...level.members.keys()].join(", ");
    if (field === undefined)
      return `the schema has no field ${plain}${where}; known fields: ${declared}`;
    if (plain !== name && !mayBe(field.inner, "array"))
      return `${plain}${where} is not an array in the schema; remove the []`;
    level = plain === name ? field.inner : field.inner.items;
  }
  return undefined;
}

const elementsAdvice = (level: Fields, parent: string): string =>
  mayBe(level, "array") && mayBe(level.items, "object")
    ? `; ${parent}[] stands for its elements`
    : "";

const mayBe = ({ types }: Fields, type: string): boolean => types?.has(type) ?? true;

function unsuitableError(
  fields: Fields,
  names: readonly string[],
  list: string,
): string | undefined {
  const inner = fields.at(names)?.inner;
  const types = names.at(-1)?.endsWith("[]") ? inner?.items.types : inner?.types;
  const isObjectOnly =
    types?.has("object") && types.isSubsetOf(new Set<unknown>(["object", "null"]));
  if (isObjectOnly && list !== "searchable")
    return "objects cannot be compared; name a field of the object";
  if (isHiddenIn(fields, names))
    return "this field is writeOnly, so it must not be searchable or comparable";
  return undefined;
}
