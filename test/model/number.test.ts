// Numbers: which literals a double can carry.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { exactChars, isExact } from "../../src/model/json/number.ts";

describe("a number's literal", () => {
  const exact = [
    "0",
    "-0",
    "0.0",
    "0e999999",
    "1.0",
    "1e2",
    "100E-2",
    "0.1",
    "-0.10",
    "1.10e+1",
    "9007199254740991",
    "9007199254740992",
    "-9007199254740992",
    "123456789012345680000",
    "100000000000000000000000",
    "0.000000000000000000000000000001",
    "0.30000000000000004",
    "1.7976931348623157e308",
    "2.2250738585072014e-308",
    "5e-324",
    "500e-326",
    `1${"0".repeat(308)}`,
    `0.${"0".repeat(323)}5`,
  ];
  for (const literal of exact)
    it(`${shorten(literal)} survives`, () => assert.ok(isExact(literal)));

  const lossy = [
    "9007199254740993",
    "12345678901234567890",
    "0.1000000000000000055",
    "0.10000000000000001",
    "3.14159265358979323846",
    "1e309",
    "-1e400",
    "1.7976931348623159e308",
    "4e-324",
    "1e-400",
    "1e99999999999999999999999",
    "1e-99999999999999999999999",
    `1${"0".repeat(400)}1`,
  ];
  for (const literal of lossy)
    it(`${shorten(literal)} does not survive`, () => assert.ok(!isExact(literal)));

  it("is exact when it is what a double is written as, in any of its spellings", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        assert.ok(isExact(String(value)));
        assert.ok(isExact(value.toExponential()));
        const [mantissa = "", power] = value.toExponential().split("e");
        assert.ok(isExact(`${mantissa}${mantissa.includes(".") ? "0" : ".0"}E${power}`));
      }),
      { numRuns: 1000 },
    );
  });

  it("is exact just when it equals the shortest decimal of its double", () => {
    const digits = fc.string({
      unit: fc.constantFrom(..."0123456789"),
      minLength: 1,
      maxLength: 20,
    });
    const exponent = fc.integer({ min: -340, max: 320 });
    fc.assert(
      fc.property(digits, digits, exponent, (whole, fraction, power) => {
        const literal = `${whole.replace(/^0+(?=\d)/, "")}.${fraction}e${power}`;
        const value = Number(literal);
        const same = Number.isFinite(value) && equal(literal, String(value));
        assert.equal(isExact(literal), same, literal);
      }),
      { numRuns: 1000 },
    );
  });

  it("is always exact when it is short and has no exponent", () => {
    const decimal = fc
      .tuple(fc.nat({ max: 10 ** exactChars - 1 }), fc.nat({ max: exactChars }))
      .map(([number, place]) => {
        const digits = String(number);
        return place < digits.length && place > 0
          ? `${digits.slice(0, place)}.${digits.slice(place)}`
          : digits;
      });
    fc.assert(
      fc.property(decimal, (literal) => {
        fc.pre(literal.length <= exactChars);
        assert.ok(isExact(literal), literal);
      }),
      { numRuns: 1000 },
    );
  });
});

/** Compares two decimals as fractions of whole numbers. */
function equal(left: string, right: string): boolean {
  const [a, aPower] = fractionOf(left);
  const [b, bPower] = fractionOf(right);
  const least = Math.min(aPower, bPower);
  return a * 10n ** BigInt(aPower - least) === b * 10n ** BigInt(bPower - least);
}

function fractionOf(literal: string): [whole: bigint, power: number] {
  const [mantissa = "", power = "0"] = literal.split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  return [BigInt(whole + fraction), Number(power) - fraction.length];
}

function shorten(literal: string): string {
  return literal.length > 40 ? `${literal.slice(0, 20)}… (${literal.length} characters)` : literal;
}
