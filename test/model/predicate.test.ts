// Predicates: each kind is evaluated as it is meant, and simplifying them does not change what they match.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { buildWhere } from "../../src/domain/build-where.ts";
import { valueIn } from "../../src/model/query/field-path.ts";
import { conditionOf } from "../../src/model/query/filter.ts";
import type { Operator } from "../../src/model/query/operators.ts";
import { holds, isCondition, type Predicate } from "../../src/model/query/predicate.ts";
import { queryableFieldsOf } from "../../src/model/query/queryable.ts";
import { simplified } from "../../src/model/query/simplify.ts";
import { foldCase } from "../../src/model/query/text-match.ts";
import fc, { anyText } from "../fast-check.ts";
import { fieldsOfOne, matches, randomWhere, schema } from "../random-where.ts";
import { runs } from "../seeds.ts";

const contentOf = (value: unknown) => ({ at: (field: string) => valueIn(value, field) });

/** A condition on a field of the kind `any`. */
function test(field: string, operator: Operator, operand: unknown): Predicate {
  const condition = conditionOf({ field, kind: "any", operator, operand, isFromUrl: false });
  return typeof condition === "string" ? assert.fail(condition) : condition;
}

const content = contentOf({
  name: "Größe",
  n: 3,
  tags: ["red", "Blue", 7, null],
  lines: [{ sku: "a", qty: 1 }, { sku: "b", qty: 5, parts: [{ id: 1 }, { id: 2 }] }, "c", null],
});
const yes = test("n", "eq", 3);
const no = test("n", "eq", 4);

const rows: Readonly<Record<string, readonly [holding: Predicate[], failing: Predicate[]]>> = {
  "a comparison": [
    [yes, test("n", "gte", 3), test("n", "lt", 3.5), test("n", "in", [1, 3]), test("n", "ne", "3")],
    [no, test("n", "gt", 3), test("n", "lt", "4"), test("none", "lt", 1), test("n", "ne", 3)],
  ],
  "a text": [
    [
      ...[
        test("name", "contains", "öß"),
        test("name", "icontains", "ÖSS"),
        test("name", "ieq", "grösse"),
      ],
      ...[
        test("name", "startsWith", "Gr"),
        test("name", "like", "G*e"),
        test("tags", "ieq", "BLUE"),
      ],
    ],
    [
      ...[
        test("name", "contains", "ÖSS"),
        test("name", "ieq", "größe!"),
        test("n", "contains", "3"),
      ],
      ...[test("name", "startsWith", "gr"), test("none", "contains", ""), test("tags", "ieq", "7")],
    ],
  ],
  "a value that is there": [
    [
      test("tags", "exists", true),
      test("none", "exists", false),
      test("lines[].none", "exists", false),
    ],
    [test("tags", "exists", false), test("lines", "ne", "c"), test("lines[].qty", "exists", false)],
  ],
  "any element": [
    [
      ...[test("lines[].sku", "eq", "a"), test("lines[]", "eq", "c"), test("tags[]", "eq", 7)],
      ...[test("lines[].parts[].id", "eq", 2), test("lines[].parts.id", "exists", false)],
    ],
    [test("lines[].sku", "ne", "a"), test("lines.sku", "eq", "a"), test("name[]", "exists", true)],
  ],
  "one element": [
    [
      { field: "lines", some: { allOf: [test("sku", "eq", "b"), test("qty", "gt", 1)] } },
      { field: "lines[].parts", some: test("id", "eq", 1) },
      { field: "lines", some: { field: "parts", some: test("id", "eq", 2) } },
      { field: "tags", some: { allOf: [test("", "gt", "A"), test("", "ne", "red")] } },
    ],
    [
      { field: "lines", some: { allOf: [test("sku", "eq", "a"), test("qty", "gt", 1)] } },
      { field: "name", some: { allOf: [] } },
      { field: "none", some: { allOf: [] } },
      { field: "tags", some: { allOf: [test("", "gt", "re"), test("", "lt", "red")] } },
    ],
  ],
  "a combination": [
    [
      { anyOf: [no, yes] },
      { allOf: [yes, yes] },
      { allOf: [] },
      { not: no },
      { not: { anyOf: [] } },
    ],
    [{ anyOf: [no] }, { anyOf: [] }, { allOf: [yes, no] }, { not: yes }, { not: { allOf: [] } }],
  ],
  "a condition without spans": [
    [{ field: "n", kind: "number", spans: [], isNegated: true }],
    [{ field: "n", kind: "number", spans: [] }],
  ],
};

describe("a predicate", () => {
  for (const [name, [holding, failing]] of Object.entries(rows)) {
    it(`holds or not: ${name}`, () => {
      for (const predicate of holding)
        assert.equal(holds(predicate, content), true, JSON.stringify(predicate));
      for (const predicate of failing)
        assert.equal(holds(predicate, content), false, JSON.stringify(predicate));
    });
  }

  it("of random conditions matches what a plain filter finds, also after it was simplified", () => {
    const queryable = queryableFieldsOf(JSON.stringify({ schema }));
    const check = fc.property(fieldsOfOne, randomWhere, (fields, where) => {
      const errors: string[] = [];
      const locate = () => ({ pointer: "" });
      const predicates = buildWhere(queryable, { value: where, locate }, 0, (_, detail) =>
        errors.push(detail),
      );
      assert.deepEqual(errors, []);
      const given = contentOf(fields);
      const expected = matches(fields, where);
      assert.equal(holds({ allOf: predicates }, given), expected);
      const simple = simplified(predicates);
      assert.equal(holds({ allOf: simple }, given), expected);
      // What must hold is not hidden from indexes.
      for (const each of simple) {
        assert.ok(!("allOf" in each), JSON.stringify(where));
        assert.ok(!("anyOf" in each) || each.anyOf.length !== 1, JSON.stringify(where));
      }
    });
    fc.assert(check, { numRuns: runs(120, 100_000) });
  });
});

