// Recognizes a field with a misspelled operator or order, such as `stock[gt`, `stock>` or `stock desc`.

import { plainName } from "../field-kind.ts";
import { operators } from "./operators.ts";

/** What a name probably means. */
interface Meant {
  readonly field: string;
  readonly operator: string;
}

/** The signs of other languages. In a URL the `=` of `>=` ends the name. */
const signs: Readonly<Record<string, string>> = {
  "<=": "lte",
  ">=": "gte",
  "!=": "ne",
  "<>": "ne",
  "<": "lt",
  ">": "gt",
  "!": "ne",
};

const sign = /<>|[<>]=?|!=?$/;
const order = /(?:\s|:|__|\[)(asc|desc)(?:ending)?\]?$/i;

/** Whether there are brackets other than the `[]` after a name. */
const hasBrackets = (name: string): boolean =>
  name.split(".").some((part) => /[[\]]/.test(plainName(part)));

function meantBy(name: string): Meant | undefined {
  if (hasBrackets(name)) return inBrackets(name);
  const found = sign.exec(name);
  const operator = signs[found?.[0] ?? ""];
  if (operator !== undefined)
    return { field: name.slice(0, found?.index).trim() || "field", operator };
  const suffix = suffixes.find(({ text }) => name.endsWith(text));
  const field = name.slice(0, -(suffix?.text.length ?? 0));
  return suffix === undefined || field === "" ? undefined : { field, operator: suffix.operator };
}

const suffixes = operators.flatMap((operator) =>
  ["__", ":"].map((mark) => ({ text: mark + operator, operator })),
);

function inBrackets(name: string): Meant {
  const [field = "field", ...others] = name.split(/[[\]]+/).filter((word) => word !== "");
  const words = others.map((word) => word.toLowerCase());
  const operator = operators.find((each) => words.includes(each.toLowerCase()));
  return { field, operator: operator ?? "eq" };
}

/** Returns a path with the index of an element, such as `lines[0].sku`, with `[]` instead. */
function withoutIndex(name: string): string | undefined {
  const path = name.replace(/\[\d+\]/g, "[]");
  return path === name || hasBrackets(path) ? undefined : path;
}

/** Says what to send instead of a parameter that is neither a field nor one with an operator. */
export function explainFilterName(name: string): string | undefined {
  const ofElements = withoutIndex(name);
  if (ofElements !== undefined)
    return `"${name}" is no field; write ${ofElements}=…. For a field of this name, write ${name}[eq]`;
  const meant = meantBy(name);
  if (meant === undefined) return undefined;
  const isCut = /[<>]$/.test(name);
  const operator = isCut ? meant.operator.replace(/^([lg]t)$/, "$1e") : meant.operator;
  return `"${name}" is no field with an operator; write ${meant.field}[${operator}]=…. For a field of this name, write ${name}[eq]`;
}

/** Says what to send instead of a name before a bare value in JSON. */
export function explainConditionName(name: string): string | undefined {
  const ownWay = `For a field of this name, write {"${name}": {"eq": …}}`;
  if (name.startsWith("$"))
    return `there is no "${name}"; conditions are combined with $or, $and and $not. ${ownWay}`;
  const ofElements = withoutIndex(name);
  if (ofElements !== undefined)
    return `"${name}" is no field; write {"${ofElements}": …}. ${ownWay}`;
  const { field, operator } = meantBy(name) ?? {};
  return field === undefined
    ? undefined
    : `"${name}" is no field; write {"${field}": {"${operator}": …}}. ${ownWay}`;
}

/** Says what to send instead of a name in `fields`, `aggregate` and `by`. */
export function explainFieldName(name: string): string | undefined {
  if (!hasBrackets(name)) return undefined;
  const { field } = inBrackets(name);
  return `"${name}" is no field; write ${field}. ${mustBeDeclared}`;
}

/** Says what to send instead of a name in `sort`. */
export function explainSortName(name: string): string | undefined {
  const found = order.exec(name);
  const field = name.slice(0, found?.index ?? 0).trim();
  if (field === "") return explainFieldName(name);
  const right = found?.[1]?.toLowerCase() === "desc" ? `-${field}` : field;
  return `"${name}" is no field; write ${right}. ${mustBeDeclared}`;
}

const mustBeDeclared = "A field of this name is found if the definition declares or indexes it";

/** Says that `some` takes no operators for elements of any type. */
export const notDeclared = (operator: string): string =>
  `some takes operators where the schema declares the elements as strings, numbers or booleans; here ${operator} is a field of an element, and needs an operator of its own: {"${operator}": {"eq": …}}`;

export function unknownOperator(operator: string): string {
  const known = `the operators are: ${operators.join(", ")}`;
  return /^\d+$/.test(operator)
    ? `there is no operator "${operator}"; [] stands for the elements of an array, and ${known}`
    : `there is no operator "${operator}"; ${known}`;
}
