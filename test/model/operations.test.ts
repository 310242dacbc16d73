// Operations: what they do to fields, compared with a second, simple implementation.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { normalText, readTree, sameTree } from "../../src/lib/json/tree.ts";
import { applyOperations } from "../../src/model/write/apply-operations.ts";
import { checkOperations, readOperations } from "../../src/model/write/operations.ts";
import { newSeed, randomNumbers, runs } from "../seeds.ts";

const schema = { properties: { at: { type: "string", format: "date-time" } } };

/** The new fields, or the kind and the pointers of the errors. */
function apply(fields: string, operations: object | string): string {
  const text = typeof operations === "string" ? operations : JSON.stringify(operations);
  assert.deepEqual(checkOperations(text, undefined, false), []);
  const result = applyOperations(fields, readOperations(text), schema);
  if (typeof result === "string") return result;
  return [result.kind, ...result.errors.map(({ pointer }) => pointer)].join(" ");
}

describe("operations", () => {
  const cases: readonly (readonly [fields: string, operations: object | string, result: string])[] =
    [
      ['{"n":1.0,"a":1.50}', { increment: { n: 1 } }, '{"n":2,"a":1.50}'],
      ['{"n":0.1}', { increment: { n: 0.2 } }, '{"n":0.3}'],
      ['{"n":9007199254740990}', { increment: { n: 1 } }, '{"n":9007199254740991}'],
      ['{"n":9007199254740992}', { increment: { n: 1 } }, "invalid /n"],
      ['{"n":1e308}', '{"increment":{"n":9e307}}', "invalid /n"],
      ["{}", { increment: { n: -1 } }, '{"n":-1}'],
      ["{}", { increment: { "a.b.c": 2 } }, '{"a":{"b":{"c":2}}}'],
      ['{"a":{"x":1}}', { increment: { "a.n": 2 } }, '{"a":{"x":1,"n":2}}'],
      ['{"\\u0061":1,"b":"\\u0062"}', { increment: { a: 1 } }, '{"\\u0061":2,"b":"\\u0062"}'],
      ['{"n":null}', { increment: { n: 1 } }, "inapplicable /increment/n"],
      ['{"n":true}', { increment: { n: 1 } }, "inapplicable /increment/n"],
      ['{"n":"1"}', { increment: { n: 1 } }, "inapplicable /increment/n"],
      ['{"n":[1]}', { increment: { "n.a": 1 } }, "inapplicable /increment/n.a"],
      ["{}", { append: { l: [1, { a: [] }] } }, '{"l":[1,{"a":[]}]}'],
      ['{"l":[1.0]}', '{"append": {"l": [ 2.50, "\\u0061" ]}}', '{"l":[1.0,2.50,"\\u0061"]}'],
      ['{"l":{}}', { append: { l: [1] } }, "inapplicable /append/l"],
      ['{"l":[1,1.0,"1",{"a":1,"b":2}]}', { remove: { l: [1] } }, '{"l":["1",{"a":1,"b":2}]}'],
      ['{"l":[{"a":1e0,"b":[2]}]}', { remove: { l: [{ b: [2], a: 1 }] } }, '{"l":[]}'],
      ["{}", { remove: { l: [1], "a.b": [1] } }, "{}"],
      ['{"l":["a","b"]}', { remove: { l: ["a"] }, append: { l: ["a"] } }, '{"l":["b","a"]}'],
      ['{"n":5}', { min: { n: 3 } }, '{"n":3}'],
      ['{"n":5.0}', { min: { n: 5 } }, '{"n":5.0}'],
      ['{"n":5}', { max: { n: 3, m: "x" } }, '{"n":5,"m":"x"}'],
      ['{"n":5}', { increment: { n: -7 }, max: { n: 0 } }, '{"n":0}'],
      ['{"t":"\\ud83d\\ude00"}', { max: { t: "\uffff" } }, '{"t":"\\ud83d\\ude00"}'],
      [
        '{"at":"2026-01-01T00:00:00+02:00"}',
        { max: { at: "2025-12-31T23:00:00Z" } },
        '{"at":"2025-12-31T23:00:00Z"}',
      ],
      ['{"at":"later"}', { max: { at: "2025-12-31T23:00:00Z" } }, "inapplicable /max/at"],
      ['{"n":5}', { max: { n: "5" } }, "inapplicable /max/n"],
      ['{"n":{}}', { min: { n: 1 }, append: { n: [1] } }, "inapplicable /append/n /min/n"],
    ];
  for (const [fields, operations, result] of cases)
    it(`${JSON.stringify(operations)} on ${fields} is ${result}`, () =>
      assert.equal(apply(fields, operations), result));

  it("do not make a resource that could not be sent: too many members, too deep", () => {
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`m${n}`, 1]));
    assert.equal(apply(JSON.stringify(many), { increment: { one: 1 } }), "invalid ");
    assert.match(apply(JSON.stringify(many), { increment: { m1: 1 } }), /"m1":2/);
    const deep = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
    assert.match(apply("{}", `{"append":{"l":[${deep(62)}]}}`), /^\{/);
    assert.match(apply("{}", `{"append":{"a.l":[${deep(62)}]}}`), /^invalid/);
  });

  it("take a time in proportion to the length of the array", () => {
    const items = Array.from({ length: 20_000 }, (_, n) => ({ n }));
    const removed = items.slice(0, 10_000).reverse();
    const result = apply(JSON.stringify({ items }), { remove: { items: removed } });
    assert.equal(JSON.parse(result).items.length, 10_000);
  });
});

