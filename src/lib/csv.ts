// Writes resources as CSV rows (RFC 4180) with a header row, and escapes cells that a spreadsheet would run as formulas.

import { isObject, readTree, type Tree, writeTree } from "./json/tree.ts";

/** A column: its header and the path of the member it shows. */
export interface Column {
  readonly name: string;
  readonly path: readonly string[];
}

/** A top-level member. Dots in its name have no meaning. */
export const memberColumn = (name: string): Column => ({ name, path: [name] });

/** A field as list parameters name it, with dots for nested members. */
export const fieldColumn = (field: string): Column => ({ name: field, path: field.split(".") });

/** The names of all members of the representations, in the order of their first appearance. */
export function membersOf(representations: readonly string[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const text of representations) {
    const tree = readTree(text);
    if (isObject(tree)) for (const name of tree.members.keys()) names.add(name);
  }
  return names;
}

export const headerRow = (columns: readonly Column[]): string =>
  rowOf(columns.map(({ name }) => textCell(name)));

export function resourceRow(columns: readonly Column[], representation: string): string {
  const tree = readTree(representation);
  return rowOf(columns.map(({ path }) => cellOf(valueAt(tree, path))));
}

const rowOf = (cells: readonly string[]): string => `${cells.join(",")}\r\n`;

function valueAt(tree: Tree, path: readonly string[]): Tree | undefined {
  let value: Tree | undefined = tree;
  for (const name of path) value = isObject(value) ? value.members.get(name) : undefined;
  return value;
}

/** Numbers and booleans are written as they were sent, objects and arrays as JSON, null as an empty cell. */
function cellOf(value: Tree | undefined): string {
  if (value === undefined || value === "null") return "";
  if (typeof value !== "string") return quoted(writeTree(value));
  return value.startsWith('"') ? textCell(JSON.parse(value)) : value;
}

/** Spreadsheets treat a cell that starts with one of these as a formula, including the full-width forms. */
const formula = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

/** A leading apostrophe turns a formula into text. An empty string is quoted to distinguish it from null. */
function textCell(text: string): string {
  const safe = formula.test(text) ? `'${text}` : text;
  return safe === "" || /[",\r\n]|^\s|\s$/.test(safe) ? quoted(safe) : safe;
}

const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
