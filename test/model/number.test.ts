// Numbers: which literals a double can represent.
// @runtimes both

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { exactChars, isExact, isMultipleOf } from "../../src/lib/json/number.ts";
import fc from "../fast-check.ts";
import { runs } from "../seeds.ts";

describe("a number literal", () => {
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
    it(`${shorten(literal)} is exact`, () => assert.ok(isExact(literal)));

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
    it(`${shorten(literal)} is not exact`, () => assert.ok(!isExact(literal)));

  it("is exact when it is what a double is printed as, in any spelling", () => {
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

  it("is exact only when it equals the shortest decimal of its double", () => {
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

describe("a multiple", () => {
  const cases: readonly [value: string, step: string, isOne: boolean][] = [
    ["1000000.01", "0.01", true],
    ["4503599627370.49", "0.01", true],
    ["0.07", "0.01", true],
    ["1.1", "0.1", true],
    ["-19.99", "0.01", true],
    ["0", "0.01", true],
    ["0.005", "0.01", false],
    ["1000000.015", "0.01", false],
    ["0.00000000001", "0.01", false],
    ["1e300", "1e-300", true],
    ["1e-300", "1e300", false],
    ["1e21", "7", false],
    ["7e21", "7", true],
    ["9007199254740993000", "3", true],
    ["4.5", "1.5", true],
    ["5", "1.5", false],
    ["0.3", "0.1", true],
    ["3", "0.3", true],
    ["1", "0.3", false],
  ];
  for (const [value, step, isOne] of cases)
    it(`${value} is ${isOne ? "a multiple" : "not a multiple"} of ${step}`, () =>
      assert.equal(isMultipleOf(Number(value), Number(step)), isOne));

  it("is decided by integers in units of the last digit", () => {
    const check = fc.property(
      fc.integer({ min: -1e15, max: 1e15 }),
      fc.integer({ min: 1, max: 1_000 }),
      fc.integer({ min: 0, max: 6 }),
      fc.integer({ min: 0, max: 6 }),
      (count, unit, places, stepPlaces) => {
        const value = Number(`${count}e-${places}`);
        const step = Number(`${unit}e-${stepPlaces}`);
        const scaled = BigInt(count) * 10n ** BigInt(6 - places);
        const isOne = scaled % (BigInt(unit) * 10n ** BigInt(6 - stepPlaces)) === 0n;
        assert.equal(isMultipleOf(value, step), isOne);
        assert.equal(isMultipleOf(Number(`${count}e-2`), 0.01), true);
      },
    );
    fc.assert(check, { numRuns: runs(2_000, 200_000) });
  });
});
