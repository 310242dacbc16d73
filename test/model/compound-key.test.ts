// Compound keys: their order is that of the lists of keys, and their ranges contain what they should.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { maxIndexFields } from "../../src/model/listed-index.ts";
import { compoundKey, compoundSpan, missingValue } from "../../src/model/query/compound-key.ts";
import {
  above,
  beginningWith,
  below,
  compareKeys,
  equalTo,
  from,
  isIn,
  keyOf,
  minKey,
  noValue,
  type Span,
  someValue,
  upTo,
  type ValueKind,
} from "../../src/model/query/sort-key.ts";
import fc, { anyText } from "../fast-check.ts";
import { runs } from "../seeds.ts";

/** Characters that keys escape, that are first or last in an order, or that UTF-16 sorts in another way. */
const chars = ["", "\0", "\u0001", "\u0002", "\u0003", "\u0004", "\u0005", "\u0006", "\u0007"];
const others = ["a", "b", "~", "é", "中", "\ud7ff", "\ue000", "\uffff", "😀", "\u{10fffe}"];
const char = fc.constantFrom(...chars, ...others, "\u{10ffff}");

const shortText = fc.array(char, { maxLength: 4 }).map((list) => list.join(""));
/** Texts with long common beginnings, of which some are truncated. */
const longText = fc
  .tuple(char, fc.constantFrom(130, 138, 139, 140, 188, 189, 190, 198, 199, 200, 300), shortText)
  .map(([repeated, count, tail]) => (repeated || "a").repeat(count) + tail);

const values: Readonly<Record<Exclude<ValueKind, "any">, fc.Arbitrary<unknown>>> = {
  text: fc.oneof({ weight: 3, arbitrary: shortText }, longText),
  number: fc.oneof(fc.double({ noNaN: true }), fc.integer({ min: -2, max: 2 })),
  boolean: fc.boolean(),
  time: fc.constantFrom("2026-01-01", "2026-01-01T00:00:00Z", "1969-12-31", 0, "later"),
};
const kind = fc.constantFrom("text", "number", "boolean", "time");

/** Mostly a value of the kind, sometimes another or none. */
const keyArbitrary = kind.chain((each) =>
  fc
    .oneof(
      { weight: 8, arbitrary: values[each] },
      fc.constantFrom(null, undefined, "", "x", 1, true),
    )
    .map((value) => keyOf(each, value)),
);

const directions = fc.array(fc.record({ isDescending: fc.boolean() }), {
  minLength: 2,
  maxLength: maxIndexFields,
});
const keysFor = (fields: readonly unknown[]) =>
  fc.array(keyArbitrary, { minLength: fields.length, maxLength: fields.length });

/** Two lists that often have the same keys in front. */
const pair = directions.chain((fields) =>
  fc
    .tuple(keysFor(fields), keysFor(fields), fc.integer({ min: 0, max: fields.length }))
    .map(([one, two, same]) => ({
      fields,
      one,
      other: [...one.slice(0, same), ...two.slice(same)],
    })),
);

/** Compares as the databases do, by the bytes of UTF-8. */
const compareBytes = (one: string, other: string): number =>
  Buffer.compare(Buffer.from(one), Buffer.from(other));

/** The number of characters that are compared, by the number of fields. Escapes count twice. */
const compared = [0, 0, 290, 190, 140];

/** Whether two long keys are the same as far as they are compared, so that a hash decides. */
function isDecidedByHash(one: string, other: string, count: number): boolean {
  const [first, second] = [one, other].map((key) =>
    [...key].flatMap((each) => (each < "\u0006" ? ["\u0005", each] : [each])),
  );
  if (one === other || !first || !second) return false;
  const limit = compared[count] ?? 0;
  const isLong = first.length > limit && second.length > limit;
  return isLong && first.slice(0, limit).join("") === second.slice(0, limit).join("");
}

const isSame = (one: number, other: number): boolean => Math.sign(one) === Math.sign(other);

