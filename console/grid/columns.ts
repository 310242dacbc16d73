// Which columns a collection has: from its schema, and from the resources that are there.

import { isObject, type Json } from "../api/json.ts";
import { pictureSize as pictureSizeOf } from "../api/pictures.ts";
import { labelOf, resolveSchema } from "../api/schema.ts";
import type { Definition, Resource, Schema, StoredFile } from "../api/types.ts";
import { titleFields } from "../state/title.ts";
import { escapeName, valueAt } from "./paths.ts";
import { type NumberForm, numberFormOf } from "./texts.ts";

export type ColumnKind =
  | "text"
  | "number"
  | "boolean"
  | "date"
  | "time"
  | "choice"
  | "array"
  | "object"
  | "any";

export interface Column {
  /** As the API names it, such as `address.city`. */
  readonly path: string;
  readonly label: string;
  readonly kind: ColumnKind;
  /** The values of an enumeration. */
  readonly options: readonly Json[];
  /** Whether the schema asks for it. */
  readonly isRequired?: boolean;
  /** Why it cannot be edited in the grid. */
  readonly locked?: string;
  /** The collection that it refers to. */
  readonly refersTo?: string;
  /** Whether the first resources have the same value, or none. */
  readonly isAlike?: boolean;
  /** The parameters of a small picture, if the definition declares sizes. */
  readonly pictureSize?: string;
  /** How its numbers are written. */
  readonly form?: NumberForm;
}

/** A resource as the grid asks for it. */
export interface Row extends Resource {
  readonly _etag: string;
}

const shownAtFirst = 10;

const ownColumns: readonly Column[] = [
  { path: "id", label: "id", kind: "text", options: [], locked: "The id never changes." },
  ...["createdAt", "updatedAt"].map((path) => ({
    ...{ path, label: path === "createdAt" ? "Created" : "Updated", kind: "time" as const },
    ...{ options: [], locked: "The server sets this time." },
  })),
];

/** What the server adds when it is asked. */
const addedMembers = new Set(["_etag", "_expanded", "_owner"]);

const isOwn = (name: string): boolean =>
  addedMembers.has(name) || ownColumns.some(({ path }) => path === name);

/** Every column that can be shown: those of the schema, then what else is there, then id and times. */
export function columnsOf(definition: Definition, rows: readonly Row[]): readonly Column[] {
  const declared = declaredIn(definition.schema ?? {}).filter(
    ([name, { writeOnly }]) => writeOnly !== true && !isOwn(name),
  );
  const names = new Set(declared.map(([name]) => name));
  const found = new Set(rows.flatMap((row) => Object.keys(row)));
  const others = [...found].filter((name) => !names.has(name) && !isOwn(name));
  return [
    ...declared.map(([name, schema]) => declaredColumn(definition, name, schema)),
    ...others.map((name) => foundColumn(definition, name, rows)),
    ...ownColumns,
  ].map((column) => withForm(definition, column, rows));
}

const thumbnailEdge = 48;

/** Adds what the first resources tell of the values. */
function withForm(definition: Definition, column: Column, rows: readonly Row[]): Column {
  const { unique = [] } = definition;
  const { path, kind } = column;
  const values = rows.map((row) => valueAt(row, path));
  const pictureSize = pictureSizeOf(definition, thumbnailEdge);
  const isAlike = rows.length > 1 && new Set(values.map((one) => JSON.stringify(one))).size === 1;
  return {
    ...column,
    ...(isAlike && { isAlike }),
    ...(pictureSize !== undefined && { pictureSize }),
    ...(kind === "number" && { form: numberFormOf(path, unique.includes(path), values) }),
  };
}

/** The members that a schema declares, whatever its references lead to. */
export function declaredIn(root: Schema): readonly (readonly [string, Schema])[] {
  const { properties = {} } = resolveSchema(root, root);
  return Object.entries(properties).map(([name, one]) => [name, resolveSchema(one, root)]);
}

/** The columns at these paths, or some good ones. */
export function chosenColumns(
  all: readonly Column[],
  paths: readonly string[] | undefined,
  isNarrow = false,
): readonly Column[] {
  if (paths === undefined) return firstColumns(all, isNarrow);
  return paths.map((path) => all.find((one) => one.path === path) ?? strangeColumn(path));
}

