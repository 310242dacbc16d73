// Decimal numbers: sums and comparisons that lose no digit.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  addDecimals,
  addLiterals,
  compareLiterals,
  parseDecimal,
  printDecimal,
} from "../../src/lib/decimal.ts";
import fc from "../fast-check.ts";
import { runs } from "../seeds.ts";

describe("decimal numbers", () => {
  const sums: readonly (readonly [string, string, string])[] = [
    ["0.1", "0.2", "0.3"],
    ["1", "-1", "0"],
    ["-0", "-0", "0"],
    ["0.5", "-0.5", "0"],
    ["1.10", "1.10", "2.2"],
    ["999999999999999", "999999999999999", "1999999999999998"],
    ["9007199254740992", "1", "9007199254740993"],
    ["123456789012345678901234567890", "1", "1.23456789012345678901234567891e29"],
    ["1e20", "0", "100000000000000000000"],
    ["1e21", "0", "1e21"],
    ["1e22", "1", "1.0000000000000000000001e22"],
    ["1e22", "0", "1e22"],
    ["1E+2", "1e-2", "100.01"],
    ["0.000001", "0", "0.000001"],
    ["0.0000001", "0", "1e-7"],
    ["-1.5e-10", "0", "-1.5e-10"],
    ["1e300", "-1e300", "0"],
  ];
  for (const [one, other, sum] of sums)
    it(`${one} + ${other} is ${sum}`, () => {
      assert.equal(addLiterals(one, other), sum);
      assert.equal(addLiterals(other, one), sum);
    });

  it("compares by value", () => {
    assert.equal(compareLiterals("1.0", "1"), 0);
    assert.equal(compareLiterals("-0", "0.0"), 0);
    assert.ok(compareLiterals("9007199254740993", "9007199254740992") > 0);
    assert.ok(compareLiterals("-2", "1e-300") < 0);
    assert.ok(compareLiterals("2", "10") < 0);
  });

  it("adds 0.1 a hundred thousand times", () => {
    let sum = parseDecimal("0");
    const tenth = parseDecimal("0.1");
    for (let count = 0; count < 100_000; count++) sum = addDecimals(sum, tenth);
    assert.equal(printDecimal(sum), "10000");
  });

  it("rejects an exponent that would need too much memory", () => {
    assert.throws(() => parseDecimal("1e999999999"), RangeError);
    assert.throws(() => parseDecimal("1e-999999999"), RangeError);
    assert.equal(printDecimal(parseDecimal("0e999999999")), "0");
  });

  it("agrees with integers of any size", () => {
    const integer = fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n });
    fc.assert(
      fc.property(integer, integer, fc.integer({ min: -10, max: 10 }), (one, other, power) => {
        const literal = (value: bigint) => `${value}e${power}`;
        const sum = parseDecimal(addLiterals(literal(one), literal(other)));
        const expected = parseDecimal(literal(one + other));
        assert.deepEqual(sum, expected);
        assert.equal(
          Math.sign(compareLiterals(literal(one), literal(other))),
          one < other ? -1 : one > other ? 1 : 0,
        );
      }),
      { numRuns: runs(200, 20_000) },
    );
  });

  it("prints what is read again as the same number", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        assert.equal(Number(printDecimal(parseDecimal(String(value)))), value + 0);
      }),
      { numRuns: runs(200, 20_000) },
    );
  });
});
