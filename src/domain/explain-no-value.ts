// Says why a field has no value that a condition can compare.

import { elementsOf } from "../model/field-kind.ts";
import type { FoundField } from "./related-fields.ts";

export const isObjectError = (field: string): string =>
  `${field} is an object; name one of its fields with a dot: ${field}.…`;

/** `name` is the whole path of the field, as the client wrote it. Returns undefined when the field has values. */
export function explainNoValue(
  { holds, field, queryable }: FoundField,
  name: string,
): string | undefined {
  if (holds === "object") return isObjectError(name);
  const isOfObjects = holds === "array" && queryable.find(elementsOf(field))?.holds === "object";
  return isOfObjects
    ? `${name} is an array of objects; name a field of its elements: ${name}[].…`
    : undefined;
}
