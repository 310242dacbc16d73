// Validates the definition of a collection and reports all errors.

import type { ErrorReport, Path } from "../lib/json/error-report.ts";
import { own } from "../lib/own-property.ts";
import { type Fields, isHiddenIn } from "../lib/schema/fields.ts";
import { checkSchema } from "./check-schema.ts";
import { reservedMembers } from "./resource.ts";

export const definitionLimits = {
  /** The limit for each list of fields. */
  maxFields: 64,
  maxFieldChars: 256,
  maxDescriptionChars: 10_000,
  /** One year, in seconds. */
  maxAge: 31_536_000,
  minBytes: 2,
  maxRedirectChars: 2_000,
  maxPerMinute: 60_000,
} as const;

type Members = Readonly<Record<string, unknown>>;
type Rule = (value: unknown, path: Path, report: ErrorReport, fields: Fields | undefined) => void;

const rules: Readonly<Record<string, Rule>> = {
  $schema: isText,
  description: isText,
  schema: () => undefined,
  access: isAccess,
  unique: isFieldList,
  indexed: isFieldList,
  searchable: isFieldList,
  cache: isCache,
  maxBytes: (value, path, report) =>
    isWholeNumber(value, definitionLimits.minBytes, Number.MAX_SAFE_INTEGER, path, report),
  preconditions: isRequirement,
  idempotencyKey: isRequirement,
  redirect: isRedirect,
  honeypot: isHoneypot,
  rateLimit: isRateLimit,
};

/** Adds all errors of a definition that is an object. */
export function checkDefinition(given: Members, report: ErrorReport): void {
  const fields = Object.hasOwn(given, "schema")
    ? checkSchema(given.schema, ["schema"], report)
    : undefined;
  for (const [name, value] of Object.entries(given)) {
    const rule = own(rules, name);
    if (rule === undefined) report.add([name], `unknown rule; known rules: ${known(rules)}`);
    rule?.(value, [name], report, fields);
  }
}

const known = (named: object): string =>
  Object.keys(named)
    .filter((name) => !name.startsWith("$"))
    .join(", ");

function isText(value: unknown, path: Path, report: ErrorReport): void {
  const { maxDescriptionChars } = definitionLimits;
  if (typeof value !== "string") report.add(path, "must be text");
  else if (value.length > maxDescriptionChars)
    report.add(path, `must have at most ${maxDescriptionChars} characters`);
}

function isRequirement(value: unknown, path: Path, report: ErrorReport): void {
  if (value !== "optional" && value !== "required")
    report.add(path, 'must be "optional" or "required"');
}

function isWholeNumber(
  value: unknown,
  min: number,
  max: number,
  path: Path,
  report: ErrorReport,
): void {
  const isValid = Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max;
  if (!isValid) report.add(path, `must be a whole number from ${min} to ${max}`);
}

const isObject = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const audiences: Readonly<Record<string, readonly unknown[]>> = {
  read: ["token", "public", "owner"],
  create: ["token", "public"],
  update: ["token", "public", "owner"],
  delete: ["token", "public", "owner"],
};

function isAccess(value: unknown, path: Path, report: ErrorReport): void {
  if (!isObject(value)) {
    report.add(path, `must be an object with ${known(audiences)}`);
    return;
  }
  for (const [verb, audience] of Object.entries(value)) {
    const allowed = own(audiences, verb);
    if (allowed?.includes(audience)) continue;
    report.add([...path, verb], audienceMessage(verb, audience, allowed));
  }
}

function audienceMessage(verb: string, audience: unknown, allowed?: readonly unknown[]): string {
  if (allowed === undefined) return `unknown verb; known verbs: ${known(audiences)}`;
  if (verb === "create" && audience === "owner")
    return 'a new resource has no owner yet: use "token" or "public"; "owner" is for read, update and delete';
  return `must be ${allowed.map((each) => `"${each}"`).join(" or ")}`;
}

