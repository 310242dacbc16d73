// How many values of one resource an index may hold: a list has an entry for each, and all are written at once.

import { pointerTo } from "../../lib/json/error-report.ts";
import type { Definition } from "../definition.ts";
import type { FieldError } from "../problem.ts";
import { kindOf, valueIn } from "./index-plan.ts";
import { keysOf } from "./sort-key.ts";

/** Of one field of one resource. */
export const maxEntries = 1_000;

const known = new WeakMap<Definition, readonly string[]>();

/** The indexed fields that may hold a list. */
export function listFields(definition: Definition): readonly string[] {
  const before = known.get(definition);
  if (before !== undefined) return before;
  const { unique, indexed, schema } = definition;
  const fields = [...new Set([...unique, ...indexed])].filter(
    (field) => kindOf(schema, field) === "any",
  );
  known.set(definition, fields);
  return fields;
}

/** The indexed lists that are too long. `fields` is the text of a JSON object. */
export function entryErrors(definition: Definition, fields: string): readonly FieldError[] {
  // So many values do not fit into a text that is short.
  if (fields.length < 2 * maxEntries) return [];
  const lists = listFields(definition);
  if (lists.length === 0) return [];
  const content: unknown = JSON.parse(fields);
  return lists.flatMap((field) => {
    const value = valueIn(content, field);
    const count =
      Array.isArray(value) && value.length > maxEntries ? keysOf("any", value).length : 0;
    if (count <= maxEntries) return [];
    const detail = `${field} is indexed, and an index holds at most ${maxEntries} values of one resource; this has ${count}`;
    return [{ pointer: pointerTo(field.split(".")), detail }];
  });
}
