// The fields of a form as JSON: each text stands for what the collection's schema says it is.

import { ErrorReport } from "../lib/json/error-report.ts";
import { jsonLimits } from "../lib/json/scan.ts";
import { emptyObject, isObject, type ObjectTree, type Tree, writeTree } from "../lib/json/tree.ts";
import type { Rules } from "./collection.ts";
import { definitionOf } from "./definition.ts";
import { type Entry, type FormSchema, formSchemaOf, repeated } from "./form-schema.ts";
import { type FieldError, Problem } from "./problem.ts";

/** A name and a text, as they were sent. */
export type Pair = readonly [name: string, text: string];

export const formLimits = {
  /** As many as an object has members. */
  maxFields: jsonLimits.maxMembers,
} as const;

/** The text of a JSON object, to be judged like one that was sent as JSON. */
export function fieldsOfForm(pairs: readonly Pair[], rules: Rules | undefined): string | Problem {
  if (pairs.length > formLimits.maxFields) return manyFields;
  const definition = rules && definitionOf(rules);
  const formSchema = formSchemaOf(definition?.schema);
  const kept = pairs.filter(([name]) => name !== charsetField && name !== definition?.honeypot);
  const report = new ErrorReport();
  const root = emptyObject();
  for (const { entry, texts } of gather(kept, formSchema)) {
    const value = formSchema.read(texts, entry);
    if (value === repeated) report.add(entry.path, repeatedWords(texts.length));
    else if (value !== undefined) put(root, entry.path, value, report);
  }
  return report.errors.length > 0 ? invalid(report.errors) : writeTree(root);
}

/** Browsers fill it in with the name of the encoding (HTML §4.10.22.4), which is always UTF-8 here. */
const charsetField = "_charset_";

/** Whether the field is filled in that no person sees. */
export function isHoneypotFilled(pairs: readonly Pair[], rules: Rules | undefined): boolean {
  const honeypot = rules && definitionOf(rules).honeypot;
  return honeypot !== undefined && pairs.some(([name, text]) => name === honeypot && text !== "");
}

interface Filled {
  readonly entry: Entry;
  readonly texts: string[];
}

/** The texts of each field in the order of the form, whichever way its name was spelled. */
function gather(pairs: readonly Pair[], formSchema: FormSchema): Iterable<Filled> {
  const found = new Map<string, Filled>();
  for (const [name, text] of pairs) {
    const entry = formSchema.find(name);
    const key = JSON.stringify(entry.path);
    const filled = found.get(key) ?? { entry, texts: [] };
    filled.texts.push(text);
    found.set(key, filled);
  }
  return found.values();
}

function put(root: ObjectTree, path: readonly string[], value: Tree, report: ErrorReport): void {
  let level = root;
  for (const step of path.slice(0, -1)) {
    const next = level.members.get(step) ?? emptyObject();
    if (!isObject(next)) {
      report.add(path, mixedWords);
      return;
    }
    level.members.set(step, next);
    level = next;
  }
  const last = path.at(-1) ?? "";
  if (level.members.has(last)) report.add(path, mixedWords);
  else level.members.set(last, value);
}

const repeatedWords = (times: number): string =>
  `this field was sent ${times} times, and takes one value`;
const mixedWords = "a field was sent both as a text and with fields in it";

const invalid = (errors: readonly FieldError[]): Problem =>
  new Problem("invalid-body", "The form is not valid; `errors` names each fault.", { errors });

const manyFields = invalid([
  { pointer: "", detail: `more than ${formLimits.maxFields} fields in one form` },
]);