describe("a range in a URL", () => {
  it("compares numbers with one that has more digits than a double", () => {
    const numbers = [0, 0.1, 0.30000000000000004, 1e300, 12345678901234566, 12345678901234568];
    const literals = ["12345678901234567", "12345678901234569", "0.1000000000000000055", "1e-400"];
    literals.push("1e400", "0.300000000000000041", "1e99999999");
    const order = ["1e-400", 0.1, "0.1000000000000000055", 0.30000000000000004];
    order.push("0.300000000000000041", 12345678901234566, "12345678901234567", 12345678901234568);
    order.push("12345678901234569", 1e300, "1e400", "1e99999999");
    for (const sign of [1, -1]) {
      const rankOf = (value: number | string) => sign * (order.indexOf(value) + 1);
      for (const literal of literals)
        for (const number of numbers) {
          const content = contentOf({ n: sign * number });
          const isLess = (number === 0 ? 0 : rankOf(number)) < rankOf(literal);
          for (const operator of ["lt", "lte", "gt", "gte", "eq"] as const) {
            const operand = `${sign < 0 ? "-" : ""}${literal}`;
            const asked = { field: "n", kind: "any", operator, operand, isFromUrl: true } as const;
            const condition = conditionOf(asked);
            assert.ok(typeof condition !== "string");
            const isRight = operator !== "eq" && operator.startsWith("l") === isLess;
            assert.equal(
              holds(condition, content),
              isRight,
              `${sign * number} ${operator} ${operand}`,
            );
          }
        }
    }
  });
});

describe("simplified conditions", () => {
  const number = (operator: Operator, operand: unknown): Predicate => {
    const condition = conditionOf({
      field: "n",
      kind: "number",
      operator,
      operand,
      isFromUrl: false,
    });
    return typeof condition === "string" ? assert.fail(condition) : condition;
  };
  const spansOf = (...predicates: readonly Predicate[]) => {
    const [only, ...more] = simplified(predicates);
    assert.ok(only && isCondition(only) && more.length === 0 && only.isNegated === undefined);
    return only.spans;
  };

  it("are one range for one field", () => {
    const [gte, lt] = [number("gte", 1), number("lt", 5)];
    const [span, ...more] = spansOf(gte, { allOf: [lt] });
    const [low] = spansOf(gte);
    const [high] = spansOf(lt);
    assert.deepEqual([span, more], [{ from: low?.from, to: high?.to }, []]);
    assert.deepEqual(spansOf(number("gt", 5), lt), []);
    assert.deepEqual(spansOf(number("eq", 1), number("in", [1, 2])), spansOf(number("eq", 1)));
    assert.deepEqual(
      spansOf({ anyOf: [number("eq", 1), number("eq", 2)] }),
      spansOf(number("in", [2, 1])),
    );
    assert.equal(spansOf(number("ne", 1)).length, 2);
    assert.deepEqual(spansOf({ not: number("ne", 1) }), spansOf(number("eq", 1)));
  });

  it("of fields with several values stay apart", () => {
    const several = [test("tags", "gte", 1), test("tags", "lt", 5)];
    assert.deepEqual(simplified(several), several);
    const elements = ["gte", "lt"].map((operator) => ({
      ...number(operator as Operator, 1),
      field: "a[].n",
    }));
    assert.deepEqual(simplified(elements), elements);
    const [negated] = simplified([test("tags", "ne", 1)]);
    assert.ok(negated && isCondition(negated) && negated.isNegated);
  });

  it("of one alternative are those that must hold", () => {
    const both = [number("eq", 1), test("name", "eq", "a")];
    assert.deepEqual(simplified([{ anyOf: [{ allOf: both }] }]), simplified(both));
    const negated = both.map((each) => ({ not: each }));
    assert.deepEqual(simplified([{ not: { allOf: [{ anyOf: negated }] } }]), simplified(both));
  });

  it("of many fields are each looked at a few times", () => {
    for (const join of ["anyOf", "allOf"] as const) {
      let looks = 0;
      const conditions = Array.from({ length: 1000 }, (_, n) => {
        const condition = { ...test(`f${n}`, "eq", n), kind: "number" };
        const get = () => {
          looks++;
          return `f${n}`;
        };
        return Object.defineProperty(condition, "field", { enumerable: true, get }) as Predicate;
      });
      simplified([join === "anyOf" ? { anyOf: conditions } : { allOf: conditions }]);
      assert.ok(looks <= 20_000, `${join}: ${looks}`);
    }
  });

  it("are nothing when every resource matches", () => {
    assert.deepEqual(simplified([{ anyOf: [yes, { allOf: [] }] }, { not: { anyOf: [] } }]), []);
  });
});

describe("the case of a text", () => {
  it("is folded for every letter, wherever it stands", () => {
    const alike = [
      "Straße STRASSE strasse",
      "ΟΔΟΣ οδος οδοσ",
      "Éa éA",
      "ǅ ǆ Ǆ",
      "K k \u212a",
      "ﬀ FF",
    ];
    for (const words of alike) {
      const folded = new Set(words.split(" ").map(foldCase));
      assert.equal(folded.size, 1, words);
    }
    assert.notEqual(foldCase("e"), foldCase("é"));
  });

  it("does not depend on what stands beside a letter", () => {
    const check = fc.property(anyText(), anyText(), (one, other) =>
      assert.equal(foldCase(one) + foldCase(other), foldCase(one + other)),
    );
    fc.assert(check, { numRuns: runs(200, 100_000) });
  });
});
