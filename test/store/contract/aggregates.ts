// Aggregates: figures of groups of resources in every spelling, compared with a plain computation.

import assert from "node:assert/strict";
import { buildWhere } from "../../../src/domain/build-where.ts";
import type { Aggregate, Aggregation, Grouping } from "../../../src/model/query/aggregate.ts";
import type { Condition } from "../../../src/model/query/predicate.ts";
import { queryableFieldsOf } from "../../../src/model/query/queryable.ts";
import { simplified } from "../../../src/model/query/simplify.ts";
import { compareKeys, keyOf, minKey, type ValueKind } from "../../../src/model/query/sort-key.ts";
import fc from "../../fast-check.ts";
import {
  type Fields,
  fieldsOfOne,
  matches,
  randomWhere,
  schema,
  type Where,
} from "../../random-where.ts";
import { newSeed, randomNumbers, runs } from "../../seeds.ts";
import { spelled } from "../../spelled-json.ts";
import { create, define, put } from "./change-helpers.ts";
import type { ContractTest } from "./engine-under-test.ts";
import { answerTo, ask, is } from "./query-helpers.ts";

interface Row {
  readonly fields: Fields;
  readonly createdAt: number;
}

/** Numbers that doubles cannot add, names and texts that look like others, and a nested number. */
const odd = fc.record(
  {
    x: fc.oneof(
      fc.constantFrom(0.1, 0.2, -0.3, 1e300, -1e300, 5e-324, 123456789012345680000, 2 ** 53, -0),
      fc.constantFrom(0.30000000000000004, 1 / 3, 999999999999999.9, 12.34, 1e-7, "1", null),
      fc.integer({ min: -1_000_000, max: 1_000_000 }).map((cents) => cents / 100),
    ),
    o: fc.constantFrom<unknown>({ x: 1.5, t: "a" }, { x: "a" }, [{ x: 1 }], 1, { y: { x: 2 } }, {}),
    a: fc.constantFrom<unknown>('{"n":1}', '","n":1,"x":"', "\0", { x: 7, t: "b" }, [{ x: 8 }]),
    "o.x": fc.constantFrom(100, "a"),
  },
  { requiredKeys: [] },
);

const kinds: Readonly<Record<string, ValueKind>> = {
  ...{ t: "text", n: "number", f: "boolean", d: "time", u: "any" },
  ...{ x: "any", "o.x": "any", createdAt: "time" },
};
const kindOf = (field: string): ValueKind => kinds[field] ?? "any";
const fields = fc.constantFrom(...Object.keys(kinds));

const aggregates = fc.uniqueArray(
  fc.oneof(
    fc.constant<Aggregate>({ name: "count", function: "count", field: "", kind: "any" }),
    fc
      .tuple(fc.constantFrom("sum", "avg"), fc.constantFrom("n", "x", "o.x", "u"))
      .map(([name, field]) => aggregateOf(name, field)),
    fc
      .tuple(fc.constantFrom("min", "max", "distinct"), fields)
      .map(([name, field]) => aggregateOf(name, field)),
  ),
  { minLength: 1, maxLength: 4, selector: ({ name }) => name },
);

const aggregateOf = (name: string, field: string): Aggregate => ({
  name: `${name}(${field})`,
  function: name as Aggregate["function"],
  ...{ field, kind: kindOf(field) },
});

const groupings = fc.uniqueArray(
  fc.oneof(
    fields.map((field): Grouping => ({ name: field, field, kind: kindOf(field) })),
    fc
      .constantFrom("d", "createdAt")
      .map((field): Grouping => ({ name: `day(${field})`, field, kind: "time", unit: "day" })),
    fc
      .constantFrom("n", "x")
      .map(
        (field): Grouping => ({ name: `range(${field})`, field, kind: "any", bounds: [0, 1.5] }),
      ),
  ),
  { maxLength: 2, selector: ({ name }) => name },
);

const queryable = queryableFieldsOf(JSON.stringify({ schema }));

const conditionsOf = (where: Where) =>
  simplified(
    buildWhere(queryable, { value: where, locate: () => ({ pointer: "" }) }, 0, (_, detail) =>
      assert.fail(detail),
    ),
  );

function valueAt({ fields, createdAt }: Row, field: string): unknown {
  if (field === "createdAt") return createdAt;
  return field.split(".").reduce<unknown>((value, name) => {
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Fields)[name] : undefined;
  }, fields);
}

