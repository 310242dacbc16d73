// Maps form field names to schema fields and form values to JSON values.

import { jsonLimits } from "../lib/json/scan.ts";
import type { Tree } from "../lib/json/tree.ts";
import { type Fields, fieldsOf } from "../lib/schema/fields.ts";
import type { ObjectSchema } from "../lib/schema/subschemas.ts";
import { holdsObject, type JsonTypes, jsonTypesOf, memberOf } from "../lib/schema/types.ts";
import { CompiledSchema } from "../lib/schema/validator.ts";

/** The path that a form field sets, and its declaration. */
export interface FormEntry {
  readonly path: readonly string[];
  readonly fields: Fields | undefined;
}

/** The result for several values where the schema allows one. */
export const repeated = Symbol("repeated");

export class FormSchema {
  readonly #compiled: CompiledSchema;
  readonly #fields: Fields;

  constructor(schema: ObjectSchema) {
    this.#compiled = new CompiledSchema(schema);
    this.#fields = fieldsOf(schema, this.#compiled.references);
  }

  /** A name is split only when the schema declares objects along the whole path. */
  find(name: string): FormEntry {
    const named = this.#named(name);
    if (named !== undefined) return named;
    const list = name.endsWith("[]") ? this.#named(name.slice(0, -"[]".length)) : undefined;
    const isList = list?.fields && jsonTypesOf(list.fields)?.has("array");
    return isList ? list : { path: [name], fields: undefined };
  }

  #named(name: string): FormEntry | undefined {
    return this.#declared([name]) ?? this.#declared(stepsOf(name));
  }

  /** The field at the path, or undefined. A member of a declared object may be undeclared. */
  #declared(path: readonly string[]): FormEntry | undefined {
    let level = this.#fields;
    for (const step of path.slice(0, -1)) {
      const inner = memberOf(level, step)?.inner;
      if (inner === undefined || !holdsObject(inner)) return undefined;
      level = inner;
    }
    const last = path.at(-1);
    const fields = last === undefined ? undefined : memberOf(level, last)?.inner;
    return fields === undefined && path.length < 2 ? undefined : { path, fields };
  }

  /** Converts the values of one field. Returns undefined when the field was left empty. */
  read(texts: readonly string[], { fields }: FormEntry): Tree | typeof repeated | undefined {
    const kinds = fields && jsonTypesOf(fields);
    const [text = ""] = texts;
    const isOne = texts.length === 1;
    if (isOne && fields !== undefined && this.#isEmpty(text, fields, kinds)) return undefined;
    const isList = kinds?.has("array") && (kinds.isSubsetOf(listOnly) || !isOne);
    if (fields !== undefined && isList) return this.#list(texts, fields.items);
    if (isOne) return literal(text, kinds);
    return kinds === undefined ? this.#list(texts, undefined) : repeated;
  }

  /** Combines the JSON values of one field. Some clients send each item of an array as a part. */
  joined(values: readonly Tree[], { fields }: FormEntry): Tree | typeof repeated {
    const kinds = fields && jsonTypesOf(fields);
    const [first = "null"] = values;
    const isWhole = values.length === 1 && (!kinds?.isSubsetOf(listOnly) || isListOrNull(first));
    if (isWhole) return first;
    return kinds === undefined || kinds.has("array")
      ? { kind: "array", items: [...values] }
      : repeated;
  }

  #list(texts: readonly string[], items: Fields | undefined): Tree | undefined {
    const kinds = items && jsonTypesOf(items);
    const given = texts.filter((text) => items === undefined || !this.#isEmpty(text, items, kinds));
    if (given.length === 0) return undefined;
    return { kind: "array", items: given.map((text) => literal(text, kinds)) };
  }

  /** Browsers send an empty string for a field that is not filled in. */
  #isEmpty(text: string, fields: Fields, kinds: JsonTypes | undefined): boolean {
    if (text !== "") return false;
    if (kinds?.has("null")) return true;
    if (kinds?.has("boolean")) return false;
    return !fields.schemas.every((schema) => this.#compiled.fits(schema, ""));
  }
}

const listOnly: JsonTypes = new Set(["array", "null"]);

const isListOrNull = (tree: Tree): boolean =>
  tree === "null" || (typeof tree === "object" && tree.kind === "array");

const firstStep = /^[^.[\]]*/;
/** What follows the first step in `address[city]` and `address.city`. Names in brackets may have dots. */
const nextSteps = /\.([^.[\]]+)|\[([^[\]]+)\]/gy;

/** Reads one step more than the limit, and no further: so deep a name is rejected whatever follows. */
function stepsOf(name: string): readonly string[] {
  const [first = ""] = firstStep.exec(name) ?? [];
  const steps = [first];
  let end = first.length;
  for (const [step, plain, inBrackets] of name.slice(end).matchAll(nextSteps)) {
    if (steps.length > jsonLimits.maxDepth) return steps;
    steps.push(plain ?? inBrackets ?? "");
    end += step.length;
  }
  return first !== "" && end === name.length ? steps : [name];
}

/** Converts a text to JSON. A text of the wrong type stays a string, so that validation reports it. */
function literal(text: string, kinds: JsonTypes | undefined): string {
  const isText = kinds === undefined || kinds.has("string");
  const number = !isText && kinds.has("number") ? numberIn(text) : undefined;
  const boolean = !isText && kinds.has("boolean") ? booleans.get(text) : undefined;
  return number ?? boolean ?? JSON.stringify(text);
}

const booleans: ReadonlyMap<string, string> = new Map([
  ...["on", "true", "1"].map((text) => [text, "true"] as const),
  ...["off", "false", "0", ""].map((text) => [text, "false"] as const),
]);

/** HTML §2.3.4.3. Unlike JSON, it allows leading zeros and no digit before the point. */
const htmlNumber = /^(-?)(\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/** Writes an HTML number as JSON. The JSON scan rejects a number that would lose precision. */
function numberIn(text: string): string | undefined {
  const [, sign = "", whole = "", fraction = "", power = ""] = htmlNumber.exec(text.trim()) ?? [];
  if (whole === "" && fraction === "") return undefined;
  return `${sign}${whole.replace(/^0+(?=\d)/, "") || "0"}${fraction}${power}`;
}

const anything: ObjectSchema = {};
const cache = new WeakMap<ObjectSchema, FormSchema>();

/** Cached per schema object. */
export function formSchemaOf(schema: ObjectSchema = anything): FormSchema {
  const cached = cache.get(schema);
  if (cached !== undefined) return cached;
  const formSchema = new FormSchema(schema);
  cache.set(schema, formSchema);
  return formSchema;
}
