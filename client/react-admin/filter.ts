// The flat filters of react-admin as conditions of the server.

import { isObject, type Members } from "../object.ts";
import { operators } from "../operators.ts";
import type { AnyCondition, FilterQuery } from "../records/filter.ts";

/** Where the operators of the server stand after the name of a field, as in `price_gte`. */
const names = new Set([...Object.keys(operators), "some"]);

/** `q` searches, `where` is a condition as it is, and every other member is a filter. */
export function readFilter(
  { q, where, ...filters }: Members = {},
  ...more: AnyCondition[]
): FilterQuery {
  const conditions = [
    ...more,
    ...Object.entries(filters).flatMap(([name, value]) => conditionsOf(name, value)),
    ...(isObject(where) ? [where as AnyCondition] : []),
  ];
  const all = conditions.length > 1 ? { $and: conditions } : conditions[0];
  return { ...(all && { where: all }), ...(typeof q === "string" && q.trim() !== "" && { q }) };
}

/** An input `customer.country` makes `{ customer: { country } }`. */
function conditionsOf(name: string, value: unknown): readonly AnyCondition[] {
  if (!isObject(value)) return conditionOf(name, value);
  const members = Object.entries(value);
  if (members.length > 0 && members.every(([member]) => names.has(member)))
    return [{ [name]: value } as AnyCondition];
  return members.flatMap(([member, inner]) => conditionsOf(`${name}.${member}`, inner));
}

function conditionOf(name: string, value: unknown): readonly AnyCondition[] {
  if (value === undefined || value === "" || (Array.isArray(value) && value.length === 0))
    return [];
  const [field, operator] = splitName(name);
  if (value === null) return [{ [field]: { exists: operator === "ne" } }];
  const isList = Array.isArray(value) && (operator === "eq" || operator === "ne");
  const isOne = { [field]: { in: [value].flat() } };
  if (isList && operator === "ne") return [{ $not: isOne }];
  return [isList || operator === "in" ? isOne : { [field]: { [operator]: value } }];
}

function splitName(name: string): readonly [field: string, operator: string] {
  const at = name.lastIndexOf("_");
  const operator = name.slice(at + 1);
  return at > 0 && names.has(operator) ? [name.slice(0, at), operator] : [name, "eq"];
}