function isCache(value: unknown, path: Path, report: ErrorReport): void {
  isOneNumber(value, "maxAge", 0, definitionLimits.maxAge, path, report);
}

function isRateLimit(value: unknown, path: Path, report: ErrorReport): void {
  isOneNumber(value, "perMinute", 1, definitionLimits.maxPerMinute, path, report);
  if (isObject(value) && !Object.hasOwn(value, "perMinute"))
    report.add([...path, "perMinute"], "perMinute is required");
}

/** Checks an object with one optional member that is a number. */
function isOneNumber(
  value: unknown,
  member: string,
  min: number,
  max: number,
  path: Path,
  report: ErrorReport,
): void {
  if (!isObject(value)) {
    report.add(path, `must be an object with ${member}`);
    return;
  }
  for (const [name, number] of Object.entries(value))
    if (name !== member) report.add([...path, name], `unknown rule; the only rule is ${member}`);
    else isWholeNumber(number, min, max, [...path, name], report);
}

/** Printable ASCII without spaces, as a header field requires. */
const urlCharacters = /^[!-~]+$/;
/** Browsers read two slashes or backslashes as the start of another host name. */
const absolutePath = /^\/(?![/\\])/;

function isRedirect(value: unknown, path: Path, report: ErrorReport): void {
  const { maxRedirectChars } = definitionLimits;
  const isValid =
    typeof value === "string" &&
    value.length <= maxRedirectChars &&
    urlCharacters.test(value) &&
    (absolutePath.test(value) || isWebAddress(value));
  if (!isValid)
    report.add(
      path,
      `must be an http or https URL, or a path such as /thanks; at most ${maxRedirectChars} characters; percent-encode non-ASCII characters`,
    );
}

function isWebAddress(text: string): boolean {
  const { protocol, username, password } = URL.parse(text) ?? {};
  const isWeb = (protocol === "http:" || protocol === "https:") && /^https?:\/\//i.test(text);
  return isWeb && username === "" && password === "";
}

function isHoneypot(
  value: unknown,
  path: Path,
  report: ErrorReport,
  fields: Fields | undefined,
): void {
  const { maxFieldChars } = definitionLimits;
  if (typeof value !== "string" || value === "" || value.length > maxFieldChars)
    report.add(path, `must be the name of a form field, of 1 to ${maxFieldChars} characters`);
  else if (reservedMembers.includes(value)) report.add(path, `${value} is reserved`);
  else if (fields?.members.has(value) || Object.hasOwn(listable, value))
    report.add(path, "people fill in this field; use a name that is not in the schema");
}

function isFieldList(
  value: unknown,
  path: Path,
  report: ErrorReport,
  fields: Fields | undefined,
): void {
  const { maxFields } = definitionLimits;
  if (!Array.isArray(value)) {
    report.add(path, 'must be a list of fields, such as ["email"]');
    return;
  }
  if (value.length > maxFields) report.add(path, `must have at most ${maxFields} fields`);
  for (const [index, field] of value.slice(0, maxFields).entries()) {
    const error = fieldError(field, String(path[0]), fields);
    if (error !== undefined) report.add([...path, index], error);
    else if (value.indexOf(field) < index)
      report.add([...path, index], "this field is listed twice");
  }
}

/** The server's members, and the lists of fields that each may be in. */
const listable: Readonly<Record<string, readonly string[]>> = {
  id: [],
  createdAt: ["indexed"],
  updatedAt: ["indexed"],
};

function fieldError(field: unknown, list: string, fields: Fields | undefined): string | undefined {
  const { maxFieldChars } = definitionLimits;
  if (typeof field !== "string") return "must be the name of a field, as a string";
  const names = field.split(".");
  if (names.includes("")) return "must be names separated by single dots, such as address.city";
  if (field.length > maxFieldChars) return `must have at most ${maxFieldChars} characters`;
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