describe("a compound key", () => {
  test("sorts like the list of keys, each in its direction", () => {
    fc.assert(
      fc.property(pair, ({ fields, one, other }) => {
        const [first, second] = [compoundKey(fields, one), compoundKey(fields, other)];
        const order = compareBytes(first, second);
        assert.ok(isSame(order, compareKeys(first, second)));
        const index = fields.findIndex((_, each) => one[each] !== other[each]);
        if (index < 0) return assert.equal(order, 0);
        const [key = "", otherKey = ""] = [one[index], other[index]];
        if (isDecidedByHash(key, otherKey, fields.length)) return assert.notEqual(order, 0);
        const expected = compareKeys(key, otherKey) * (fields[index]?.isDescending ? -1 : 1);
        assert.ok(isSame(order, expected), JSON.stringify({ fields, one, other }));
      }),
      { numRuns: runs(400, 100_000) },
    );
  });

  test("sorts characters by their code points, also where UTF-16 does not", () => {
    const edges = [0x7f, 0xd7ff, 0xe000, 0xffff, 0x10000, 0x102000, 0x102800, 0x103000, 0x10ffff];
    const codes = edges.flatMap((edge) => [edge - 1, edge, edge + 1]);
    const texts = [...new Set(codes)]
      .filter((code) => (code < 0xd800 || code > 0xdfff) && code <= 0x10ffff)
      .map((code) => String.fromCodePoint(code));
    const keys = texts.map((text) => keyOf("text", text));
    assert.deepEqual(keys.toSorted(compareKeys), keys);
    for (const isDescending of [false, true]) {
      const fields = [{ isDescending }, { isDescending: false }];
      const compound = keys.map((key) => compoundKey(fields, [key, minKey]));
      for (const key of compound) assert.ok(key.isWellFormed());
      const sorted = isDescending ? compound.toReversed() : compound;
      assert.deepEqual(compound.toSorted(compareBytes), sorted);
    }
  });

  test("does not divide a character that is not shown in full", () => {
    for (const count of [197, 198, 199, 200]) {
      const key = keyOf("text", `${"a".repeat(count)}😀😀`);
      assert.ok(key.isWellFormed(), `${count}`);
    }
  });

  test("fits into an index entry of Postgres, and both databases can store it", () => {
    fc.assert(
      fc.property(
        directions.chain((fields) => fc.tuple(fc.constant(fields), keysFor(fields))),
        ([fields, keys]) => {
          const key = compoundKey(fields, keys);
          assert.ok(Buffer.byteLength(key) <= 2_400);
          assert.ok(key.isWellFormed() && !key.includes("\0"));
        },
      ),
      { numRuns: runs(400, 30_000) },
    );
    for (const worst of ["\u0001", "a", "中", "😀", "\u{10ffff}"])
      for (const isDescending of [true, false])
        for (const count of [2, 3, 4]) {
          const fields = Array.from({ length: count }, () => ({ isDescending }));
          const keys = fields.map((_, index) => keyOf("text", worst.repeat(200 + index)));
          assert.ok(Buffer.byteLength(compoundKey(fields, keys)) <= 2_400);
        }
  });

  test("of an ascending index shows whether a value is missing", () => {
    const ascending = [{ isDescending: false }, { isDescending: false }];
    const isMissing = (keys: readonly string[]) =>
      compoundKey(ascending, keys).includes(missingValue);
    const complete = ["", "\0", "\u0001", "\u0002", "\u0005", "\u0005\u0002", "a".repeat(500)];
    for (const text of complete) assert.equal(isMissing([keyOf("text", text), "n0"]), false);
    for (const keys of [
      [minKey, "n0"],
      ["n0", minKey],
      [minKey, minKey],
    ])
      assert.equal(isMissing(keys), true);
  });

  test("accepts any text, as a cursor may contain it", () => {
    fc.assert(
      fc.property(
        directions.chain((fields) => fc.tuple(fc.constant(fields), fc.array(anyText()))),
        ([fields, keys]) => {
          const key = compoundKey(
            fields,
            keys.map((each) => each.replaceAll("\0", "")),
          );
          assert.ok(key.isWellFormed() && !key.includes("\0"));
        },
      ),
      { numRuns: runs(300, 10_000) },
    );
  });
});

const spanArbitrary: fc.Arbitrary<Span> = fc.oneof(
  keyArbitrary
    .filter((key) => key !== minKey)
    .chain((key) => fc.constantFrom(equalTo(key), below(key), upTo(key), above(key), from(key))),
  fc
    .tuple(keyArbitrary, keyArbitrary)
    .map(([one, two]) =>
      compareKeys(one, two) < 0 ? { from: one, to: two } : { from: two, to: one },
    ),
  values.text.map((text) => beginningWith(String(text))),
  fc.constantFrom(someValue, noValue, equalTo(minKey)),
);

describe("a range of compound keys", () => {
  const example = pair.chain(({ fields, one, other }) =>
    fc.record({
      fields: fc.constant(fields),
      keys: fc.constant(one),
      prefix: fc.integer({ min: 0, max: fields.length }).map((length) => other.slice(0, length)),
      span: fc.option(
        fc.oneof(
          spanArbitrary,
          fc.constantFrom(...one, ...other).map((key) => upTo(key || "n")),
        ),
        { nil: undefined },
      ),
    }),
  );

  test("contains the entries whose keys match, and only these when it is exact", () => {
    fc.assert(
      fc.property(example, ({ fields, keys, prefix, span }) => {
        const used = prefix.length < fields.length ? span : undefined;
        const range = compoundSpan(fields, prefix, used);
        const next = keys[prefix.length] ?? "";
        const isMatch =
          prefix.every((key, index) => key === keys[index]) && (!used || isIn(next, used));
        const isFound = isIn(compoundKey(fields, keys), range);
        if (isMatch || range.isExact)
          assert.equal(isFound, isMatch, JSON.stringify({ fields, keys, prefix, used, range }));
      }),
      { numRuns: runs(400, 100_000) },
    );
  });

  test("is exact for values up to 130 characters", () => {
    const fields = [true, false, true, false].map((isDescending) => ({ isDescending }));
    const key = keyOf("text", "中".repeat(130));
    for (const span of [below(key), upTo(key), above(key), from(key), equalTo(key)])
      for (const prefix of [[], ["n0"], ["n0", "n0"], ["n0", "n0", "n0"]])
        assert.equal(compoundSpan(fields, prefix, span).isExact, true);
    const long = from(keyOf("text", "a".repeat(150)));
    assert.equal(compoundSpan(fields, [], long).isExact, false);
    assert.equal(compoundSpan(fields.slice(2), [], long).isExact, true);
  });

  test("of all keys is one entry", () => {
    const fields = [{ isDescending: true }, { isDescending: false }];
    const keys = [keyOf("text", "x"), keyOf("number", 1)];
    const key = compoundKey(fields, keys);
    assert.deepEqual(compoundSpan(fields, keys), { ...equalTo(key), isExact: true });
  });
});
