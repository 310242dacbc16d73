// Writes rows as JSON or CSV, for the clipboard.

import type { Json } from "../api/json.ts";
import type { Column, Row } from "./columns.ts";
import { valueAt } from "./paths.ts";

/** Without what the grid has added for itself. */
export const rowsAsJson = (rows: readonly Row[]): string =>
  JSON.stringify(
    rows.map(({ _etag, _expanded, ...resource }) => resource),
    null,
    2,
  );

export function rowsAsCsv(rows: readonly Row[], columns: readonly Column[]): string {
  const paths = [...new Set(["id", ...columns.map(({ path }) => path)])];
  const lines = rows.map((row) => paths.map((path) => csvCell(valueAt(row, path))));
  return [paths.map(quoted), ...lines].map((cells) => `${cells.join(",")}\r\n`).join("");
}

const quoted = (text: string): string =>
  /[",\r\n]/.test(text) || text === "" ? `"${text.replaceAll('"', '""')}"` : text;

/** A spreadsheet would run a text that begins like a formula, so it gets an apostrophe, as in an export. */
function csvCell(value: Json | undefined): string {
  if (value === undefined) return "";
  if (typeof value !== "string") return quoted(JSON.stringify(value));
  return quoted(/^'*[=+\-@\t\r\n]/.test(value) ? `'${value}` : value);
}
