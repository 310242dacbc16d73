// Finds the unique field by which a resource is created or replaced, and the key of a value in its index.

import { pointerTo } from "../../lib/json/error-report.ts";
import type { Rules } from "../collection.ts";
import { type Definition, definitionOf } from "../definition.ts";
import { isOfElements, kindOf, type ValueKind } from "../field-kind.ts";
import { readIndex } from "../listed-index.ts";
import type { FieldError } from "../problem.ts";
import { serverMembers } from "../resource.ts";
import { valueIn } from "./field-path.ts";
import type { IndexEntry } from "./index-plan.ts";
import { keyOf } from "./sort-key.ts";

/** A field whose one value no two resources have in common. */
export interface UniqueField {
  readonly field: string;
  readonly kind: ValueKind;
}

/** The names of the fields that are unique on their own, and have one value. */
export const uniqueFieldNames = (rules: Rules | undefined): readonly string[] =>
  rules === undefined ? [] : uniqueNamesIn(definitionOf(rules));

/** The same in a definition. The server's own members are no fields. */
export const uniqueNamesIn = ({ unique }: Pick<Definition, "unique">): readonly string[] =>
  unique.flatMap((listed) => {
    const [first, ...more] = readIndex(listed).fields;
    if (first === undefined || more.length > 0) return [];
    const { field } = first;
    return isOfElements(field) || serverMembers.includes(field) ? [] : [field];
  });

export function uniqueFieldOf(rules: Rules | undefined, field: string): UniqueField | undefined {
  if (rules === undefined || !uniqueFieldNames(rules).includes(field)) return undefined;
  return { field, kind: kindOf(definitionOf(rules).schema, field) };
}

/** Whether the fields have a value here, of any type. */
export const hasValueOf = (field: string, fields: string): boolean =>
  valueIn(JSON.parse(fields), field) !== undefined;

/** Returns the entry of the fields in the index of a unique field, or what is wrong with their value. */
export function uniqueEntryOf(
  { field, kind }: UniqueField,
  fields: string,
): IndexEntry | FieldError {
  const value = valueIn(JSON.parse(fields), field);
  const isValue = ["string", "number", "boolean"].includes(typeof value);
  if (isValue) return { field, key: keyOf(kind, value) };
  const pointer = pointerTo(field.split("."));
  return value === undefined || value === null
    ? { pointer, detail: "a value is needed here: it says which resource is created or replaced" }
    : { pointer, detail: "one text, number, true or false is needed here" };
}
