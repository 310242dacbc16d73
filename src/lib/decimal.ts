// Computes with decimal numbers exactly: 0.1 + 0.2 is 0.3, and no digit of a large number is lost.

import { significand } from "./json/number.ts";

/** digits × 10^exponent. */
export interface Decimal {
  readonly digits: bigint;
  readonly exponent: number;
}

/** Exponents of doubles are smaller. Without a limit, `1e999999999` plus 1 would need all the memory. */
const maxExponent = 10_000;

/** Parses a JSON number. Throws a RangeError when its exponent is far beyond that of any double. */
export function parseDecimal(literal: string): Decimal {
  const [digits, exponent] = significand(literal);
  if (Math.abs(exponent) > maxExponent) throw new RangeError(`${literal} is out of range`);
  const magnitude = BigInt(digits);
  return { digits: literal.startsWith("-") ? -magnitude : magnitude, exponent };
}

export function addDecimals(one: Decimal, other: Decimal): Decimal {
  const exponent = Math.min(one.exponent, other.exponent);
  return { digits: scaled(one, exponent) + scaled(other, exponent), exponent };
}

/** Negative when the first is smaller, 0 when both are equal. */
function compareDecimals(one: Decimal, other: Decimal): number {
  const exponent = Math.min(one.exponent, other.exponent);
  const difference = scaled(one, exponent) - scaled(other, exponent);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

const scaled = ({ digits, exponent }: Decimal, to: number): bigint =>
  exponent === to ? digits : digits * 10n ** BigInt(exponent - to);

/** The number as JSON, without an exponent where JavaScript writes none, and without trailing zeros. */
export function printDecimal({ digits, exponent }: Decimal): string {
  const [significant, power] = significand(`${digits}e${exponent}`);
  const sign = digits < 0n ? "-" : "";
  /** How many digits are before the decimal point. */
  const whole = significant.length + power;
  if (whole > 21 || whole < -5) {
    const [first = "", rest] = [significant[0], significant.slice(1)];
    return `${sign}${first}${rest === "" ? "" : `.${rest}`}e${whole - 1}`;
  }
  if (power >= 0) return `${sign}${significant}${"0".repeat(power)}`;
  if (whole <= 0) return `${sign}0.${"0".repeat(-whole)}${significant}`;
  return `${sign}${significant.slice(0, whole)}.${significant.slice(whole)}`;
}

/** Integers of this length, and their sum, are exact as doubles. */
const smallInteger = /^-?\d{1,15}$/;

/** Returns the sum of two JSON numbers as a JSON number. */
export function addLiterals(one: string, other: string): string {
  if (smallInteger.test(one) && smallInteger.test(other))
    return String(Number(one) + Number(other));
  return printDecimal(addDecimals(parseDecimal(one), parseDecimal(other)));
}

/** Compares two JSON numbers by value. */
export function compareLiterals(one: string, other: string): number {
  if (smallInteger.test(one) && smallInteger.test(other)) return Number(one) - Number(other);
  return compareDecimals(parseDecimal(one), parseDecimal(other));
}
