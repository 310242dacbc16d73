// Validates the JSON Schema of a definition or an action and reports all errors with a fix for each.

import type { ErrorReport, Path } from "../lib/json/error-report.ts";
import { compilePattern } from "../lib/regex/pattern.ts";
import { boundariesOfProperty, propertiesIn } from "../lib/regex/properties.ts";
import { type Growth, redosGrowth } from "../lib/regex/redos.ts";
import { checkCost } from "../lib/schema/cost.ts";
import { explain, explainPart } from "../lib/schema/explain.ts";
import { type Fields, fieldsOf, fileFormat } from "../lib/schema/fields.ts";
import { formats } from "../lib/schema/formats.ts";
import { keywords, metaschema, replacements } from "../lib/schema/metaschema.ts";
import {
  allSchemas,
  isObjectSchema,
  type ObjectSchema,
  type Schema,
  type SchemaLocation,
  subschemasOf,
} from "../lib/schema/subschemas.ts";
import { trialSteps } from "../lib/schema/trial.ts";
import { CompiledSchema } from "../lib/schema/validator.ts";
import { turnBytes, type WorkSteps } from "../lib/turns.ts";
import { reservedMembers, serverMembers } from "./resource.ts";

const schemaLimits = {
  /** The limit for a schema with all its subschemas. */
  maxSchemas: 1000,
  /** The limit for one pattern. */
  maxPatternChars: 1000,
  /** The limit for all different patterns together. */
  maxPatternsChars: 20_000,
  /** How many different `\p{…}` the patterns may have. For each, all of Unicode is gone through once. */
  maxProperties: 32,
  /** The maxLength that a pattern with quadratic time requires. */
  maxSlowLength: 256,
} as const;

let compiledMetaschema: CompiledSchema | undefined;

/** What a schema describes: the fields of a resource, the input of an action, or any value. */
export type Subject = "resource" | "input" | "value";

/**
 * Adds all errors of a schema. Returns the declared fields when there are none. `size` is the length of
 * its text.
 */
export function* schemaSteps(
  given: unknown,
  size: number,
  path: Path,
  report: ErrorReport,
  subject: Subject = "resource",
): WorkSteps<Fields | undefined> {
  const before = report.errors.length;
  if (!isObjectSchema(given)) {
    report.add(path, "must be a JSON Schema, as an object");
    return undefined;
  }
  const locations = [...allSchemas({ path, schema: given })];
  if (locations.length > schemaLimits.maxSchemas) {
    report.add(path, `must not have more than ${schemaLimits.maxSchemas} schemas`);
    return undefined;
  }
  const patterns = new Set(locations.flatMap(({ schema }) => patternsOf(schema)));
  const excess = patternsError(patterns);
  if (excess !== undefined) {
    report.add(path, excess);
    return undefined;
  }
  compiledMetaschema ??= new CompiledSchema(metaschema);
  if (!compiledMetaschema.isValid(given)) explain(compiledMetaschema, given, path, report);
  yield size;
  const compiled = new CompiledSchema(given);
  yield size;
  const growths = new Map<string, PatternGrowth>();
  for (const pattern of patterns) growths.set(pattern, yield* growthSteps(pattern));
  if (subject !== "value" && given.type !== undefined && given.type !== "object")
    report.add([...path, "type"], `must be "object", because ${article[subject]} is one`);
  for (const location of locations) checkKeywords(location, path, compiled, growths, report);
  yield size;
  // The checks below need a schema without errors.
  if (report.errors.length > before || !checkCost(given, path, compiled.references, report))
    return undefined;
  yield size;
  const fields = fieldsOf(given, compiled.references);
  if (subject === "resource") checkNames(given, fields, path, report);
  checkFlags({ path, schema: given }, compiled, path, report);
  for (const location of locations) {
    checkDefaults(location, compiled, report);
    yield schemaWork;
  }
  if (report.errors.length === before) yield* trialSteps(compiled, fields, size, path, report);
  return report.errors.length > before ? undefined : fields;
}

/** In bytes of a turn. */
const schemaWork = 64;
const patternWork = 16_384;

/** The patterns of a schema, without those of its subschemas. */
function patternsOf(schema: Schema): readonly string[] {
  if (!isObjectSchema(schema)) return [];
  const { pattern, patternProperties } = schema;
  const names = isObjectSchema(patternProperties) ? Object.keys(patternProperties) : [];
  return typeof pattern === "string" ? [pattern, ...names] : names;
}

/** How the time of a pattern grows; undefined when it does not compile. */
type PatternGrowth = Growth | undefined;

function patternsError(patterns: ReadonlySet<string>): string | undefined {
  const { maxPatternsChars, maxProperties } = schemaLimits;
  const chars = [...patterns].reduce((sum, { length }) => sum + length, 0);
  if (chars > maxPatternsChars)
    return `the patterns of all its schemas must not have more than ${maxPatternsChars} characters together`;
  const properties = new Set([...patterns].flatMap(propertiesIn));
  return properties.size > maxProperties
    ? `its patterns must not name more than ${maxProperties} different properties such as \\p{L}`
    : undefined;
}

function* growthSteps(pattern: string): WorkSteps<PatternGrowth> {
  if (pattern.length > schemaLimits.maxPatternChars || compilePattern(pattern) === undefined)
    return undefined;
  for (const property of propertiesIn(pattern)) {
    boundariesOfProperty(property);
    yield turnBytes;
  }
  yield patternWork;
  return redosGrowth(pattern);
}

const article = { resource: "a resource", input: "an input" } as const;

