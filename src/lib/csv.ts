// Resources as rows of CSV (RFC 4180): UTF-8, CRLF, a header row, and nothing that a spreadsheet would run.

import { isObject, readTree, type Tree, writeTree } from "./json/tree.ts";

/** A column: the names that lead to a member, and what stands above it. */
export interface Column {
  readonly name: string;
  readonly path: readonly string[];
}

/** A member of the representation itself, dots and all. */
export const memberColumn = (name: string): Column => ({ name, path: [name] });

/** A field as lists name it: with dots for what is inside. */
export const fieldColumn = (field: string): Column => ({ name: field, path: field.split(".") });

/** The names of all members of the representations, in the order in which they are first seen. */
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
  let place: Tree | undefined = tree;
  for (const name of path) place = isObject(place) ? place.members.get(name) : undefined;
  return place;
}

/** Numbers and truth values as they were written, what is nested as JSON; nothing for null. */
function cellOf(value: Tree | undefined): string {
  if (value === undefined || value === "null") return "";
  if (typeof value !== "string") return quoted(writeTree(value));
  return value.startsWith('"') ? textCell(JSON.parse(value)) : value;
}

/** A spreadsheet takes a text that begins so for a formula, in the wide characters of Asia too. */
const formula = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

/** An apostrophe makes it a text again. An empty text is quoted, to tell it from nothing. */
function textCell(text: string): string {
  const safe = formula.test(text) ? `'${text}` : text;
  return safe === "" || /[",\r\n]|^\s|\s$/.test(safe) ? quoted(safe) : safe;
}

const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
