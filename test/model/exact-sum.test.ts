// Exact sums and quotients of JSON numbers.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { printDecimal } from "../../src/lib/decimal.ts";
import { divide, ExactSum } from "../../src/lib/exact-sum.ts";
import { newSeed, randomNumbers, runs } from "../seeds.ts";

const sumOf = (literals: readonly string[]): ExactSum => {
  const sum = new ExactSum();
  for (const literal of literals) {
    const value = Number(literal);
    sum.add(value, String(value) === literal ? undefined : literal);
  }
  return sum;
};

describe("an exact sum", () => {
  it("of a million times 0.1 is 100000", () => {
    const sum = new ExactSum();
    for (let count = 0; count < 1_000_000; count++) sum.add(0.1);
    assert.equal(printDecimal(sum.total), "100000");
    assert.equal(sum.count, 1_000_000);
  });

  const sums: readonly [readonly string[], string][] = [
    [[], "0"],
    [["0.1", "0.2"], "0.3"],
    [["9007199254740991", "9007199254740991", "1"], "18014398509481983"],
    [["1e21", "1", "-1e21"], "1"],
    [["12345678901234567890.123456789", "0.000000001"], "12345678901234567890.12345679"],
    [["5e-324", "1"], `1.${"0".repeat(323)}5`],
    [["1.10", "-1.1"], "0"],
    [["0.30000000000000004", "-0.3"], "4e-17"],
  ];
  for (const [literals, expected] of sums)
    it(`of ${literals.join(" and ").slice(0, 60)} is ${expected.slice(0, 40)}`, () => {
      assert.equal(printDecimal(sumOf(literals).total), expected);
    });

  it("of random numbers is that of whole numbers", () => {
    const random = randomNumbers(newSeed("exact sums"));
    for (let run = 0; run < runs(200, 5_000); run++) {
      const cents = Array.from({ length: 20 }, () => {
        const digits = 1 + Math.floor(random() * 14);
        return BigInt(Math.floor((random() - 0.5) * 10 ** digits));
      });
      const literals = cents.map((cent) => {
        const text = String(cent < 0n ? -cent : cent).padStart(3, "0");
        return `${cent < 0n ? "-" : ""}${text.slice(0, -2)}.${text.slice(-2)}`;
      });
      const total = cents.reduce((sum, cent) => sum + cent, 0n);
      const sum = printDecimal(sumOf(literals).total);
      assert.equal(Math.round(Number(sum) * 100), Number(total), sum);
      const [whole = "", fraction = ""] = sum.replace("-", "").split(".");
      assert.equal(BigInt(`${whole}${fraction.padEnd(2, "0")}`), total < 0n ? -total : total);
    }
  });
});

describe("a quotient", () => {
  const quotients: readonly [string, number, string][] = [
    ["10", 4, "2.5"],
    ["1", 3, "0.3333333333333333333333333333333333"],
    ["2", 3, "0.6666666666666666666666666666666667"],
    ["-2", 3, "-0.6666666666666666666666666666666667"],
    ["0", 7, "0"],
    ["0.3", 3, "0.1"],
    ["1e40", 3, "3.333333333333333333333333333333333e39"],
    ["10000000000000000000000000000000005", 10, "1e33"],
    ["10000000000000000000000000000000015", 10, "1.000000000000000000000000000000002e33"],
  ];
  for (const [literal, by, expected] of quotients)
    it(`of ${literal} by ${by} is ${expected}`, () => {
      assert.equal(divide(sumOf([literal]).total, by), expected);
    });
});
