// Checks the references in a definition.

import type { ErrorReport } from "../lib/json/error-report.ts";
import { pointerTo } from "../lib/json/error-report.ts";
import type { Fields } from "../lib/schema/fields.ts";
import { isObjectSchema } from "../lib/schema/subschemas.ts";
import { fieldError } from "./check-field.ts";
import { definitionLimits } from "./definition-schema.ts";
import { declaredAt, kindOf } from "./field-kind.ts";

const fieldPath = /^[^.]+(?:\.[^.]+)*$/;

/** Checks the references that are valid by the schema of definitions. */
export function checkReferences(
  { references, schema }: Readonly<Record<string, unknown>>,
  report: ErrorReport,
  fields: Fields | undefined,
): void {
  if (!isObjectSchema(references)) return;
  const invalid = new Set(report.errors.map(({ pointer }) => pointer));
  for (const [field, reference] of Object.entries(references)) {
    const path = ["references", field];
    if (invalid.has(pointerTo(path)) || !isObjectSchema(reference)) continue;
    const error = pathError(field) ?? fieldError(field, "references", fields);
    const kind = kindOf(schema, field);
    if (error !== undefined) report.add(path, error);
    else if (kind !== "text" && kind !== "any")
      report.add(path, "a reference is the id of a resource: declare the field as a string");
    else if (isArrayOnly(schema, field))
      report.add(path, `the schema declares an array; ${field}[] stands for its elements`);
    else if (reference.onDelete === "unset" && isRequired(schema, field))
      report.add([...path, "onDelete"], `the schema requires ${field}, so it cannot be removed`);
  }
}

const pathError = (field: string): string | undefined =>
  field.length > definitionLimits.maxFieldChars || !fieldPath.test(field)
    ? `must be names of up to ${definitionLimits.maxFieldChars} characters, separated by single dots, such as lines[].product`
    : undefined;

function isArrayOnly(schema: unknown, field: string): boolean {
  const types = [declaredAt(schema, field)?.type].flat();
  return types.includes("array") && !types.includes("string");
}

/** Whether the object that has the field requires it. */
function isRequired(schema: unknown, field: string): boolean {
  const names = field.split(".");
  const name = names.pop() ?? "";
  const parent = names.length === 0 ? schema : declaredAt(schema, names.join("."));
  const required = isObjectSchema(parent) ? parent.required : undefined;
  return Array.isArray(required) && required.includes(name);
}
