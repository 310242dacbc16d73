// The operators of filters, and which of them fit a field.

import { isTextOperator, type Operator } from "../../src/model/query/operators.ts";
import { labelOf, resolveSchema } from "../api/schema.ts";
import type { Definition, Schema } from "../api/types.ts";
import { type Column, type ColumnKind, declaredIn, kindOf } from "./columns.ts";
import { escapeName } from "./paths.ts";

const labels: Readonly<Record<Operator, string>> = {
  eq: "is",
  ne: "is not",
  icontains: "contains",
  contains: "contains (exact case)",
  startsWith: "starts with",
  ieq: "is (any case)",
  like: "matches, with * for anything",
  gt: "is more than",
  gte: "is at least",
  lt: "is less than",
  lte: "is at most",
  in: "is one of",
  exists: "is there",
};

const timeLabels: Partial<Record<Operator, string>> = {
  gt: "is after",
  gte: "is from",
  lt: "is before",
  lte: "is until",
};

export const operatorLabel = (operator: Operator, kind: ColumnKind): string =>
  ((kind === "date" || kind === "time") && timeLabels[operator]) || labels[operator];

const all = Object.keys(labels) as Operator[];
const ordered = all.filter((operator) => !isTextOperator(operator));

export function operatorsFor(kind: ColumnKind): readonly Operator[] {
  if (kind === "text" || kind === "any") return all;
  if (kind === "boolean") return ["eq", "ne", "exists"];
  return kind === "choice" ? ["eq", "ne", "in", "exists", "icontains", "startsWith"] : ordered;
}

/** A field that a filter can name. */
export interface FilterField {
  readonly path: string;
  readonly label: string;
  readonly kind: ColumnKind;
  readonly options: Column["options"];
}

const deepest = 4;

/** The columns, and the fields inside of objects and lists. */
export function filterFields(
  definition: Definition,
  columns: readonly Column[],
): readonly FilterField[] {
  const root = definition.schema ?? {};
  const schemas = new Map(declaredIn(root).map(([name, one]) => [escapeName(name), one]));
  return columns.flatMap((column) => {
    const schema = schemas.get(column.path);
    if (schema !== undefined && (column.kind === "object" || column.kind === "array"))
      return fieldsBelow(root, column.path, column.label, schema, 1);
    if (column.kind === "object") return [];
    return [column.kind === "array" ? { ...column, kind: "any" as const } : column];
  });
}

function fieldsBelow(
  root: Schema,
  path: string,
  label: string,
  schema: Schema,
  depth: number,
): readonly FilterField[] {
  const kind = kindOf(schema);
  if (depth > deepest || schema.writeOnly) return [];
  if (kind === "object")
    return Object.entries(schema.properties ?? {}).flatMap(([name, one]) => {
      const inner = resolveSchema(one, root);
      const title = `${label} › ${labelOf(inner, name)}`;
      return fieldsBelow(root, `${path}.${escapeName(name)}`, title, inner, depth + 1);
    });
  if (kind !== "array") return [{ path, label, kind, options: schema.enum ?? [] }];
  const items = resolveSchema(schema.items ?? {}, root);
  if (kindOf(items) === "object") return fieldsBelow(root, `${path}[]`, label, items, depth + 1);
  return [{ path, label, kind: kindOf(items), options: items.enum ?? [] }];
}
