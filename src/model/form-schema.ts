// A schema as a form is filled in by it: which field a name means, and what a text in it stands for.

import { jsonLimits } from "../lib/json/scan.ts";
import type { Tree } from "../lib/json/tree.ts";
import { type Fields, fieldsOf } from "../lib/schema/fields.ts";
import type { ObjectSchema } from "../lib/schema/subschemas.ts";
import { holdsObject, type JsonTypes, jsonTypesOf, memberOf } from "../lib/schema/types.ts";
import { CompiledSchema } from "../lib/schema/validator.ts";

/** Where a text goes, and what is declared of it there. */
export interface Entry {
  readonly path: readonly string[];
  readonly fields: Fields | undefined;
}

/** What several texts are where the schema takes one. */
export const repeated = Symbol("repeated");

export class FormSchema {
  readonly #ready: CompiledSchema;
  readonly #fields: Fields;

  constructor(schema: ObjectSchema) {
    this.#ready = new CompiledSchema(schema);
    this.#fields = fieldsOf(schema, this.#ready.references);
  }

  /** A name is taken apart only where the schema declares objects on the whole way. */
  find(name: string): Entry {
    const named = this.#named(name);
    if (named !== undefined) return named;
    const list = name.endsWith("[]") ? this.#named(name.slice(0, -"[]".length)) : undefined;
    const isList = list?.fields && jsonTypesOf(list.fields)?.has("array");
    return isList ? list : { path: [name], fields: undefined };
  }

  #named(name: string): Entry | undefined {
    return this.#declared([name]) ?? this.#declared(stepsOf(name));
  }

  /** The field at the path; undefined when it is none. What is in an object may be undeclared. */
  #declared(path: readonly string[]): Entry | undefined {
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

  /** What the texts of one field stand for; undefined when it was left empty. */
  read(texts: readonly string[], { fields }: Entry): Tree | typeof repeated | undefined {
    const kinds = fields && jsonTypesOf(fields);
    const [text = ""] = texts;
    const isOne = texts.length === 1;
    if (isOne && fields !== undefined && this.#isLeftOut(text, fields, kinds)) return undefined;
    const isList = kinds?.has("array") && (kinds.isSubsetOf(listOnly) || !isOne);
    if (fields !== undefined && isList) return this.#list(texts, fields.items);
    if (isOne) return literal(text, kinds);
    return kinds === undefined ? this.#list(texts, undefined) : repeated;
  }

  #list(texts: readonly string[], items: Fields | undefined): Tree | undefined {
    const kinds = items && jsonTypesOf(items);
    const given = texts.filter(
      (text) => items === undefined || !this.#isLeftOut(text, items, kinds),
    );
    if (given.length === 0) return undefined;
    return { kind: "array", items: given.map((text) => literal(text, kinds)) };
  }

  /** Browsers send a field that nobody filled in as an empty text. */
  #isLeftOut(text: string, fields: Fields, kinds: JsonTypes | undefined): boolean {
    if (text !== "") return false;
    if (kinds?.has("null")) return true;
    if (kinds?.has("boolean")) return false;
    return !fields.schemas.every((schema) => this.#ready.fits(schema, ""));
  }
}

const listOnly: JsonTypes = new Set(["array", "null"]);

/** `address[city]` and `address.city`. What is in brackets may have dots. */
const nestedName = /^[^.[\]]+(?:\.[^.[\]]+|\[[^[\]]+\])+$/;
const nestedStep = /\[([^[\]]+)\]|([^.[\]]+)/g;

function stepsOf(name: string): readonly string[] {
  if (!nestedName.test(name)) return [name];
  // One more than is accepted, so that it is refused, whatever else follows.
  const steps = name.matchAll(nestedStep).take(jsonLimits.maxDepth + 1);
  return [...steps.map(([, inBrackets, plain]) => inBrackets ?? plain ?? "")];
}

/** The JSON of a text. What does not fit stays as it is, so that the schema says what is wrong. */
function literal(text: string, kinds: JsonTypes | undefined): string {
  const isText = kinds === undefined || kinds.has("string");
  const number = !isText && kinds.has("number") ? numberIn(text) : undefined;
  const truth = !isText && kinds.has("boolean") ? truths.get(text) : undefined;
  return number ?? truth ?? JSON.stringify(text);
}

const truths: ReadonlyMap<string, string> = new Map([
  ...["on", "true", "1"].map((text) => [text, "true"] as const),
  ...["off", "false", "0", ""].map((text) => [text, "false"] as const),
]);

/** HTML §2.3.4.3. Zeros may come first, and nothing before the point, unlike in JSON. */
const htmlNumber = /^(-?)(\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/** A number as JSON writes it; one that would not survive is refused with the rest of the JSON. */
function numberIn(text: string): string | undefined {
  const [, sign = "", whole = "", fraction = "", power = ""] = htmlNumber.exec(text.trim()) ?? [];
  if (whole === "" && fraction === "") return undefined;
  return `${sign}${whole.replace(/^0+(?=\d)/, "") || "0"}${fraction}${power}`;
}

const anything: ObjectSchema = {};
const known = new WeakMap<ObjectSchema, FormSchema>();

/** Made once for as long as the schema is the same object. */
export function formSchemaOf(schema: ObjectSchema = anything): FormSchema {
  const before = known.get(schema);
  if (before !== undefined) return before;
  const formSchema = new FormSchema(schema);
  known.set(schema, formSchema);
  return formSchema;
}
