// Random resources, random nested conditions, and a plain filter that says which resources match.

import { listRequestLimits } from "../src/model/query/list-request.ts";
import {
  isOperator,
  isTextOperator,
  operators,
  type TextOperator,
} from "../src/model/query/operators.ts";
import fc from "./fast-check.ts";

export type Fields = Readonly<Record<string, unknown>>;
export type Where = Readonly<Record<string, unknown>>;

const text = { type: "string" };
const number = { type: "number" };
const item = { type: "object", properties: { k: text, q: number, tags: { items: text } } };

export const schema = {
  type: "object",
  properties: {
    t: text,
    n: { type: ["number", "null"] },
    f: { type: "boolean" },
    d: { type: "string", format: "date-time" },
    l: { type: "array", items: text },
    s: { type: "array", items: number },
    items: { type: "array", items: item },
    u: {},
  },
};

export const indexed = ["t", "n", "f", "d", "l", "s", "u", "items[].k", "items[].q"];

/** How letters are folded, written down letter by letter. */
const folded: Readonly<Record<string, string>> = {
  A: "a",
  ß: "ss",
  S: "s",
  É: "é",
  ς: "σ",
  Σ: "σ",
};
const letters = [
  ...["a", "A", "s", "S", "ß", "é", "É", "σ", "ς", "Σ", "*", "\u0001", "😀"],
  ...['"', "\\", "{", "\0", " ", "\n"],
];
const fold = (given: string): string => [...given].map((each) => folded[each] ?? each).join("");

const texts = fc.oneof(
  fc.string({ unit: fc.constantFrom(...letters), maxLength: 3 }),
  fc.constantFrom("a".repeat(150), `${"a".repeat(250)}s`, "\u{10ffff}", "a\u{10ffff}a"),
);
/** The largest, the smallest, and those that programs round differently are rarer, so that others match often. */
const numbers = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(-2.5, 0, 1, 2, 3, 1e21) },
  { weight: 1, arbitrary: fc.constantFrom(5e-324, Number.MAX_VALUE, 2 ** 53 - 1, 0.1 + 0.2) },
  { weight: 1, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }) },
);
const times = fc.constantFrom(
  ...["2026-03-01T12:00:00Z", "2026-03-01T13:00:00+02:00", "2026-03-02T00:00:00.001Z"],
);
const scalars = fc.oneof(texts, numbers, fc.boolean());
const few = <T>(values: fc.Arbitrary<T>) => fc.array(values, { maxLength: 3 });

const items = few(fc.record({ k: texts, q: numbers, tags: few(texts) }, { requiredKeys: [] }));

/** The fields of a resource that fits the schema. */
export const fieldsOfOne: fc.Arbitrary<Fields> = fc.record(
  {
    t: texts,
    n: fc.option(numbers),
    f: fc.boolean(),
    d: times,
    l: few(texts),
    s: few(numbers),
    items,
    u: fc.oneof(fc.option(scalars), few(fc.oneof(scalars, few(scalars))), items),
  },
  { requiredKeys: [] },
);

/** How the values of each path are drawn; `u` may have any. */
const values: Readonly<Record<string, fc.Arbitrary<string | number | boolean>>> = {
  ...{ t: texts, n: numbers, f: fc.boolean(), d: times, l: texts, s: numbers, u: scalars },
  ...{ "l[]": texts, "s[]": numbers, "u[]": scalars, "u[].k": scalars },
  ...{ "items[].k": texts, "items[].q": numbers, "items[].tags": texts, "items[].tags[]": texts },
};
const inItem = { k: texts, q: numbers, tags: texts, "tags[]": texts };
const inUnknown = { k: scalars, q: scalars };

const textOperators = operators.filter(isTextOperator);

const isText = (value: unknown): value is string => typeof value === "string";

function operatorsOn(value: fc.Arbitrary<unknown>, isTime = false): fc.Arbitrary<Fields> {
  const comparison = fc.constantFrom("eq", "ne", "lt", "lte", "gt", "gte");
  const ofText = fc.constantFrom(...(isTime ? ["ne"] : textOperators));
  const one = fc.oneof(
    fc.tuple(comparison, value),
    fc.tuple(fc.constant("in"), fc.array(value, { minLength: 1, maxLength: 3 })),
    fc.tuple(fc.constant("exists"), fc.boolean()),
    fc
      .tuple(ofText, value)
      .map(([operator, each]) => (isText(each) ? [operator, each] : ["eq", each])),
  );
  return fc
    .array(one, { minLength: 1, maxLength: 3 })
    .map((entries) => Object.fromEntries(entries));
}

const testOn = (
  field: string,
  value: fc.Arbitrary<unknown>,
  depth: number,
): fc.Arbitrary<unknown> => {
  const plain = fc.oneof(value, operatorsOn(value, field === "d"));
  if (["l", "s", "tags"].includes(field))
    return fc.oneof(
      plain,
      operatorsOn(value).map((some) => ({ some })),
    );
  // What `u` contains is not declared, so its elements are asked for their fields.
  if (field !== "u" || depth === 0) return plain;
  return fc.oneof(
    plain,
    whereOf(inUnknown, depth - 1).map((some) => ({ some })),
  );
};

type Drawn = Readonly<Record<string, fc.Arbitrary<unknown>>>;

