// Limits the index entries of one resource: an indexed array has one entry per element, and all are written at once.

import { pointerTo } from "../../lib/json/error-report.ts";
import type { Definition } from "../definition.ts";
import { isOfElements, kindOf, pathOf } from "../field-kind.ts";
import type { FieldError } from "../problem.ts";
import { keysAt, valueIn } from "./field-path.ts";
import type { IndexField } from "./index-plan.ts";

/** The limit per field and resource. */
export const maxEntries = 1_000;

type ListField = Pick<IndexField, "field" | "kind">;

const cache = new WeakMap<Definition, readonly ListField[]>();

/** The indexed fields that may have several values. */
export function listFields(definition: Definition): readonly ListField[] {
  const cached = cache.get(definition);
  if (cached !== undefined) return cached;
  const { unique, indexed, schema } = definition;
  const fields = [...new Set([...unique, ...indexed])]
    .filter((listed) => typeof listed === "string")
    .map((field) => ({ field, kind: kindOf(schema, field) }))
    .filter(({ field, kind }) => kind === "any" || isOfElements(field));
  cache.set(definition, fields);
  return fields;
}

/** Returns an error for each indexed field that has too many values. `fields` is the text of a JSON object. */
export function entryErrors(definition: Definition, fields: string): readonly FieldError[] {
  // A shorter text cannot have so many values.
  if (fields.length < 2 * maxEntries) return [];
  const lists = listFields(definition);
  if (lists.length === 0) return [];
  const content: unknown = JSON.parse(fields);
  return lists.flatMap(({ field, kind }) => {
    const value = valueIn(content, field);
    const hasMany = Array.isArray(value) && (value.length > maxEntries || isOfElements(field));
    const count = hasMany ? keysAt(field, kind, value).length : 0;
    if (count <= maxEntries) return [];
    const detail = `${field} is indexed and may have at most ${maxEntries} different values; it has ${count}`;
    return [{ pointer: pointerTo(pathOf(field)), detail }];
  });
}
