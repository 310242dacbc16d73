// The filters of Refine as conditions of the server.

import type { operators } from "../operators.ts";
import type { AnyCondition, FilterQuery } from "../records/filter.ts";

/** What Refine calls `CrudFilter`. */
export interface Filter {
  readonly field?: string;
  readonly operator: string;
  readonly value: unknown;
}

/** A filter on `q` searches. All others must match. */
export function readFilters(filters: readonly Filter[] = [], more?: AnyCondition): FilterQuery {
  const isSearch = ({ field, value }: Filter) => field === "q" && typeof value === "string";
  const conditions = [
    ...filters.filter((one) => !isSearch(one)).flatMap(conditionsOf),
    ...(more ? [more] : []),
  ];
  const words = filters.filter(isSearch).map(({ value }) => `${value}`.trim());
  const q = words.filter((word) => word !== "").join(" ");
  const all = conditions.length > 1 ? { $and: conditions } : conditions[0];
  return { ...(all && { where: all }), ...(q !== "" && { q }) };
}

type Make = (value: unknown) => unknown;

const same: Make = (value) => value;

/**
 * The operators of Refine that each of the server's answers, with what becomes of the value. Those that
 * begin with `n` are the opposite of another one.
 */
const answered: Readonly<Record<keyof typeof operators, Readonly<Record<string, Make>>>> = {
  eq: { eq: same, eqs: same },
  ne: {},
  lt: { lt: same },
  lte: { lte: same },
  gt: { gt: same },
  gte: { gte: same },
  in: { in: (list) => [list].flat() },
  exists: { null: (is) => is === false },
  like: { endswiths: (end) => `*${end}` },
  startsWith: { startswiths: same },
  contains: { containss: same },
  icontains: { contains: same },
  ieq: {},
};

/** Each returns the test of a field. */
const tests: Readonly<Record<string, Make>> = {
  ...Object.fromEntries(
    Object.entries(answered).flatMap(([operator, names]) =>
      Object.entries(names).map(([name, make]) => [
        name,
        (value: unknown) => ({ [operator]: make(value) }),
      ]),
    ),
  ),
  between: (range) => {
    const [gte, lte] = range as readonly unknown[];
    return { ...(isGiven(gte) && { gte }), ...(isGiven(lte) && { lte }) };
  },
};

const isGiven = (value: unknown): boolean => value !== undefined && value !== null && value !== "";

function conditionsOf({ field = "", operator, value }: Filter): readonly AnyCondition[] {
  if (operator === "and" || operator === "or") return group(operator, value as readonly Filter[]);
  if (value === undefined || value === "" || (Array.isArray(value) && !value.some(isGiven)))
    return [];
  const isOpposite = !(operator in tests) && operator.startsWith("n");
  const plain = isOpposite ? operator.slice(1).replace(/^e(s?)$/, "eq$1") : operator;
  const condition = plain === "ina" ? everyOf(field, value) : testOf(field, plain, value, operator);
  return [isOpposite ? { $not: condition } : condition];
}

function group(operator: "and" | "or", filters: readonly Filter[]): readonly AnyCondition[] {
  const parts = filters.flatMap(conditionsOf);
  return parts.length === 0 ? [] : [{ [`$${operator}`]: parts }];
}

/** An array that has all of the values. */
const everyOf = (field: string, values: unknown): AnyCondition => ({
  $and: [values].flat().map((eq) => ({ [field]: { eq } })),
});

function testOf(field: string, operator: string, value: unknown, given: string): AnyCondition {
  const make = tests[operator];
  if (make === undefined) throw new TypeError(unsaid(given));
  if (operator === "endswiths" && `${value}`.includes("*"))
    throw new TypeError(
      'The server cannot find a text that ends with "*", which stands for anything.',
    );
  if (value === null) return { [field]: { exists: false } };
  return { [field]: make(value) } as AnyCondition;
}

function unsaid(operator: string): string {
  const hint = /^n?(starts|ends)with$/.test(operator)
    ? ` Use ${operator}s, which minds the case.`
    : "";
  return `The server has no operator ${operator}.${hint}`;
}
