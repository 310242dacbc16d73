// What is wrong with a schema that a definition brings: every fault, with what to write instead.

import type { ErrorReport, Path } from "../lib/json/error-report.ts";
import { compilePattern } from "../lib/regex/pattern.ts";
import { redosGrowth } from "../lib/regex/redos.ts";
import { checkCost } from "../lib/schema/cost.ts";
import { explain, explainPart } from "../lib/schema/explain.ts";
import { type Fields, fieldsOf } from "../lib/schema/fields.ts";
import { formats } from "../lib/schema/formats.ts";
import { keywords, metaschema, replacements } from "../lib/schema/metaschema.ts";
import {
  allSchemas,
  isObjectSchema,
  type ObjectSchema,
  type SchemaLocation,
  subschemasOf,
} from "../lib/schema/subschemas.ts";
import { addTrialErrors } from "../lib/schema/trial.ts";
import { CompiledSchema } from "../lib/schema/validator.ts";
import { reservedMembers, serverMembers } from "./resource.ts";

export const schemaLimits = {
  /** With all that stand inside it. */
  maxSchemas: 1000,
  /** Of one pattern. */
  maxPatternChars: 1000,
  /** Beside a pattern whose time grows with the square of the text. */
  maxSlowLength: 256,
} as const;

let meta: CompiledSchema | undefined;

/** What a schema is for: the fields of a resource, the input of an action, or any value. */
export type Subject = "resource" | "input" | "value";

/** Adds every fault of a schema. The fields that it declares, if it has none. */
export function checkSchema(
  given: unknown,
  path: Path,
  report: ErrorReport,
  subject: Subject = "resource",
): Fields | undefined {
  const before = report.errors.length;
  if (!isObjectSchema(given)) {
    report.add(path, "must be a JSON Schema of the fields: an object");
    return undefined;
  }
  const places = [...allSchemas({ path, schema: given })];
  if (places.length > schemaLimits.maxSchemas) {
    report.add(path, `must not hold more than ${schemaLimits.maxSchemas} schemas`);
    return undefined;
  }
  meta ??= new CompiledSchema(metaschema);
  if (!meta.isValid(given)) explain(meta, given, path, report);
  const ready = new CompiledSchema(given);
  if (subject !== "value" && given.type !== undefined && given.type !== "object")
    report.add([...path, "type"], `must be "object", because ${article[subject]} is one`);
  for (const place of places) checkKeywords(place, path, ready, report);
  // What follows walks through the schema, which must be sound for that.
  if (report.errors.length > before || !checkCost(given, path, ready.references, report))
    return undefined;
  const fields = fieldsOf(given, ready.references);
  if (subject === "resource") checkNames(given, fields, path, report);
  checkFlags({ path, schema: given }, ready, path, report);
  for (const place of places) checkDefaults(place, ready, report);
  if (report.errors.length === before) addTrialErrors(ready, fields, path, report);
  return report.errors.length > before ? undefined : fields;
}

const article = { resource: "a resource", input: "an input" } as const;

function checkKeywords(
  { path, schema }: SchemaLocation,
  root: Path,
  ready: CompiledSchema,
  report: ErrorReport,
): void {
  if (!isObjectSchema(schema)) return;
  for (const keyword of Object.keys(schema))
    if (!keywords.includes(keyword) && !keyword.startsWith("x-"))
      report.add([...path, keyword], unknownKeyword(keyword));
  const { $id, $ref, format, pattern, patternProperties, maxLength } = schema;
  if ($id !== undefined && path.length > root.length)
    report.add([...path, "$id"], "only the outermost schema may have an $id");
  if (typeof $ref === "string" && ready.references.find($ref) === undefined)
    report.add([...path, "$ref"], lostReference($ref));
  if (typeof format === "string" && !Object.hasOwn(formats, format))
    report.add(
      [...path, "format"],
      `there is no such format; there are: ${Object.keys(formats).join(", ")}`,
    );
  if (typeof pattern === "string") {
    const isShort = typeof maxLength === "number" && maxLength <= schemaLimits.maxSlowLength;
    const fault = patternFault(pattern, isShort, "pattern");
    if (fault !== undefined) report.add([...path, "pattern"], fault);
  }
  for (const name of Object.keys(isObjectSchema(patternProperties) ? patternProperties : {})) {
    const fault = patternFault(name, false, "name");
    if (fault !== undefined) report.add([...path, "patternProperties", name], fault);
  }
}

