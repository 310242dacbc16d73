// The conditions of a grant as filters, as far as filters can say them; the rest stays JSON.

import { isOperator } from "../../src/model/query/operators.ts";
import { isExact } from "../api/exact.ts";
import { isEqual, isObject, type Json, type JsonObject } from "../api/json.ts";
import type { FilterField } from "../grid/operators.ts";
import { type Filter, makeFilter } from "../grid/view.ts";

export interface Conditions {
  readonly filters: readonly Filter[];
  /** What filters cannot say. */
  readonly rest: JsonObject;
}

/** A filter is shown only if it gives the same condition back. */
export function conditionsOf(where: JsonObject, fields: readonly FilterField[]): Conditions {
  const filters = Object.entries(where).flatMap(([field, condition]) => {
    const found = filtersOf(field, condition, fields);
    const again = memberOf(whereOf({ filters: found, rest: {} }, fields), field);
    return isEqual(again, condition) ? [{ field, found }] : [];
  });
  const shown = new Set(filters.map(({ field }) => field));
  const rest = Object.entries(where).filter(([field]) => !shown.has(field));
  return { filters: filters.flatMap(({ found }) => found), rest: Object.fromEntries(rest) };
}

const memberOf = (object: JsonObject, name: string): Json | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined;

function filtersOf(
  field: string,
  condition: Json,
  fields: readonly FilterField[],
): readonly Filter[] {
  const isDeclared = fields.some(({ path }) => path === field);
  const parts = isObject(condition) ? Object.entries(condition) : [["eq", condition] as const];
  return parts.flatMap(([operator, value]) =>
    isOperator(operator) ? [makeFilter(field, operator, textOf(value), isDeclared)] : [],
  );
}

const textOf = (value: Json): string =>
  Array.isArray(value) ? value.join(",") : typeof value === "string" ? value : String(value);

/** The members of `where` that filters and the rest say together. */
export function whereOf({ filters, rest }: Conditions, fields: readonly FilterField[]): JsonObject {
  const names = [...new Set(filters.map(({ field }) => field))];
  const simple = names.map((name) => {
    const own = filters.filter(({ field }) => field === name);
    const parts = own.map((one) => [one.operator, jsonOf(one, fields)] as const);
    const [[operator, value] = ["eq", null]] = parts;
    const isPlain = parts.length === 1 && operator === "eq";
    return [name, isPlain ? (value as Json) : Object.fromEntries(parts)] as const;
  });
  return { ...rest, ...Object.fromEntries(simple) };
}

function jsonOf({ field, operator, value }: Filter, fields: readonly FilterField[]): Json {
  const kind = fields.find(({ path }) => path === field)?.kind ?? "any";
  const scalar = (text: string): Json => {
    const parsed = kind === "text" || text.startsWith("$") ? text : plainValue(text);
    return kind === "number" || kind === "boolean" || kind === "any" || kind === "choice"
      ? parsed
      : text;
  };
  if (operator === "exists") return value !== "false";
  if (operator === "in" && !value.startsWith("$")) return value.split(",").map(scalar);
  return scalar(value);
}

/** Numbers and booleans as such. */
const plainValue = (text: string): Json =>
  text === "true" || text === "false"
    ? text === "true"
    : /^-?\d+(\.\d+)?$/.test(text) && isExact(text)
      ? Number(text)
      : text;