type Value = number | string | boolean | null | Value[] | { [name: string]: Value };

/** A second implementation on plain values. Numbers are small multiples of a quarter, so sums are exact. */
function plainApply(before: Value, operations: Record<string, Record<string, Value>>): Value {
  const root = structuredClone(before) as { [name: string]: Value };
  let isFailed = false;
  const each = (name: string, change: (current: Value | undefined, given: Value) => unknown) => {
    for (const [field, given] of Object.entries(operations[name] ?? {})) {
      const path = field.split(".");
      let parent: Value | undefined = root;
      for (const step of path.slice(0, -1)) {
        if (typeof parent !== "object" || parent === null || Array.isArray(parent)) break;
        if (parent[step] === undefined && name === "remove") parent = undefined;
        else {
          parent[step] ??= parent[step] === undefined ? {} : null;
          parent = parent[step];
        }
        if (parent === undefined) break;
      }
      if (parent === undefined) continue;
      if (typeof parent !== "object" || parent === null || Array.isArray(parent)) {
        isFailed = true;
        continue;
      }
      const last = path.at(-1) ?? "";
      const changed = change(parent[last], given) as Value | undefined;
      if (changed === fails) isFailed = true;
      else if (changed !== undefined) parent[last] = changed;
    }
  };
  const fails = "fails";
  const isList = (value: Value | undefined): value is Value[] => Array.isArray(value);
  each("remove", (current, given) => {
    if (current === undefined) return undefined;
    if (!isList(current) || !isList(given)) return fails;
    return current.filter((item) => !given.some((other) => isSame(item, other)));
  });
  each("append", (current = [], given) =>
    isList(current) && isList(given) ? [...current, ...given] : fails,
  );
  each("increment", (current = 0, given) =>
    typeof current === "number" ? current + Number(given) : fails,
  );
  for (const name of ["min", "max"])
    each(name, (current, given) => {
      if (current === undefined) return given;
      if (typeof current !== typeof given || typeof current === "object") return fails;
      const isLess = given !== null && current !== null && given < current;
      const isMore = given !== null && current !== null && given > current;
      return (name === "min" ? isLess : isMore) ? given : current;
    });
  return isFailed ? fails : root;
}

const isSame = (one: Value, other: Value): boolean =>
  sameTree(readTree(JSON.stringify(one)), readTree(JSON.stringify(other)));

describe("random operations", () => {
  const seed = newSeed("operations");
  const random = randomNumbers(seed);
  const below = (count: number) => Math.floor(random() * count);
  const pick = <T>(items: readonly T[]): T => items[below(items.length)] as T;
  const number = () => (below(33) - 16) / 4;
  const text = () => pick(["", "a", "b", "é", "ab"]);
  const scalar = (): Value => pick([number, text, () => true, () => null])();
  const value = (depth: number): Value =>
    depth === 0 || below(3) > 0
      ? scalar()
      : below(2) === 0
        ? Array.from({ length: below(4) }, () => value(depth - 1))
        : object(depth - 1);
  const object = (depth: number): Value =>
    Object.fromEntries(
      pick([["a"], ["a", "b"], ["b", "c"], ["a", "b", "c"]]).map((name) => [name, value(depth)]),
    );
  const items = (): Value => Array.from({ length: 1 + below(2) }, () => value(1));
  const given: Readonly<Record<string, () => Value>> = {
    increment: number,
    append: items,
    remove: items,
    min: () => pick([number, text])(),
    max: () => pick([number, text])(),
  };
  const fields = ["a", "b", "c", "d", "a.a", "b.c", "d.e"];

  it("do the same as on plain values", () => {
    let failed = 0;
    const count = runs(3_000, 100_000);
    for (let run = 0; run < count; run++) {
      const before = object(2);
      const operations: Record<string, Record<string, Value>> = {};
      for (let left = 1 + below(3); left > 0; left--) {
        const name = pick(Object.keys(given));
        operations[name] = { ...operations[name], [pick(fields)]: given[name]?.() ?? 0 };
      }
      const expected = plainApply(before, operations);
      const result = apply(JSON.stringify(before), operations);
      const what = `${JSON.stringify(before)} ${JSON.stringify(operations)}`;
      if (expected === "fails") {
        failed++;
        assert.match(result, /^inapplicable/, what);
      } else assert.deepEqual(JSON.parse(result), expected, what);
    }
    assert.ok(failed > 0 && failed < count, `${failed} of ${count} failed`);
  });

  it("find equal items as JSON Patch does", () => {
    for (let run = 0; run < runs(2_000, 50_000); run++) {
      const [one, other] = [value(2), value(2)].map((each) => readTree(JSON.stringify(each)));
      assert.ok(one !== undefined && other !== undefined);
      assert.equal(normalText(one) === normalText(other), sameTree(one, other));
    }
  });
});
