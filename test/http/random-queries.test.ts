// Random queries, compared with a simple evaluation that uses no indexes.
// @tier all

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import fc from "../fast-check.ts";
import { runs } from "../seeds.ts";
import { startApp, type TestApp } from "./app.ts";
import { idsOf, type ListBody, QueryClient, type Row } from "./query-client.ts";

const texts = ["", "a", "ab", "abc", "b", "é", "\ufffd", "😀", "a*b", "aab", `${"x".repeat(210)}y`];
const numbers = [-1e3, -0.5, 0, 1, 2, 10, 1e21];
const days = ["2026-03-01T12:00:00Z", "2026-03-01T13:00:00+02:00", "2026-03-02T00:00:00.001Z"];
const names = ["one two", "two", "Twofold", "thrée", "", "one"];

const text = { type: "string" };
const schema = {
  type: "object",
  properties: {
    n: { type: ["number", "null"] },
    t: text,
    b: { type: "boolean" },
    d: { type: "string", format: "date-time" },
    o: { type: "object", properties: { t: text } },
    l: { type: "array" },
    u: {},
    w: text,
  },
};
const fields = ["n", "t", "b", "d", "o.t", "l", "u"];
const compound = [
  ["b", "-t"],
  ["t", "n"],
  ["-n", "t", "d"],
  ["d", "-o.t", "b", "n"],
  ["o.t", "-b"],
];

/** One of them, or nothing; each row differs, and always in the same way. */
const pick = <T>(values: readonly T[], turn: number): T | undefined =>
  values[turn % (values.length + 1)];

const rowOf = (turn: number): Row => {
  const many = [...texts, ...numbers, true, false, null];
  const row = {
    n: turn % 11 === 0 ? null : pick(numbers, turn * 5),
    t: pick(texts, turn * 7),
    b: pick([true, false], turn),
    d: pick(days, turn * 3),
    o: turn % 3 ? { t: pick(texts, turn) } : undefined,
    l: turn % 4 ? [many[turn % many.length], many[(turn * 13) % many.length]] : undefined,
    u: turn % 9 === 0 ? ["a", 1] : pick(many, turn * 17),
    w: pick(names, turn),
  };
  return JSON.parse(JSON.stringify(row));
};

const count = 60;

/** What each test leaves in: some are gone, some came back, some were changed. */
async function fill(
  asker: QueryClient,
  collection: string,
): Promise<readonly (Row & { id: string })[]> {
  const rows = new Map<string, Row>();
  for (let turn = 0; turn < count; turn++) rows.set(`r${turn}`, rowOf(turn));
  await asker.fill(collection, Object.fromEntries(rows));
  const gone = [...rows.keys()].filter((_, turn) => turn % 6 === 5);
  for (const id of gone) {
    await asker.app.request(`/${collection}/${id}`, { method: "DELETE" });
    rows.delete(id);
  }
  const changed = [...rows.keys()].filter((_, turn) => turn % 5 === 1);
  const back = gone.slice(0, 4);
  for (const [turn, id] of [...changed, ...back].entries()) rows.set(id, rowOf(turn + 500));
  await asker.fill(
    collection,
    Object.fromEntries([...changed, ...back].map((id) => [id, rows.get(id) ?? {}])),
  );
  return [...rows].map(([id, row]) => ({ id, ...row }));
}

type Value = string | number | boolean;
type Test = Readonly<Record<string, unknown>>;

function valueAt(row: Row, field: string): unknown {
  return field.split(".").reduce<unknown>((place, name) => (place as Row | undefined)?.[name], row);
}

/** Times count as what they mean, and an array as its elements. */
function valuesAt(row: Row, field: string): readonly Value[] {
  const isValue = (value: unknown): value is Value =>
    ["string", "number", "boolean"].includes(typeof value);
  const found = [valueAt(row, field)].flat().filter(isValue);
  return field === "d" ? found.map((time) => Date.parse(`${time}`)) : found;
}

function compare(one: Value, other: Value): number {
  if (typeof one === "string") return Buffer.compare(Buffer.from(one), Buffer.from(`${other}`));
  return Number(one) - Number(other);
}

