// Which columns of a file become which fields, and the records with their new names.

import { parseToSend } from "../api/exact.ts";
import { type Json, parseObject } from "../api/json.ts";
import { asCell } from "./csv.ts";
import type { FileRecord, Source } from "./file.ts";

/** The new name of each column, or undefined to leave it out. */
export type Mapping = ReadonlyMap<string, string | undefined>;

export const isUnchanged = (mapping: Mapping): boolean =>
  [...mapping].every(([from, to]) => from === to);

/** Returns the text of a record to be sent, without the line break. */
export function mapRecord(source: Source, { content }: FileRecord, mapping: Mapping): string {
  if (typeof content !== "string")
    return content.filter((_, index) => isKept(source, index, mapping)).join(source.separator);
  if (isUnchanged(mapping)) return content.trimEnd();
  return mapObject(content, mapping);
}

function isKept({ columns }: Source, index: number, mapping: Mapping): boolean {
  const name = columns[index];
  // A row with too many cells is an error, which the server reports.
  return name === undefined || mapping.get(name) !== undefined;
}

/** Text that is no object is sent as it is: the server says what is wrong with it. */
function mapObject(text: string, mapping: Mapping): string {
  const object = parseObject(text, parseToSend);
  if (object === undefined) return text;
  const members = Object.entries(object)
    .map(([name, value]) => [mapping.has(name) ? mapping.get(name) : name, value] as const)
    .filter((member): member is readonly [string, Json] => member[0] !== undefined);
  return JSON.stringify(Object.fromEntries(members));
}

/** The header row with the new names. */
export function mapHeader({ columns, separator }: Source, mapping: Mapping): string {
  const names = columns.map((name) => mapping.get(name)).filter((name) => name !== undefined);
  return names.map(asCell).join(separator);
}

const simple = (name: string): string => name.toLowerCase().replace(/[^\p{L}\p{N}.]/gu, "");

/** Columns get the field of the same name, whatever the case and the spaces. */
export function suggestMapping(columns: readonly string[], fields: readonly string[]): Mapping {
  const known = new Map(fields.map((field) => [simple(field), field]));
  return new Map(columns.map((column) => [column, known.get(simple(column)) ?? column]));
}
