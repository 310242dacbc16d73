// Writes resources as CSV rows (RFC 4180) with a header row, and escapes cells that a spreadsheet would run as formulas.

import { quoted, textCell } from "./csv-cells.ts";
import { isObject, readTree, type Tree, writeTree } from "./json/tree.ts";

/** A column: its header and the path of the member it shows. */
export interface CsvColumn {
  readonly name: string;
  readonly path: readonly string[];
}

/** A top-level member. A dot in its name is written with a backslash, because dots separate nested members. */
export const memberColumn = (name: string): CsvColumn => ({
  name: name.replaceAll(/[\\.]/g, "\\$&"),
  path: [name],
});

/** A field as list parameters name it, with dots for nested members. */
export const fieldColumn = (field: string): CsvColumn => ({
  name: field.replaceAll("\\", "\\\\"),
  path: field.split("."),
});

/** Returns the path of a column: names with dots between them. A backslash makes a dot part of a name. */
export function pathOfColumn(name: string): readonly string[] {
  const path: string[] = [];
  let step = "";
  for (let at = 0; at < name.length; at++) {
    const next = name[at + 1];
    if (name[at] === "\\" && (next === "." || next === "\\")) step += name[++at];
    else if (name[at] === ".") {
      path.push(step);
      step = "";
    } else step += name[at];
  }
  return [...path, step];
}

/** The names of the members of a representation. */
export function membersOf(representation: string): Iterable<string> {
  const tree = readTree(representation);
  return isObject(tree) ? tree.members.keys() : [];
}

export const headerRow = (columns: readonly CsvColumn[]): string =>
  rowOf(columns.map(({ name }) => nameCell(name)));

/** A name with another separator is quoted, because the header shows which one the table has. */
function nameCell(name: string): string {
  const cell = textCell(name);
  return /[;\t]/.test(cell) && !cell.startsWith('"') ? quoted(cell) : cell;
}

export function resourceRow(columns: readonly CsvColumn[], representation: string): string {
  const tree = readTree(representation);
  return rowOf(columns.map(({ path }) => cellOf(valueAt(tree, path))));
}

const rowOf = (cells: readonly string[]): string => `${cells.join(",")}\r\n`;

function valueAt(tree: Tree, path: readonly string[]): Tree | undefined {
  let value: Tree | undefined = tree;
  for (const name of path) value = isObject(value) ? value.members.get(name) : undefined;
  return value;
}

/** Numbers, booleans and null are written as in JSON, objects and arrays as JSON text. A missing value is an empty cell. */
function cellOf(value: Tree | undefined): string {
  if (value === undefined) return "";
  if (typeof value !== "string") return quoted(writeTree(value));
  return value.startsWith('"') ? textCell(JSON.parse(value)) : value;
}