function checkKeywords(
  { path, schema }: SchemaLocation,
  root: Path,
  compiled: CompiledSchema,
  growths: ReadonlyMap<string, PatternGrowth>,
  report: ErrorReport,
): void {
  if (!isObjectSchema(schema)) return;
  for (const keyword of Object.keys(schema))
    if (!keywords.includes(keyword) && !keyword.startsWith("x-"))
      report.add([...path, keyword], unknownKeyword(keyword));
  const { $id, $ref, format, pattern, patternProperties, maxLength } = schema;
  if ($id !== undefined && path.length > root.length)
    report.add([...path, "$id"], "only the outermost schema may have an $id");
  if (typeof $ref === "string" && compiled.references.find($ref) === undefined)
    report.add([...path, "$ref"], unresolvedReference($ref));
  if (format === fileFormat) {
    const place = path.slice(root.length).map(String).join("/");
    if (!fileMember.test(place)) report.add([...path, "format"], misplacedFile);
  } else if (typeof format === "string" && !Object.hasOwn(formats, format))
    report.add(
      [...path, "format"],
      `unknown format; known formats: ${Object.keys(formats).join(", ")}`,
    );
  if (typeof pattern === "string") {
    const isShort = typeof maxLength === "number" && maxLength <= schemaLimits.maxSlowLength;
    const error = patternError(pattern, growths.get(pattern), isShort, "pattern");
    if (error !== undefined) report.add([...path, "pattern"], error);
  }
  for (const name of Object.keys(isObjectSchema(patternProperties) ? patternProperties : {})) {
    const error = patternError(name, growths.get(name), false, "name");
    if (error !== undefined) report.add([...path, "patternProperties", name], error);
  }
}

/** A member of the resource, the items of one, or a schema that others refer to. */
const fileMember =
  /^(?:allOf\/\d+\/)*(?:properties|\$defs|definitions)\/[^/]*(?:\/allOf\/\d+)*(?:\/items)?$/;
const misplacedFile =
  'the format "file" marks a member of the resource, or the items of one that is a list';

function unknownKeyword(keyword: string): string {
  const advice = Object.hasOwn(replacements, keyword)
    ? replacements[keyword]
    : "check the spelling; custom keywords begin with x-";
  return `JSON Schema 2020-12 has no such keyword here: ${advice}`;
}

const unresolvedReference = (reference: string): string =>
  reference.startsWith("#")
    ? "there is no schema at this location; use a reference such as #/$defs/name"
    : "references must be within this document, such as #/$defs/name";

function patternError(
  pattern: string,
  growth: PatternGrowth,
  isShort: boolean,
  what: string,
): string | undefined {
  const { maxPatternChars, maxSlowLength } = schemaLimits;
  if (pattern.length > maxPatternChars) return `must have at most ${maxPatternChars} characters`;
  if (growth === undefined) return "must be a regular expression (ECMA-262, flag u)";
  if (growth === "unsafe")
    return "this pattern is unsafe: some texts would take far too long to match, or the time cannot be determined; avoid nested repetitions, adjacent repetitions of the same characters, and backreferences";
  if (growth === "linear" || isShort) return undefined;
  const advice = what === "pattern" ? `, or add a maxLength of at most ${maxSlowLength}` : "";
  return `this pattern takes quadratic time; start it with ^ or avoid two repetitions of the same characters${advice}`;
}

/** The server's members and reserved names must not be declared as fields. */
function checkNames(root: ObjectSchema, fields: Fields, path: Path, report: ErrorReport): void {
  for (const name of serverMembers) {
    const isRequired = Array.isArray(root.required) && root.required.includes(name);
    if (fields.members.has(name))
      report.add([...path, "properties", name], `the server sets ${name}; remove it`);
    if (isRequired)
      report.add([...path, "required"], `the server sets ${name}; remove it from the list`);
  }
  for (const name of reservedMembers) {
    const isRequired = Array.isArray(root.required) && root.required.includes(name);
    if (fields.members.has(name))
      report.add([...path, "properties", name], `${name} is reserved; choose another name`);
    if (isRequired) report.add([...path, "required"], `${name} is reserved and never stored`);
  }
}

const flags = ["readOnly", "writeOnly"] as const;

/** Both flags work only on fields that `properties` declare. Anywhere else they would be ignored silently. */
function checkFlags(
  root: SchemaLocation,
  compiled: CompiledSchema,
  path: Path,
  report: ErrorReport,
): void {
  const seen = { supported: new Set<unknown>(), ignored: new Set<unknown>() };
  const walk = (location: SchemaLocation, isSupported: boolean, isField: boolean): void => {
    const { schema } = location;
    const visited =
      isSupported && isField ? seen.supported : isSupported ? undefined : seen.ignored;
    if (!isObjectSchema(schema) || visited?.has(schema)) return;
    visited?.add(schema);
    for (const flag of flags)
      if (schema[flag] === true && !(isSupported && isField))
        report.add(
          [...location.path, flag],
          `${flag} works only on a field in properties, not in lists, choices or conditions`,
        );
    const target = compiled.references.find(schema.$ref);
    if (target !== undefined)
      walk({ path: [...path, ...target.path], schema: target.schema }, isSupported, isField);
    for (const inner of subschemasOf(location)) {
      if (inner.applies === "none") continue;
      const isMember = inner.keyword === "properties";
      walk(inner, isSupported && (isMember || inner.keyword === "allOf"), isMember || isField);
    }
  };
  walk(root, true, false);
}

function checkDefaults(
  { path, schema }: SchemaLocation,
  compiled: CompiledSchema,
  report: ErrorReport,
): void {
  if (!isObjectSchema(schema) || !Object.hasOwn(schema, "default")) return;
  const value = compiled.parse(JSON.stringify(schema.default));
  if (!compiled.fits(schema, value))
    explainPart(compiled, schema, value, [...path, "default"], report);
}