/** The number times 10^400. */
function scaled(text: string): bigint {
  const [, sign, whole = "", fraction = "", power = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? assert.fail(text);
  const digits = BigInt(whole + fraction) * (sign === "-" ? -1n : 1n);
  const zeros = 400 + Number(power) - fraction.length;
  return zeros < 0 ? digits / 10n ** BigInt(-zeros) : digits * 10n ** BigInt(zeros);
}

/** What identifies a group, as a key of the value that is shown. */
function groupKey({ field, kind, unit, bounds }: Grouping, row: Row): string {
  const value = valueAt(row, field);
  if (unit !== undefined)
    return value === undefined
      ? minKey
      : keyOf("text", new Date(value as string | number).toISOString().slice(0, 10));
  if (bounds === undefined) return keyOf(kind, value);
  if (typeof value !== "number") return minKey;
  return keyOf("text", value < 0 ? "..0" : value < 1.5 ? "0..1.5" : "1.5..");
}

/** That a figure, as JSON, is the one of these resources. */
function assertFigure(text: string, aggregate: Aggregate, rows: readonly Row[]): void {
  const { function: name, field, kind } = aggregate;
  const values = rows.map((row) => valueAt(row, field));
  const keys = values.map((value) => keyOf(kind, value)).filter((key) => key !== minKey);
  const numbers = values.filter((value) => typeof value === "number");
  const sum = numbers.reduce((all, each) => all + scaled(String(each)), 0n);
  const sorted = keys.toSorted(compareKeys);
  if (name === "count") assert.equal(text, String(rows.length));
  else if (name === "distinct") assert.equal(text, String(new Set(keys).size));
  else if (name === "sum") assert.equal(scaled(text), sum);
  else if (name === "avg" && numbers.length === 0) assert.equal(text, "null");
  else if (name === "avg") {
    const error = scaled(text) * BigInt(numbers.length) - sum;
    assert.ok((error < 0n ? -error : error) * 10n ** 30n <= (sum < 0n ? -sum : sum), text);
  } else {
    const expected = (name === "min" ? sorted[0] : sorted.at(-1)) ?? minKey;
    assert.equal(keyOf(kind, JSON.parse(text)), expected);
  }
}

export function aggregatesOfGroups(contractTest: ContractTest): void {
  contractTest("are what a plain computation finds, whatever the spelling", async ({ store }) => {
    const seed = newSeed("aggregates");
    const next = randomNumbers(seed);
    const rows = fc.sample(fc.tuple(odd, fieldsOfOne), { numRuns: runs(100, 250), seed }).map(
      ([first, second], index): Row => ({
        // A few are much larger than the others.
        fields: { ...first, ...second, ...(index % 80 === 7 && { z: "z".repeat(100_000) }) },
        createdAt: Date.UTC(2026, 2, 1, 0, index * 30),
      }),
    );
    const collections = { bare: {}, sorted: { indexed: ["n", "t", "f", "d", "u"] } };
    for (const [collection, more] of Object.entries(collections)) {
      const definition = JSON.stringify({ schema, ...more });
      await store.commit([create(collection), define(definition, collection)]);
      await store.commit(
        rows.map(({ fields, createdAt: at }, index) =>
          put(`r${index}`, { fields: spelled(fields, next), at, collection }),
        ),
      );
    }
    const check = fc.asyncProperty(
      fc.oneof(fc.constant({}), randomWhere),
      aggregates,
      groupings,
      async (where, aggregates, groupings) => {
        const page = { sortings: [], offset: 0, limit: 10_000, timeZone: undefined };
        const aggregation: Aggregation = { aggregates, groupings, ...page };
        const query = ask({ conditions: conditionsOf(where), aggregation });
        const chosen = rows.filter(({ fields }) => matches(fields, where));
        const nameOf = (row: Row) =>
          JSON.stringify(groupings.map((grouping) => groupKey(grouping, row)));
        const expected = Map.groupBy(chosen, nameOf);
        if (groupings.length === 0 && chosen.length === 0) expected.set("[]", []);
        for (const collection of Object.keys(collections)) {
          const { groups } = await answerTo(store, query, collection);
          assert.equal(groups?.total, expected.size);
          for (const row of groups.rows) {
            const shown = row.slice(0, groupings.length).map((text, at) => {
              const { kind = "any", unit, bounds } = groupings[at] ?? {};
              return keyOf(unit || bounds ? "text" : kind, JSON.parse(text));
            });
            const members = expected.get(JSON.stringify(shown)) ?? assert.fail(row.join());
            for (const [at, aggregate] of aggregates.entries())
              assertFigure(row[groupings.length + at] ?? "", aggregate, members);
          }
        }
      },
    );
    await fc.assert(check, { numRuns: runs(10, 3_000), seed });
  });

  contractTest("show the first of equal values, whichever way it is found", async ({ store }) => {
    const next = randomNumbers(newSeed("equal values"));
    const spellings = [
      "1",
      "1.0",
      "1e0",
      "10e-1",
      "-0",
      "0",
      "0.0",
      "1e20",
      "100000000000000000000",
    ];
    const rows = Array.from({ length: 60 }, (_, index) => {
      const n = spellings[Math.floor(next() * spellings.length)] ?? "";
      const f = next() < 0.5;
      // SQL leaves some to our code: those with NUL on one engine, large ones on the other.
      const rest = ["", ',"x":"\\u0000"', `,"x":"${"z".repeat(index % 20 === 7 ? 100_000 : 1)}"`];
      return { n, f, text: `{"n":${n},"f":${f}${rest[Math.floor(next() * rest.length)]}}` };
    });
    const collections = { bare: [], sorted: ["n", "f"] };
    for (const [collection, indexed] of Object.entries(collections)) {
      await store.commit([
        create(collection),
        define(JSON.stringify({ schema, indexed }), collection),
      ]);
      await store.commit(
        rows.map(({ text: fields }, index) => put(`r${index}`, { fields, collection })),
      );
    }
    const firstOf = (chosen: typeof rows, wanted: number) =>
      chosen.find(({ n }) => Number(n) === wanted)?.n;
    const page = { sortings: [], offset: 0, limit: 10, timeZone: undefined, groupings: [] };
    const aggregation = { aggregates: [aggregateOf("min", "n"), aggregateOf("max", "n")], ...page };
    for (const where of [
      {},
      { f: true },
      { n: { gte: 0 } },
      { n: { lt: 5 } },
      { n: 1 },
    ] as Where[]) {
      const chosen = rows.filter(({ n, f }) => matches({ n: Number(n), f }, where));
      const numbers = chosen.map(({ n }) => Number(n));
      const expected = [Math.min(...numbers), Math.max(...numbers)].map((n) => firstOf(chosen, n));
      for (const collection of Object.keys(collections)) {
        const query = ask({ conditions: conditionsOf(where), aggregation });
        const { groups } = await answerTo(store, query, collection);
        assert.deepEqual(groups?.rows, [expected], `${collection} ${JSON.stringify(where)}`);
      }
    }
  });

  contractTest("group equal times, shown as the first is written", async ({ store }) => {
    const next = randomNumbers(newSeed("equal times"));
    const spellings = ["01:30:00Z", "02:30:00+01:00", "01:30:00.000Z", "01:30:00z"];
    const rows = Array.from({ length: 40 }, () => {
      const time = `202${Math.floor(next() * 2)}-03-30T${spellings[Math.floor(next() * 4)]}`;
      const rest = next() < 0.5 ? "" : ',"x":"\\u0000"';
      return { time, text: `{"d":"${time}"${rest},"y":"${"z".repeat(next() < 0.1 ? 1e5 : 1)}"}` };
    });
    await store.commit([create(), define(JSON.stringify({ schema }))]);
    await store.commit(rows.map(({ text: fields }, index) => put(`r${index}`, { fields })));
    const times = Map.groupBy(rows, ({ time }) => Date.parse(time));
    const expected = [...times].toSorted(([one], [other]) => one - other);
    const grouping: Grouping = { name: "d", field: "d", kind: "time" };
    const count: Aggregate = { name: "count", function: "count", field: "", kind: "any" };
    const page = { sortings: [], offset: 0, limit: 10, timeZone: undefined };
    const aggregation = { aggregates: [count], groupings: [grouping], ...page };
    const { groups } = await answerTo(store, ask({ conditions: [], aggregation }));
    assert.deepEqual(
      groups?.rows,
      expected.map(([, equal]) => [JSON.stringify(equal[0]?.time), String(equal.length)]),
    );
  });

  contractTest("of indexes alone look at no resource", async ({ store }) => {
    await store.commit([
      create(),
      define('{"indexed":["n"],"schema":{"properties":{"n":{"type":"number"}}}}'),
    ]);
    const numbers = ["1.0", "3", "1", "null", "2", "3.00"];
    await store.commit(numbers.map((n, index) => put(`r${index}`, { fields: `{"n":${n}}` })));
    const count: Aggregate = { name: "count", function: "count", field: "", kind: "any" };
    const figures = async (aggregates: readonly Aggregate[], conditions: readonly Condition[]) => {
      const page = { groupings: [], sortings: [], offset: 0, limit: 1, timeZone: undefined };
      const query = ask({ conditions, aggregation: { aggregates, ...page } });
      const { groups, scan } = await answerTo(store, query);
      assert.equal(scan, undefined);
      return groups?.rows[0];
    };
    const [least, most] = [aggregateOf("min", "n"), aggregateOf("max", "n")];
    assert.deepEqual(await figures([count], []), ["6"]);
    assert.deepEqual(await figures([count], [is("n", "number", 1)]), ["2"]);
    assert.deepEqual(await figures([least, count, most], []), ["1.0", "6", "3"]);
    const time = JSON.stringify(new Date(10));
    assert.deepEqual(await figures([aggregateOf("max", "createdAt")], []), [time]);
  });
}
