// Reads the values at a field path: names with dots between them. `[]` after a name stands for all elements of an array.

import { memberOf } from "../../lib/own-property.ts";
import { isOfElements, plainName, type ValueKind } from "../field-kind.ts";
import { keysOf, minKey } from "./sort-key.ts";

/** The value at a path in a parsed JSON value; for a path with `[]` an array of all values. */
export function valueIn(content: unknown, field: string): unknown {
  if (isOfElements(field)) return elementValues(content, field.split("."));
  let current = content;
  for (const name of field.split(".")) current = memberOf(current, name);
  return current;
}

function elementValues(content: unknown, path: readonly string[]): readonly unknown[] {
  let values = [content];
  for (const name of path) {
    const plain = plainName(name);
    const members = values.map((value) => memberOf(value, plain));
    values = plain === name ? members : members.filter(Array.isArray).flat();
  }
  return values;
}

/** The keys of the value at a path. There is at least one, and more than one only for elements of an array. */
export function keysAt(field: string, kind: ValueKind, value: unknown): readonly string[] {
  if (!isOfElements(field) || !Array.isArray(value)) return keysOf(kind, value);
  const keys = new Set(value.flatMap((each) => keysOf(kind, each)));
  keys.delete(minKey);
  return keys.size === 0 ? [minKey] : [...keys];
}
