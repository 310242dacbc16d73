// Reads the value of a unique field that says which resource an upsert means, from the URL and the body.

import { pointerTo } from "../../lib/json/error-report.ts";
import { emptyObject, isObject, readTree, writeTree } from "../../lib/json/tree.ts";
import type { Draft } from "../../model/draft.ts";
import { Problem } from "../../model/problem.ts";
import { keysOfText } from "../../model/query/filter.ts";
import type { IndexEntry } from "../../model/query/index-plan.ts";
import {
  hasValueOf,
  type UniqueField,
  uniqueEntryOf,
  uniqueFieldNames,
  uniqueFieldOf,
} from "../../model/query/unique-field.ts";
import type { CollectionAccess } from "../collection-access.ts";
import type { UpsertOperation } from "./operation.ts";

/** What an upsert writes, and the value by which its resource is found. */
export interface MeantResource {
  readonly unique: UniqueField;
  readonly entry: IndexEntry;
  readonly draft: Draft;
}

/** Reads the value by the current rules. */
export function meantBy(
  access: CollectionAccess,
  { field, text, draft: sent }: UpsertOperation,
): MeantResource | Problem {
  const unique = uniqueFieldOf(access.rules, field);
  if (unique === undefined) return notUniqueField(access, field);
  const draft = text === undefined ? sent : withUniqueValue(sent, unique, text);
  if (draft instanceof Problem) return draft;
  const entry = uniqueEntryOf(unique, draft.fields);
  return "key" in entry
    ? { unique, entry, draft }
    : new Problem("invalid-body", `The resource has no value of ${field}.`, { errors: [entry] });
}

/** Adds the value of the URL, which is read like that of a filter, to a draft without it. Another value is a conflict. */
function withUniqueValue(draft: Draft, unique: UniqueField, text: string): Draft | Problem {
  const { field, kind } = unique;
  const keys = keysOfText(kind, text);
  if (typeof keys === "string")
    return new Problem("invalid-parameter", `The value of ${field} is not valid.`, {
      errors: [{ parameter: field, detail: keys }],
    });
  if (hasValueOf(field, draft.fields)) {
    const entry = uniqueEntryOf(unique, draft.fields);
    return "key" in entry && keys.includes(entry.key) ? draft : otherValue(field);
  }
  const tree = readTree(draft.fields);
  const path = field.split(".");
  let level = tree;
  for (const step of path.slice(0, -1)) {
    if (!isObject(level)) return otherValue(field);
    const next = level.members.get(step) ?? emptyObject();
    level.members.set(step, next);
    level = next;
  }
  if (!isObject(level)) return otherValue(field);
  const isLiteral = kind === "number" || kind === "boolean";
  level.members.set(path.at(-1) ?? "", isLiteral ? text : JSON.stringify(text));
  return { ...draft, fields: writeTree(tree) };
}

const otherValue = (field: string): Problem =>
  new Problem("conflict", `The value of ${field} in the body is not that of the URL.`, {
    errors: [
      {
        pointer: pointerTo(field.split(".")),
        detail: "leave it out, or send the value of the URL",
      },
    ],
  });

/** The problem of an upsert by a field that is not unique, which is the name or the value of a parameter. */
export function notUniqueField(
  { name, rules }: CollectionAccess,
  field: string,
  parameter = field,
): Problem {
  const names = uniqueFieldNames(rules);
  const those =
    names.length === 0
      ? `${name} has no field that is unique on its own; add one to \`unique\` in its definition`
      : `the unique fields of ${name} are: ${names.join(", ")}`;
  return new Problem("invalid-parameter", `${field} is not a unique field of ${name}.`, {
    errors: [{ parameter, detail: `only a unique field says which resource is meant; ${those}` }],
  });
}