/** The title comes first. Where only some fit, those follow that tell resources apart. */
function firstColumns(all: readonly Column[], isNarrow: boolean): readonly Column[] {
  const usual = all.filter(({ path }) => !isOwn(path)).slice(0, shownAtFirst);
  const title = titleFields(usual.map(({ path }) => path))
    .map((name) => usual.find(({ path }) => path === name))
    .find((column) => column?.kind === "text" || column?.kind === "number");
  const others = usual.filter((column) => column !== title);
  const ordered = isNarrow ? others.toSorted((one, other) => rankOf(one) - rankOf(other)) : others;
  const own = title === undefined ? ordered : [title, ...ordered];
  const last = all.filter(
    ({ path }) => path === "updatedAt" || (path === "id" && own.length === 0),
  );
  return [...own, ...last];
}

const ranks: Partial<Record<ColumnKind, number>> = { number: 0, time: 1, date: 1, choice: 2 };

const rankOf = ({ kind, isAlike }: Column): number => (isAlike ? 9 : (ranks[kind] ?? 3));

/** A path of the address that neither the schema nor the first resources have. */
const strangeColumn = (path: string): Column => ({ path, label: path, kind: "any", options: [] });

function declaredColumn(definition: Definition, name: string, schema: Schema): Column {
  const kind = kindOf(schema);
  const path = escapeName(name);
  const refersTo = referenceAt(definition, path);
  const root = definition.schema ?? {};
  const { required = [] } = resolveSchema(root, root);
  const locked = schema.readOnly ? "The schema says that it is read-only." : lockOf(kind);
  return {
    ...{ path, label: labelOf(schema, name), kind },
    options: schema.enum ?? (schema.const === undefined ? [] : [schema.const]),
    ...(required.includes(name) && { isRequired: true }),
    ...(locked !== undefined && { locked }),
    ...(refersTo !== undefined && { refersTo }),
  };
}

function foundColumn(definition: Definition, name: string, rows: readonly Row[]): Column {
  const values = rows.flatMap((row) => (Object.hasOwn(row, name) ? [row[name] as Json] : []));
  const kinds = new Set(values.filter((value) => value !== null).map(kindOfValue));
  const [first] = kinds;
  const kind = kinds.size === 1 && first !== undefined ? first : "any";
  const path = escapeName(name);
  const refersTo = referenceAt(definition, path);
  const locked = lockOf(kind);
  return {
    ...{ path, label: labelOf({}, name), kind, options: [] },
    ...(locked !== undefined && { locked }),
    ...(refersTo !== undefined && { refersTo }),
  };
}

const referenceAt = ({ references = {} }: Definition, path: string): string | undefined =>
  Object.hasOwn(references, path) ? references[path]?.collection : undefined;

const lockOf = (kind: ColumnKind): string | undefined =>
  kind === "object" || kind === "array"
    ? "Lists and objects are edited in the panel: press Enter."
    : undefined;

/** Looks past `null` in a list of types. */
export function kindOf(schema: Schema): ColumnKind {
  if (schema.enum !== undefined) return "choice";
  const types = [schema.type ?? []].flat().filter((type) => type !== "null");
  const [type] = types;
  if (types.length !== 1) return schema.properties ? "object" : "any";
  if (type === "integer" || type === "number") return "number";
  if (type === "string") return textKindOf(schema.format);
  return type === "boolean" || type === "array" || type === "object" ? type : "any";
}

const textKindOf = (format: string | undefined): ColumnKind =>
  format === "date" ? "date" : format === "date-time" ? "time" : "text";

const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/;

export function kindOfValue(value: Json): ColumnKind {
  if (Array.isArray(value)) return "array";
  if (isObject(value)) return "object";
  if (typeof value === "string") return textKindOfValue(value);
  return typeof value === "number" ? "number" : typeof value === "boolean" ? "boolean" : "any";
}

const textKindOfValue = (text: string): ColumnKind =>
  /^\d{4}-\d\d-\d\d$/.test(text) ? "date" : timePattern.test(text) ? "time" : "text";

export const isFile = (value: unknown): value is StoredFile =>
  isObject(value) &&
  ["name", "type", "url"].every((name) => typeof value[name] === "string") &&
  typeof value.size === "number";
