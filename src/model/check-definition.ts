// Validates the definition of a collection: by its JSON Schema, and by the rules that a schema cannot express.

import { type ErrorReport, pointerTo } from "../lib/json/error-report.ts";
import { checkValue } from "../lib/schema/check-value.ts";
import { type Fields, isHiddenIn } from "../lib/schema/fields.ts";
import { isObjectSchema } from "../lib/schema/subschemas.ts";
import { checkSchema } from "./check-schema.ts";
import { definitionSchema } from "./definition-schema.ts";
import { reservedMembers } from "./resource.ts";

/** Adds all errors of a definition that is an object. */
export function checkDefinition(
  given: Readonly<Record<string, unknown>>,
  report: ErrorReport,
): void {
  const { schema, redirect, honeypot } = given;
  checkValue(definitionSchema, given, report);
  const fields = isObjectSchema(schema) ? checkSchema(schema, ["schema"], report) : undefined;
  for (const list of ["unique", "indexed", "searchable"])
    if (Array.isArray(given[list])) checkFieldList(given[list], list, report, fields);
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

/** Checks the names that are valid paths. */
function checkFieldList(
  list: readonly unknown[],
  rule: string,
  report: ErrorReport,
  fields: Fields | undefined,
): void {
  const invalid = new Set(report.errors.map(({ pointer }) => pointer));
  if (invalid.has(`/${rule}`)) return;
  for (const [index, field] of list.entries()) {
    const path = [rule, index];
    if (typeof field !== "string" || invalid.has(pointerTo(path))) continue;
    const isRepeated = list.indexOf(field) < index;
    const error = fieldError(field, rule, fields) ?? (isRepeated && "this field is listed twice");
    if (error) report.add(path, error);
  }
}

/** The server's members, and the lists of fields that each may be in. */
const listable: Readonly<Record<string, readonly string[]>> = {
  id: [],
  createdAt: ["indexed"],
  updatedAt: ["indexed"],
};

function fieldError(field: string, list: string, fields: Fields | undefined): string | undefined {
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
