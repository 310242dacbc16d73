// Reads the unique field and its value in the URL of a PUT to a collection.

import { notUniqueField } from "../../domain/write/upserts.ts";
import { pointerTo } from "../../lib/json/error-report.ts";
import { emptyObject, isObject, readTree, writeTree } from "../../lib/json/tree.ts";
import type { Draft } from "../../model/draft.ts";
import { Problem } from "../../model/problem.ts";
import { keysOfText } from "../../model/query/filter.ts";
import {
  hasValueOf,
  type UniqueField,
  uniqueEntryOf,
  uniqueFieldNames,
  uniqueFieldOf,
} from "../../model/query/unique-field.ts";
import type { RequestContext } from "../request/context.ts";
import { invalid } from "../request/request-target.ts";

export interface UniqueTarget extends UniqueField {
  /** The value as it is in the URL. */
  readonly text: string;
  /** The keys of the values that the text can stand for. */
  readonly keys: readonly string[];
}

/** Reads the one parameter of the URL, whose value is read like that of a filter. */
export function readUniqueTarget(context: RequestContext): UniqueTarget | Problem {
  const { searchParams, collection } = context;
  const [first, second] = searchParams;
  if (first === undefined) return noField(context);
  if (second !== undefined)
    return invalid([
      {
        parameter: second[0],
        detail: `a PUT to a collection takes one parameter, a unique field; ${first[0]} is there already`,
      },
    ]);
  const [name, text] = first;
  if (name === "id") return idInQuery(collection.name);
  const unique = uniqueFieldOf(collection.rules, name);
  if (unique === undefined) return notUniqueField(collection, name);
  const keys = keysOfText(unique.kind, text);
  return typeof keys === "string"
    ? invalid([{ parameter: name, detail: keys }])
    : { ...unique, text, keys };
}

/** Adds the value of the URL to a draft without it. Another value is a conflict. */
export function withUniqueValue(draft: Draft, target: UniqueTarget): Draft | Problem {
  const { field, kind, text, keys } = target;
  if (hasValueOf(field, draft.fields)) {
    const entry = uniqueEntryOf(target, draft.fields);
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

function noField({ collection }: RequestContext): Problem {
  const { name, rules } = collection;
  const [example = "sku"] = uniqueFieldNames(rules);
  return new Problem(
    "invalid-parameter",
    `A PUT to a collection needs the value of a unique field in the URL, such as /${name}?${example}=A1. To choose the id, PUT to /${name}/{id}.`,
    { errors: [{ parameter: example, detail: "a unique field and its value are needed" }] },
  );
}

const idInQuery = (name: string): Problem =>
  invalid([{ parameter: "id", detail: `put the id into the path: /${name}/{id}` }]);
