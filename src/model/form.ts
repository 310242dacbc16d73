// Converts form fields to JSON by the types that the collection's schema declares.

import { ErrorReport } from "../lib/json/error-report.ts";
import { jsonLimits, scanJson } from "../lib/json/scan.ts";
import {
  emptyObject,
  isObject,
  type ObjectTree,
  readTree,
  type Tree,
  writeTree,
} from "../lib/json/tree.ts";
import type { Rules } from "./collection.ts";
import { definitionOf } from "./definition.ts";
import { type FormEntry, type FormSchema, formSchemaOf, repeated } from "./form-schema.ts";
import { type FieldError, Problem } from "./problem.ts";

/** The name and value of a form field. The value of a part with a JSON media type is JSON. */
export type Pair = readonly [name: string, text: string, isJson?: true];

export const formLimits = {
  /** The same limit as for the members of an object. */
  maxFields: jsonLimits.maxMembers,
} as const;

/** Returns the text of a JSON object, which is validated like a JSON body. */
export function fieldsOfForm(pairs: readonly Pair[], rules: Rules | undefined): string | Problem {
  if (pairs.length > formLimits.maxFields) return manyFields;
  const definition = rules && definitionOf(rules);
  const formSchema = formSchemaOf(definition?.schema);
  const fields = pairs.filter(([name]) => name !== charsetField && name !== definition?.honeypot);
  const report = new ErrorReport();
  const root = emptyObject();
  for (const { entry, texts, jsonTexts } of groupByField(fields, formSchema)) {
    const errors = jsonTexts.flatMap(scanJson);
    for (const { detail } of errors) report.add(entry.path, detail);
    if (errors.length > 0) continue;
    const hasBoth = texts.length > 0 && jsonTexts.length > 0;
    const value = hasBoth
      ? repeated
      : jsonTexts.length === 0
        ? formSchema.read(texts, entry)
        : formSchema.joined(jsonTexts.map(readTree), entry);
    if (value === repeated)
      report.add(entry.path, repeatedMessage(texts.length + jsonTexts.length));
    else if (value !== undefined) put(root, entry.path, value, report);
  }
  return report.errors.length > 0 ? invalid(report.errors) : writeTree(root);
}

/**
 * Returns the text of the one JSON part `data` that has all fields, or undefined when each part is a field:
 * then the schema declares a field `data`, or the part is no JSON object.
 */
export function dataOfForm(pairs: readonly Pair[], rules: Rules | undefined): string | undefined {
  const [text, ...others] = pairs.filter(([name, , isJson]) => name === dataField && isJson);
  const isDeclared = formSchemaOf(rules && definitionOf(rules).schema).find(dataField).fields;
  if (text === undefined || others.length > 0 || isDeclared !== undefined) return undefined;
  return /^\s*\{/.test(text[1]) ? text[1] : undefined;
}

/** Returns the fields that a form has besides its part `data`. */
export const besideData = (pairs: readonly Pair[], rules: Rules | undefined): readonly string[] =>
  pairs
    .map(([name]) => name)
    .filter((name) => name !== dataField && name !== charsetField)
    .filter((name) => name !== (rules && definitionOf(rules).honeypot));

/** The part with all fields as a JSON object. */
export const dataField = "data";

/** Browsers set it to the name of the encoding (HTML §4.10.22.4), which is always UTF-8 here. */
const charsetField = "_charset_";

/** Whether the hidden honeypot field is filled in, with a text or a file. */
export function isHoneypotFilled(
  pairs: readonly Pair[],
  rules: Rules | undefined,
  files: readonly { readonly field: string }[] = [],
): boolean {
  const honeypot = rules && definitionOf(rules).honeypot;
  if (honeypot === undefined) return false;
  const hasText = pairs.some(([name, text]) => name === honeypot && text !== "");
  return hasText || files.some(({ field }) => field === honeypot);
}

interface Filled {
  readonly entry: FormEntry;
  readonly texts: string[];
  readonly jsonTexts: string[];
}

/** Groups the values by field in the order of the form. A field name can be written in several ways. */
function groupByField(pairs: readonly Pair[], formSchema: FormSchema): Iterable<Filled> {
  const groups = new Map<string, Filled>();
  for (const [name, text, isJson] of pairs) {
    const entry = formSchema.find(name);
    const key = JSON.stringify(entry.path);
    const filled = groups.get(key) ?? { entry, texts: [], jsonTexts: [] };
    (isJson ? filled.jsonTexts : filled.texts).push(text);
    groups.set(key, filled);
  }
  return groups.values();
}

function put(root: ObjectTree, path: readonly string[], value: Tree, report: ErrorReport): void {
  let level = root;
  for (const step of path.slice(0, -1)) {
    const next = level.members.get(step) ?? emptyObject();
    if (!isObject(next)) {
      report.add(path, mixedMessage);
      return;
    }
    level.members.set(step, next);
    level = next;
  }
  const last = path.at(-1) ?? "";
  if (level.members.has(last)) report.add(path, mixedMessage);
  else level.members.set(last, value);
}

const repeatedMessage = (times: number): string =>
  `this field was sent ${times} times, but takes one value`;
const mixedMessage = "a field was sent both as a value and as an object";

const invalid = (errors: readonly FieldError[]): Problem =>
  new Problem("invalid-body", "The form is not valid; `errors` lists each error.", { errors });

const manyFields = invalid([
  { pointer: "", detail: `a form must not have more than ${formLimits.maxFields} fields` },
]);
