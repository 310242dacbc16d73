// Turns the rows of a CSV table into JSON objects, by the types that the schema declares.

import { pathOfColumn } from "../lib/csv.ts";
import { booleanOf, isJsonContainer, isNumber, textOfCell, timeOf } from "../lib/csv-cells.ts";
import type { Cell } from "../lib/csv-splitter.ts";
import { isExact } from "../lib/json/number.ts";
import { jsonLimits } from "../lib/json/scan.ts";
import { type Fields, fieldsOf } from "../lib/schema/fields.ts";
import { type ObjectSchema, SchemaReferences } from "../lib/schema/subschemas.ts";
import { type JsonTypes, jsonTypesOf, memberOf } from "../lib/schema/types.ts";

export interface TableOptions {
  readonly schema: ObjectSchema | undefined;
  /** Whether a value that no schema declares is a number, a boolean or a time when it looks like one. */
  readonly isInferring: boolean;
}

/** What the cells of a column can be. */
interface ColumnType {
  readonly types: JsonTypes;
  readonly isTime: boolean;
}

/** A member of the object: the value of a column, or an object of several. */
interface CsvMember {
  /** The name as JSON. */
  readonly name: string;
  readonly column: number;
  readonly type: ColumnType;
  readonly members: Map<string, CsvMember>;
}

const text: ColumnType = { types: new Set(["string"]), isTime: false };
const inferred: ColumnType = {
  types: new Set(["string", "number", "boolean", "null", "array", "object"]),
  isTime: true,
};

export class CsvTable {
  readonly columns: number;
  readonly #members: ReadonlyMap<string, CsvMember>;

  private constructor(columns: number, members: ReadonlyMap<string, CsvMember>) {
    this.columns = columns;
    this.#members = members;
  }

  /** Returns the table of a header row, or what is wrong with the row. */
  static of(header: readonly Cell[], options: TableOptions): CsvTable | string {
    if (header.length > jsonLimits.maxMembers)
      return `a table may have at most ${jsonLimits.maxMembers} columns, not ${header.length}`;
    const members = new Map<string, CsvMember>();
    for (const [column, cell] of header.entries()) {
      const error = addColumn(members, column, cell, options);
      if (error !== undefined) return error;
    }
    return new CsvTable(header.length, members);
  }

  /** Returns the JSON of a row, or undefined when all its cells are empty. */
  jsonOf(cells: readonly Cell[]): string | undefined {
    return objectOf(this.#members, cells);
  }
}

function addColumn(
  root: Map<string, CsvMember>,
  column: number,
  { text: written, isQuoted }: Cell,
  options: TableOptions,
): string | undefined {
  const place = `column ${column + 1}`;
  const name = isQuoted ? textOfCell(written) : textOfCell(written.trim());
  if (name === "" && !isQuoted) return `${place} has no name; remove it, or give it a name`;
  const path = pathIn(name, options.schema);
  if (path.length > jsonLimits.maxDepth) return `${place} is nested too deeply`;
  let members = root;
  for (const [depth, step] of path.entries()) {
    const known = members.get(step);
    const isLast = depth === path.length - 1;
    if (known && (isLast || known.members.size === 0))
      return known.members.size === 0 && isLast
        ? `two columns are called ${name}`
        : `${name} is a value and has members: rename ${place}`;
    const type = isLast ? typeAt(path, options) : text;
    const member = known ?? { name: JSON.stringify(step), column, type, members: new Map() };
    members.set(step, member);
    ({ members } = member);
  }
  return undefined;
}

/** A name that the schema declares as a whole is not split. A backslash is always an escape. */
const pathIn = (name: string, schema: ObjectSchema | undefined): readonly string[] =>
  schema !== undefined && !name.includes("\\") && declaredAt([name], schema) !== undefined
    ? [name]
    : pathOfColumn(name);

function declaredAt(path: readonly string[], schema: ObjectSchema): Fields | undefined {
  let level: Fields | undefined = fieldsOf(schema, new SchemaReferences(schema));
  for (const step of path) level = level && memberOf(level, step)?.inner;
  return level;
}

function typeAt(path: readonly string[], { schema, isInferring }: TableOptions): ColumnType {
  if (path.length === 1 && path[0] === "id") return text;
  const fields = schema && declaredAt(path, schema);
  const types = fields && jsonTypesOf(fields);
  if (fields === undefined || types === undefined) return isInferring ? inferred : text;
  const isTime = fields.schemas.some(({ format }) => format === "date-time");
  return { types, isTime };
}

function objectOf(
  members: ReadonlyMap<string, CsvMember>,
  cells: readonly Cell[],
): string | undefined {
  let json = "";
  for (const member of members.values()) {
    const cell = cells[member.column];
    const value =
      member.members.size > 0
        ? objectOf(member.members, cells)
        : cell && cellValue(cell, member.type);
    if (value !== undefined) json += `${json === "" ? "{" : ","}${member.name}:${value}`;
  }
  return json === "" ? undefined : `${json}}`;
}

/**
 * Returns the JSON of a cell, or undefined for no value. A quoted cell is text where text is allowed. A
 * text of another type than the schema allows stays text, so that validation reports it.
 */
function cellValue({ text, isQuoted }: Cell, { types, isTime }: ColumnType): string | undefined {
  const mayBeText = types.has("string");
  if (text === "" && !(isQuoted && mayBeText)) return undefined;
  const literal = isQuoted && mayBeText ? undefined : literalOf(text.trim(), types);
  if (literal !== undefined) return literal;
  if ((types.has("array") || types.has("object")) && isJsonContainer(text)) return text;
  const time = isTime && !(isQuoted && types === inferred.types) ? timeOf(text) : undefined;
  return JSON.stringify(time ?? textOfCell(text));
}

function literalOf(text: string, types: JsonTypes): string | undefined {
  if (text === "null") return types.has("null") ? text : undefined;
  if (types.has("boolean")) {
    const boolean = booleanOf(text);
    if (boolean !== undefined) return boolean;
  }
  // A number that a double cannot hold stays text where text is allowed.
  const isValue = types.has("number") && isNumber(text) && (!types.has("string") || isExact(text));
  return isValue ? text : undefined;
}
