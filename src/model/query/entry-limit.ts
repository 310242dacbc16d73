// Limits the index entries of one resource: an indexed array has one entry per element, and all are written at once.

import { pointerTo } from "../../lib/json/error-report.ts";
import type { Definition } from "../definition.ts";
import { kindOf } from "../field-kind.ts";
import type { FieldError } from "../problem.ts";
import { valueIn } from "./field-path.ts";
import { keysOf } from "./sort-key.ts";

/** The limit per field and resource. */
export const maxEntries = 1_000;

const cache = new WeakMap<Definition, readonly string[]>();

/** The indexed fields that may be arrays. */
export function listFields(definition: Definition): readonly string[] {
  const cached = cache.get(definition);
  if (cached !== undefined) return cached;
  const { unique, indexed, schema } = definition;
  const fields = [...new Set([...unique, ...indexed])]
    .filter((listed) => typeof listed === "string")
    .filter((field) => kindOf(schema, field) === "any");
  cache.set(definition, fields);
  return fields;
}

/** Returns an error for each indexed array that is too long. `fields` is the text of a JSON object. */
export function entryErrors(definition: Definition, fields: string): readonly FieldError[] {
  // A shorter text cannot have so many values.
  if (fields.length < 2 * maxEntries) return [];
  const lists = listFields(definition);
  if (lists.length === 0) return [];
  const content: unknown = JSON.parse(fields);
  return lists.flatMap((field) => {
    const value = valueIn(content, field);
    const count =
      Array.isArray(value) && value.length > maxEntries ? keysOf("any", value).length : 0;
    if (count <= maxEntries) return [];
    const detail = `${field} is indexed and may have at most ${maxEntries} different values; it has ${count}`;
    return [{ pointer: pointerTo(field.split(".")), detail }];
  });
}
