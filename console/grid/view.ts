// What the grid shows, as it stands in the address: the API's own parameters, so that a view is a link.

import { isOperator, type Operator } from "../../src/model/query/operators.ts";

export interface Filter {
  /** The parameter as it is sent, such as `age[gte]`. */
  readonly name: string;
  readonly field: string;
  readonly operator: Operator;
  readonly value: string;
}

export interface SortKey {
  readonly path: string;
  readonly isDescending: boolean;
}

export interface View {
  readonly filters: readonly Filter[];
  /** Nested conditions, as JSON. */
  readonly where: string | undefined;
  readonly sort: readonly SortKey[];
  readonly q: string;
  /** The shown columns; undefined for those that the console chooses. */
  readonly fields: readonly string[] | undefined;
  readonly widths: Readonly<Record<string, number>>;
}

/** The only parameter that is not one of the API. */
const widthsName = "-widths";
const parameters = new Set(
  `page limit sort fields q cursor total since where expand aggregate by timezone ${widthsName}`.split(
    " ",
  ),
);

export function parseView(params: URLSearchParams): View {
  return {
    filters: [...params].filter(([name]) => !parameters.has(name)).map(parseFilter),
    where: params.get("where") ?? undefined,
    sort: listOf(params.get("sort")).map(parseSortKey),
    q: params.get("q") ?? "",
    fields: params.has("fields") ? listOf(params.get("fields")) : undefined,
    widths: Object.fromEntries(listOf(params.get(widthsName)).flatMap(parseWidth)),
  };
}

const listOf = (text: string | null): readonly string[] =>
  (text ?? "").split(",").filter((item) => item !== "");

function parseFilter([name, value]: readonly [string, string]): Filter {
  const [, field = name, operator = "eq"] = /^(.+)\[([A-Za-z]+)\]$/s.exec(name) ?? [];
  return isOperator(operator)
    ? { name, field, operator, value }
    : { name, field: name, operator: "eq", value };
}

const parseSortKey = (text: string): SortKey => ({
  path: text.replace(/^-/, ""),
  isDescending: text.startsWith("-"),
});

function parseWidth(text: string): readonly (readonly [string, number])[] {
  const cut = text.lastIndexOf(":");
  const width = Number(text.slice(cut + 1));
  return cut > 0 && width >= narrowest && width <= widest ? [[text.slice(0, cut), width]] : [];
}

export const narrowest = 56;
export const widest = 1200;

/** An operator is named where a plain field could be taken for a parameter. */
export function makeFilter(
  field: string,
  operator: Operator,
  value: string,
  isDeclared: boolean,
): Filter {
  const isPlain = operator === "eq" && isDeclared && !parameters.has(field) && !field.endsWith("]");
  return { name: isPlain ? field : `${field}[${operator}]`, field, operator, value };
}

const sortText = (sort: readonly SortKey[]): string =>
  sort.map(({ path, isDescending }) => (isDescending ? `-${path}` : path)).join(",");

/** What chooses and orders the resources. */
export function queryParams({ filters, where, q, sort }: View): URLSearchParams {
  const params = new URLSearchParams();
  for (const { name, value } of filters) params.append(name, value);
  if (where !== undefined) params.set("where", where);
  if (q !== "") params.set("q", q);
  if (sort.length > 0) params.set("sort", sortText(sort));
  return params;
}

/** The parameters of the address. */
export function viewParams(view: View): URLSearchParams {
  const params = queryParams(view);
  if (view.fields !== undefined) params.set("fields", view.fields.join(","));
  const widths = Object.entries(view.widths).map(([path, width]) => `${path}:${width}`);
  if (widths.length > 0) params.set(widthsName, widths.join(","));
  return params;
}

/** While someone types, the last word may go on. A space after it ends it. */
export const searchOf = (text: string): string =>
  /[\p{L}\p{N}]$/u.test(text) ? `${text.trim()}*` : text.trim();

export const searchText = (q: string): string => q.replace(/\*$/, "");

export const isFiltered = ({ filters, where, q }: View): boolean =>
  filters.length > 0 || where !== undefined || q !== "";

/** Ascending, then descending, then no longer; alone, or after the others. */
export function toggleSort(
  sort: readonly SortKey[],
  path: string,
  isAdded: boolean,
): readonly SortKey[] {
  const former = sort.find((key) => key.path === path);
  const others = isAdded ? sort.filter((key) => key.path !== path) : [];
  if (former === undefined) return [...others, { path, isDescending: false }];
  if (former.isDescending) return others;
  const turned = { path, isDescending: true };
  return isAdded ? sort.map((key) => (key === former ? turned : key)) : [turned];
}