function isLike(value: Value, pattern: string): boolean {
  const pieces = pattern.split("*").map((piece) => piece.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return typeof value === "string" && new RegExp(`^${pieces.join("[^]*")}$`, "u").test(value);
}

function holds(row: Row, field: string, operator: string, operand: unknown): boolean {
  const values = valuesAt(row, field);
  if (operator === "exists") return values.length > 0 === operand;
  if (operator === "like") return values.some((value) => isLike(value, `${operand}`));
  if (operator === "ne") return !holds(row, field, "eq", operand);
  if (operator === "in") return [operand].flat().some((each) => holds(row, field, "eq", each));
  const other = (field === "d" ? Date.parse(`${operand}`) : operand) as Value;
  const fits: Readonly<Record<string, (difference: number) => boolean>> = {
    eq: (difference) => difference === 0,
    lt: (difference) => difference < 0,
    lte: (difference) => difference <= 0,
    gt: (difference) => difference > 0,
    gte: (difference) => difference >= 0,
  };
  return values.some(
    (value) => typeof value === typeof other && fits[operator]?.(compare(value, other)),
  );
}

/** Nothing, then booleans, numbers and texts. An array is no single value. */
function compareAt(one: Row, other: Row, field: string): number {
  const single = (row: Row) =>
    Array.isArray(valueAt(row, field)) ? undefined : valuesAt(row, field)[0];
  const [a, b] = [single(one), single(other)];
  const rank = (value: Value | undefined) =>
    ["undefined", "boolean", "number", "string"].indexOf(typeof value);
  if (a === undefined || b === undefined || rank(a) !== rank(b)) return rank(a) - rank(b);
  return compare(a, b);
}

interface Asked {
  readonly where: Readonly<Record<string, Test>>;
  readonly sort: readonly string[];
  readonly q: string | undefined;
}

function expected(rows: readonly (Row & { id: string })[], asked: Asked): readonly string[] {
  const { where, sort, q } = asked;
  const hasWords = (row: Row) => {
    const found = `${row.w ?? ""}`.toLowerCase().replace("é", "e").split(" ");
    return (q ?? "")
      .split(" ")
      .every((word) =>
        found.some((each) =>
          word.endsWith("*") ? each.startsWith(word.slice(0, -1)) : each === word,
        ),
      );
  };
  const chosen = rows.filter(
    (row) =>
      (q === undefined || hasWords(row)) &&
      Object.entries(where).every(([field, test]) =>
        Object.entries(test).every(([operator, operand]) => holds(row, field, operator, operand)),
      ),
  );
  const places = new Map(rows.map(({ id }, index) => [id, index]));
  const placeOf = ({ id }: { id: string }) => places.get(id) ?? -1;
  return chosen
    .toSorted((one, other) => {
      for (const name of sort) {
        const field = name.replace(/^-/, "");
        const difference =
          field === "createdAt" ? placeOf(one) - placeOf(other) : compareAt(one, other, field);
        if (difference !== 0) return name.startsWith("-") ? -difference : difference;
      }
      return placeOf(one) - placeOf(other);
    })
    .map(({ id }) => id);
}

const valueFor = (field: string): fc.Arbitrary<Value> => {
  switch (field) {
    case "n":
      return fc.constantFrom(...numbers, 1.5);
    case "b":
      return fc.boolean();
    case "d":
      return fc.constantFrom(...days, "2026-03-02", "2026-03-01T12:00Z");
    case "t":
    case "o.t":
      return fc.constantFrom(...texts, "none");
    default:
      return fc.constantFrom<Value>(...texts, ...numbers, true, false);
  }
};

const test = (field: string): fc.Arbitrary<Test> => {
  const value = valueFor(field);
  const operators: Record<string, fc.Arbitrary<unknown>> = {
    ...{ eq: value, ne: value, lt: value, lte: value, gt: value, gte: value },
    in: fc.array(value, { minLength: 1, maxLength: 4 }),
    exists: fc.boolean(),
  };
  if (["t", "o.t", "l", "u"].includes(field)) {
    operators.like = fc.constantFrom("a*", "*b", "*", "a*b*", "ab", "x*y", `${"x".repeat(205)}*`);
  }
  return fc.oneof(
    ...Object.entries(operators).map(([name, operand]) =>
      operand.map((each) => ({ [name]: each })),
    ),
    fc.tuple(value, value).map(([gte, lt]) => ({ gte, lt })),
  );
};

const conditions = fc
  .uniqueArray(fc.constantFrom(...fields), { maxLength: 2 })
  .chain((chosen) => fc.tuple(...chosen.map((field) => test(field).map((each) => [field, each]))))
  .map((entries) => Object.fromEntries(entries) as Asked["where"]);
const where = fc.oneof({ arbitrary: conditions, weight: 3 }, fc.constant<Asked["where"]>({}));

const sortable = fields.filter((field) => field !== "l");
const anyFields = fc
  .uniqueArray(fc.constantFrom(...sortable), { maxLength: 2 })
  .chain((chosen) => fc.tuple(...chosen.map((field) => fc.constantFrom(field, `-${field}`))));
const opposite = (name: string): string => (name.startsWith("-") ? name.slice(1) : `-${name}`);
/** The fields of an index, or the first of them, in its order or in the opposite one. */
const fieldsOfIndex = fc
  .tuple(fc.constantFrom(...compound), fc.boolean(), fc.constantFrom(1, 2, 4, 4, 4))
  .map(([names, isOpposite, count]) => (isOpposite ? names.map(opposite) : names).slice(0, count));
const sort = fc
  .tuple(
    fc.oneof(anyFields, fieldsOfIndex),
    fc.constantFrom<string[]>([], [], ["createdAt"], ["-createdAt"]),
  )
  .map(([names, last]) => [...names, ...last]);

const question = fc.record({
  where,
  sort,
  q: fc.option(fc.constantFrom("one", "two", "two*", "one two", "thre*", "none"), {
    nil: undefined,
    freq: 4,
  }),
  limit: fc.integer({ min: 7, max: 40 }),
  page: fc.integer({ min: 1, max: 4 }),
});

for (const store of [undefined, "postgres"]) {
  describe(`random queries on ${store ?? "the embedded engine"}`, () => {
    let app: TestApp;
    let asker: QueryClient;
    let rows: readonly (Row & { id: string })[];
    const collections = ["bare", "full", "compound"];
    before(async () => {
      app = await startApp(store === undefined ? {} : { store });
      asker = new QueryClient(app);
      await asker.define("bare", { schema, searchable: ["w"] });
      await asker.define("full", { schema, searchable: ["w"], indexed: fields });
      await asker.define("compound", { schema, searchable: ["w"], indexed: compound });
      for (const collection of collections) rows = await fill(asker, collection);
    });
    after(() => app.stop());

    it("have the right results, with and without indexes, by page and by cursor", async () => {
      await fc.assert(
        fc.asyncProperty(question, async ({ limit, page, ...asked }) => {
          const { sort, q, where } = asked;
          const isRanked = q !== undefined && sort.length === 0;
          const said = { where, ...(q && { q }), ...(sort.length > 0 && { sort }) };
          const right = expected(rows, asked);
          for (const collection of collections) {
            const answer = await asker.queryList(collection, { ...said, limit, page });
            assert.equal(answer.total, right.length);
            if (isRanked) {
              const whole = await asker.queryList(collection, { ...said, limit: 1000 });
              assert.deepEqual(idsOf(whole).toSorted(), right.toSorted());
              assert.deepEqual(idsOf(answer), idsOf(whole).slice((page - 1) * limit, page * limit));
              continue;
            }
            assert.deepEqual(idsOf(answer), right.slice((page - 1) * limit, page * limit));
            const walked: string[] = [];
            for (let cursor: string | null | undefined = ""; typeof cursor === "string"; ) {
              const body: ListBody = await asker.queryList(collection, { ...said, limit, cursor });
              walked.push(...idsOf(body));
              cursor = body.next;
            }
            assert.deepEqual(walked, right);
          }
        }),
        { numRuns: runs(12, 300) },
      );
    });
  });
}
