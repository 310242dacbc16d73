// Which cells can be edited in place, and how their text is read.

import type { Json } from "../api/json.ts";
import { parseNumber } from "../ui/number-text.ts";
import { type Column, type ColumnKind, kindOfValue, type Row } from "./columns.ts";
import { valueAt } from "./paths.ts";

const longestText = 500;

/** Why a cell opens the panel instead; undefined when it can be edited in place. */
export function lockOf(row: Row, column: Column): string | undefined {
  const value = valueAt(row, column.path);
  if (column.locked !== undefined) return column.locked;
  if (value !== null && typeof value === "object")
    return "Lists and objects are edited in the panel: press Enter.";
  if (typeof value === "string" && (value.length > longestText || /[\n\r]/.test(value)))
    return "Long texts are edited in the panel: press Enter.";
  return undefined;
}

/** The kind of input: that of the column, or of the value where the column has many kinds. */
export function inputKind(column: Column, value: Json | undefined): ColumnKind {
  if (column.kind !== "any") return fitsInput(column.kind, value) ? column.kind : "text";
  const kind = value === undefined || value === null ? "text" : kindOfValue(value);
  return kind === "array" || kind === "object" ? "text" : kind;
}

/** An input for times would show nothing for a text that is none. */
const fitsInput = (kind: ColumnKind, value: Json | undefined): boolean =>
  value === undefined ||
  value === null ||
  (kind === "time"
    ? !Number.isNaN(Date.parse(String(value)))
    : kind !== "date" || /^\d{4}-\d\d-\d\d$/.test(String(value)));

/** What the input shows at first. */
export function inputText(kind: ColumnKind, value: Json | undefined): string {
  if (value === undefined || value === null) return "";
  if (kind === "choice" || kind === "boolean") return JSON.stringify(value);
  return kind === "time" ? localInput(String(value)) : String(value);
}

/** As `datetime-local` wants it, in the time zone of the person. */
export function localInput(time: string): string {
  const date = new Date(time);
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19);
}

/** Undefined for a text that is no time, or one that is too far away. */
export function timeIn(text: string): string | undefined {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

/** Undefined for a text that is no number. */
export function numberIn(text: string): number | undefined {
  const value = parseNumber(text);
  return typeof value === "number" ? value : undefined;
}

/** Returns null for "no value", which removes the field, and undefined for a text that is no value. */
export function readInput(
  kind: ColumnKind,
  text: string,
  former: Json | undefined,
): Json | undefined {
  if (text === "") return kind === "text" && typeof former === "string" ? "" : null;
  if (kind === "number") return numberIn(text);
  if (kind === "choice" || kind === "boolean") return JSON.parse(text) as Json;
  return kind === "time" ? timeIn(text) : text;
}