function unknownKeyword(keyword: string): string {
  const advice = Object.hasOwn(replacements, keyword)
    ? replacements[keyword]
    : "check the spelling; names of your own begin with x-";
  return `JSON Schema 2020-12 has no such keyword here: ${advice}`;
}

const lostReference = (reference: string): string =>
  reference.startsWith("#")
    ? "there is no schema at this place; refer to one such as #/$defs/name"
    : "only a schema in this document can be referred to, such as #/$defs/name";

function patternFault(pattern: string, isShort: boolean, what: string): string | undefined {
  const { maxPatternChars, maxSlowLength } = schemaLimits;
  if (pattern.length > maxPatternChars) return `must have at most ${maxPatternChars} characters`;
  if (compilePattern(pattern) === undefined)
    return "must be a regular expression (ECMA-262, flag u)";
  const growth = redosGrowth(pattern);
  if (growth === "unsafe")
    return "this pattern can run away: some texts match it in so many ways that checking one would never end, or it cannot be foreseen; avoid repetitions in repetitions, neighbours that take the same characters, and references back";
  if (growth === "linear" || isShort) return undefined;
  const advice =
    what === "pattern" ? `, or put a maxLength of at most ${maxSlowLength} beside it` : "";
  return `the time of this pattern grows with the square of the text; begin it with ^ or let no two repetitions take the same characters${advice}`;
}

/** The server's own members are no fields. */
function checkNames(root: ObjectSchema, fields: Fields, path: Path, report: ErrorReport): void {
  for (const name of serverMembers) {
    const isRequired = Array.isArray(root.required) && root.required.includes(name);
    if (fields.members.has(name))
      report.add([...path, "properties", name], `the server sets ${name} itself; leave it out`);
    if (isRequired)
      report.add([...path, "required"], `the server sets ${name} itself; leave it out of the list`);
  }
  for (const name of reservedMembers) {
    const isRequired = Array.isArray(root.required) && root.required.includes(name);
    if (fields.members.has(name))
      report.add([...path, "properties", name], `${name} is reserved; choose another name`);
    if (isRequired) report.add([...path, "required"], `${name} is reserved, and never stored`);
  }
}

const flags = ["readOnly", "writeOnly"] as const;

/** Both flags count where a path of names leads to them. Elsewhere they would be silently ignored. */
function checkFlags(
  root: SchemaLocation,
  ready: CompiledSchema,
  path: Path,
  report: ErrorReport,
): void {
  const seen = { served: new Set<unknown>(), ignored: new Set<unknown>() };
  const walk = (place: SchemaLocation, isServed: boolean, isField: boolean): void => {
    const { schema } = place;
    const visited = isServed && isField ? seen.served : isServed ? undefined : seen.ignored;
    if (!isObjectSchema(schema) || visited?.has(schema)) return;
    visited?.add(schema);
    for (const flag of flags)
      if (schema[flag] === true && !(isServed && isField))
        report.add(
          [...place.path, flag],
          `${flag} counts only for a field that properties lead to, not in lists, choices or conditions`,
        );
    const target = ready.references.find(schema.$ref);
    if (target !== undefined)
      walk({ path: [...path, ...target.path], schema: target.schema }, isServed, isField);
    for (const inner of subschemasOf(place)) {
      if (inner.applies === "none") continue;
      const isMember = inner.keyword === "properties";
      walk(inner, isServed && (isMember || inner.keyword === "allOf"), isMember || isField);
    }
  };
  walk(root, true, false);
}

function checkDefaults(
  { path, schema }: SchemaLocation,
  ready: CompiledSchema,
  report: ErrorReport,
): void {
  if (!isObjectSchema(schema) || !Object.hasOwn(schema, "default")) return;
  const value = ready.parse(JSON.stringify(schema.default));
  if (!ready.fits(schema, value)) explainPart(ready, schema, value, [...path, "default"], report);
}
