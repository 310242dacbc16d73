// Validates the definition of a collection: by its JSON Schema, and by the rules that a schema cannot express.

import { type ErrorReport, pointerTo } from "../lib/json/error-report.ts";
import { checkValue } from "../lib/schema/check-value.ts";
import type { Fields } from "../lib/schema/fields.ts";
import { isObjectSchema } from "../lib/schema/subschemas.ts";
import type { WorkSteps } from "../lib/turns.ts";
import { checkCompoundIndexes } from "./check-compound-indexes.ts";
import { fieldError, listable } from "./check-field.ts";
import { checkReferences } from "./check-references.ts";
import { schemaSteps } from "./check-schema.ts";
import { definitionSchema } from "./definition-schema.ts";
import { reservedMembers } from "./resource.ts";

/** Adds all errors of a definition that is an object. `size` is the length of its text. */
export function* definitionSteps(
  given: Readonly<Record<string, unknown>>,
  size: number,
  report: ErrorReport,
): WorkSteps<void> {
  const { schema, redirect, honeypot } = given;
  checkValue(definitionSchema, given, report);
  yield size;
  const fields = isObjectSchema(schema)
    ? yield* schemaSteps(schema, size, ["schema"], report)
    : undefined;
  for (const list of ["unique", "indexed", "searchable"])
    if (Array.isArray(given[list])) checkFieldList(given[list], list, report, fields);
  checkCompoundIndexes(given, report, fields);
  checkReferences(given, report, fields);
  if (typeof redirect === "string") checkRedirect(redirect, report);
  if (typeof honeypot === "string") checkHoneypot(honeypot, report, fields);
}

/** Everything else is checked by the pattern in the schema. */
function checkRedirect(redirect: string, report: ErrorReport): void {
  if (!/^https?:\/\/[!-~]/i.test(redirect)) return;
  const { username, password } = URL.parse(redirect) ?? {};
  if (username !== "" || password !== "")
    report.add(["redirect"], "must be a valid URL without a user name and password");
}

function checkHoneypot(honeypot: string, report: ErrorReport, fields: Fields | undefined): void {
  if (reservedMembers.includes(honeypot)) report.add(["honeypot"], `${honeypot} is reserved`);
  else if (fields?.members.has(honeypot) || Object.hasOwn(listable, honeypot))
    report.add(["honeypot"], "people fill in this field; use a name that is not in the schema");
}

/** Checks the names that are valid paths. A searchable field can be an object with a name. */
function checkFieldList(
  list: readonly unknown[],
  rule: string,
  report: ErrorReport,
  fields: Fields | undefined,
): void {
  const invalid = new Set(report.errors.map(({ pointer }) => pointer));
  if (invalid.has(`/${rule}`)) return;
  const names = list.map((item) => (isObjectSchema(item) ? item.field : item));
  for (const [index, field] of names.entries()) {
    const path = [rule, index, ...(field === list[index] ? [] : ["field"])];
    if (typeof field !== "string" || invalid.has(pointerTo(path))) continue;
    const isRepeated = names.indexOf(field) < index;
    const error = fieldError(field, rule, fields) ?? (isRepeated && "this field is listed twice");
    if (error) report.add(path, error);
  }
}