/** `inElement` has the fields of the elements of `items`. */
function whereOf(fields: Drawn, depth: number, inElement?: Drawn): fc.Arbitrary<Where> {
  const tests = Object.entries(fields).map(([field, value]) =>
    testOn(field, value, depth).map((test) => [field, test] as const),
  );
  const plain = fc
    .array(fc.oneof(...tests), { minLength: depth === 0 ? 1 : 0, maxLength: 2 })
    .map((entries) => Object.fromEntries(entries));
  if (depth === 0) return plain;
  const inner = whereOf(fields, depth - 1, inElement);
  const parts = fc.array(inner, { minLength: 1, maxLength: 3 });
  const more: Record<string, fc.Arbitrary<unknown>> = { $or: parts, $and: parts, $not: inner };
  if (inElement !== undefined) more.items = whereOf(inElement, depth - 1).map((some) => ({ some }));
  return fc
    .tuple(plain, fc.record(more, { requiredKeys: [] }))
    .map(([tests, others]) => ({ ...tests, ...others }));
}

/** The number of values in a JSON value, which is at least the number of its conditions. */
const sizeOf = (value: unknown): number =>
  typeof value === "object" && value !== null
    ? Object.values(value).reduce<number>((sum, each) => sum + sizeOf(each), 1)
    : 1;

const randomWhereOf = (fields: Drawn, inElement: Drawn, depth = 2): fc.Arbitrary<Where> =>
  whereOf(fields, depth, inElement).filter(
    (where) => sizeOf(where) <= listRequestLimits.maxConditions,
  );

export const randomWhere = randomWhereOf(values, inItem);

/** Conditions on resources that a resource refers to: by `c`, `items[].p`, and from these by `up`. */
export const randomRelatedWhere = randomWhereOf(
  {
    ...{
      t: texts,
      n: numbers,
      "c.t": texts,
      "c.n": numbers,
      "c.up.n": numbers,
      "c.up.up.t": texts,
    },
    ...{ "items[].p.t": texts, "items[].p.n": numbers, "items[].p.up.n": numbers },
  },
  { q: numbers, "p.t": texts, "p.n": numbers, "p.up.n": numbers },
  1,
);

/** The fields of a resource that others refer to, and of one that refers to it. */
export const relatedFields = fc.record({ t: texts, n: numbers }, { requiredKeys: [] });
export const referringItems = few(fc.record({ q: numbers, p: fc.nat() }, { requiredKeys: [] }));

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Whether the resource matches, by a plain reading of the conditions. */
export function matches(content: unknown, where: Where): boolean {
  return Object.entries(where).every(([name, test]) => {
    if (name === "$or") return (test as readonly Where[]).some((part) => matches(content, part));
    if (name === "$and") return (test as readonly Where[]).every((part) => matches(content, part));
    if (name === "$not") return !matches(content, test as Where);
    const found = listAt(content, name);
    if (!isObject(test)) return compares(found, "eq", test);
    return Object.entries(test).every(([operator, operand]) =>
      operator === "some"
        ? found
            .flatMap((each) => (Array.isArray(each) ? each : []))
            .some(hasElement(operand as Where))
        : compares(found, operator, operand),
    );
  });
}

/** One element matches: its fields, or the element itself when the conditions are operators. */
const hasElement = (some: Where) => (element: unknown) =>
  Object.keys(some).length > 0 && Object.keys(some).every(isOperator)
    ? Object.entries(some).every(([operator, operand]) => compares([element], operator, operand))
    : matches(element, some);

/** What is at a path: one thing, or one for each element of the arrays on the way. */
function listAt(content: unknown, path: string): readonly unknown[] {
  let found = [content];
  for (const name of path.split(".")) {
    const plain = name.replace("[]", "");
    found = found.map((each) => (isObject(each) ? each[plain] : undefined));
    if (plain !== name) found = found.flatMap((each) => (Array.isArray(each) ? each : []));
  }
  return found;
}

type Value = string | number | boolean;

const isValue = (value: unknown): value is Value =>
  ["string", "number", "boolean"].includes(typeof value);

/** Times are compared as what they mean. No other text looks like one. */
const meaning = (value: Value): Value =>
  isText(value) && /^2026-/.test(value) ? Date.parse(value) : value;

function compares(found: readonly unknown[], operator: string, operand: unknown): boolean {
  const all = found.flat().filter(isValue);
  if (operator === "exists") return all.length > 0 === operand;
  if (operator === "ne") return !compares(found, "eq", operand);
  if (operator === "in") return (operand as Value[]).some((each) => compares(found, "eq", each));
  return all.some((value) =>
    isOperator(operator) && isTextOperator(operator)
      ? isText(value) && isTextMatch(value, operator, `${operand}`)
      : isInOrder(value, operator, operand as Value),
  );
}

function isInOrder(value: Value, operator: string, operand: Value): boolean {
  const [one, other] = [meaning(value), meaning(operand)];
  if (typeof one !== typeof other) return false;
  const difference =
    isText(one) && isText(other)
      ? Buffer.compare(Buffer.from(one), Buffer.from(other))
      : Number(one) - Number(other);
  if (difference === 0) return ["eq", "lte", "gte"].includes(operator);
  return difference < 0 ? ["lt", "lte"].includes(operator) : ["gt", "gte"].includes(operator);
}

function isTextMatch(given: string, operator: TextOperator, operand: string): boolean {
  switch (operator) {
    case "startsWith":
      return given.slice(0, operand.length) === operand;
    case "contains":
      return given.split(operand).length > 1 || operand === "";
    case "icontains":
      return fold(given).split(fold(operand)).length > 1 || operand === "";
    case "ieq":
      return fold(given) === fold(operand);
    case "like": {
      const pieces = operand.split("*").map((piece) => piece.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
      return new RegExp(`^${pieces.join("[^]*")}$`, "u").test(given);
    }
  }
}
