// Checks the indexes over several fields in a definition.

import { type ErrorReport, type Path, pointerTo } from "../lib/json/error-report.ts";
import type { Fields } from "../lib/schema/fields.ts";
import { fieldError } from "./check-field.ts";
import { isOfElements, kindOf } from "./field-kind.ts";
import { indexFieldOf, readIndex } from "./listed-index.ts";
import { serverMembers } from "./resource.ts";

/** The limit for the stored name of an index, in UTF-8. Each entry contains it. */
const maxNameBytes = 256;
const tooLong = `the names together have more than ${maxNameBytes} bytes, which is the limit for one index`;

/** Checks the indexes that are valid by the schema of definitions. */
export function checkCompoundIndexes(
  given: Readonly<Record<string, unknown>>,
  report: ErrorReport,
  fields: Fields | undefined,
): void {
  const invalid = report.errors.map(({ pointer }) => pointer);
  const isInvalid = (path: Path) => {
    const place = `${pointerTo(path)}/`;
    return invalid.some((pointer) => `${pointer}/`.startsWith(place));
  };
  const names = [given.unique, given.indexed].flat();
  for (const rule of ["unique", "indexed"]) {
    const list = given[rule];
    if (!Array.isArray(list) || invalid.includes(`/${rule}`)) continue;
    const texts = list.map((each) => JSON.stringify(each));
    for (const [index, parts] of list.entries()) {
      const path = [rule, index];
      if (!Array.isArray(parts) || isInvalid(path)) continue;
      for (const [each, part] of parts.entries()) {
        const error = partError(part, rule, given.schema, fields) ?? repetition(parts, each);
        if (error !== undefined) report.add([...path, each], error);
      }
      const { name } = readIndex(parts);
      // The name of a field can be the text of a list.
      const isTaken = name.startsWith("[") && names.includes(name);
      if (isTaken || texts.indexOf(JSON.stringify(parts)) < index)
        report.add(path, "this index is listed twice");
      if (Buffer.byteLength(name) > maxNameBytes) report.add(path, tooLong);
    }
  }
}

function repetition(parts: readonly string[], index: number): string | undefined {
  const names = parts.map((part) => indexFieldOf(part).field);
  return names.indexOf(names[index] ?? "") < index ? "this field is listed twice" : undefined;
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
