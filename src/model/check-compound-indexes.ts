// Checks the indexes over several fields in a definition.

import { type ErrorReport, pointerTo } from "../lib/json/error-report.ts";
import type { Fields } from "../lib/schema/fields.ts";
import { fieldError } from "./check-field.ts";
import { isOfElements, kindOf } from "./field-kind.ts";
import { indexFieldOf, indexName } from "./listed-index.ts";
import { serverMembers } from "./resource.ts";

/** The limit for the stored name of an index, in UTF-8. Each entry contains it. */
const maxNameBytes = 256;

/** Checks the lists that are valid by the schema of definitions. */
export function checkCompoundIndexes(
  given: Readonly<Record<string, unknown>>,
  report: ErrorReport,
  fields: Fields | undefined,
): void {
  const invalid = report.errors.map(({ pointer }) => pointer);
  const listed = [given.unique, given.indexed].flat();
  for (const rule of ["unique", "indexed"]) {
    const list = given[rule];
    if (!Array.isArray(list) || invalid.includes(`/${rule}`)) continue;
    const names = list.map(indexName);
    for (const [index, parts] of list.entries()) {
      const place = pointerTo([rule, index]);
      const isInvalid = invalid.some((pointer) => `${pointer}/`.startsWith(`${place}/`));
      if (!Array.isArray(parts) || isInvalid) continue;
      for (const [each, part] of parts.entries()) {
        const { field } = indexFieldOf(part);
        const isRepeated = parts.slice(0, each).some((one) => indexFieldOf(one).field === field);
        const error =
          partError(part, rule, given.schema, fields) ??
          (isRepeated && "this field is listed twice");
        if (error) report.add([rule, index, each], error);
      }
      const name = names[index] ?? "";
      // The name of a field can be the same text.
      if (names.indexOf(name) < index || listed.includes(name))
        report.add([rule, index], "this index is listed twice");
      else if (Buffer.byteLength(name) > maxNameBytes)
        report.add(
          [rule, index],
          `the names together are longer than ${maxNameBytes} bytes, which is the limit for one index`,
        );
    }
  }
}

/** Returns why the field cannot be in an index over several fields, or undefined. */
function partError(
  part: string,
  rule: string,
  schema: unknown,
  fields: Fields | undefined,
): string | undefined {
  const { field, isDescending } = indexFieldOf(part);
  if (field === "") return "must have the name of a field after the -";
  if (isDescending && rule === "unique") return `values have no order here; write ${field}`;
  if (isOfElements(field))
    return "an array has several values, and an index over several fields takes one of each; index it on its own";
  if (rule === "indexed" && serverMembers.includes(field)) return undefined;
  const error = fieldError(field, rule, fields);
  if (error !== undefined || kindOf(schema, field) !== "any") return error;
  return `an index over several fields needs the type of each: declare ${field} in the schema's properties as a string, number, integer or boolean`;
}
