// Decides whether a JSON number keeps its value in a reader that uses doubles, as nearly all readers do.

/** A double holds any 15 significant digits, so a literal of this length without an exponent is exact. */
export const exactChars = 15;

/** Whether the shortest decimal of the nearest double equals the literal. */
export function isExact(literal: string): boolean {
  const value = Number(literal);
  const shortest = String(value);
  if (shortest === literal) return true;
  return Number.isFinite(value) && normalise(shortest) === normalise(literal);
}

const shape = /^-?(?<whole>\d+)(?:\.(?<fraction>\d+))?(?:[eE](?<exponent>[+-]?\d+))?$/;

/**
 * Whether a number is a whole multiple of another, computed on decimals. A number that `isExact` is the
 * shortest decimal of its double, so parsing loses nothing.
 */
export function isMultipleOf(value: number, step: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(step)) return value % step === 0;
  const [digits, exponent] = significand(String(value));
  const [stepDigits, stepExponent] = significand(String(step));
  const shift = exponent - stepExponent;
  const scale = 10n ** BigInt(Math.abs(shift));
  return shift >= 0
    ? (BigInt(digits) * scale) % BigInt(stepDigits) === 0n
    : BigInt(digits) % (BigInt(stepDigits) * scale) === 0n;
}

/** `1.50`, `15e-1` and `0.15E1` have the same normal form. */
const normalise = (literal: string): string => significand(literal).join("e");

/** The significant digits of a JSON number without its sign, as an integer, and its power of ten. */
export function significand(literal: string): readonly [digits: string, exponent: number] {
  const { whole = "", fraction = "", exponent = "0" } = shape.exec(literal)?.groups ?? {};
  const digits = whole + fraction;
  // Loops, because /0+$/ takes quadratic time on many zeros followed by another digit.
  let start = 0;
  while (digits[start] === "0") start++;
  let end = digits.length;
  while (end > start && digits[end - 1] === "0") end--;
  if (start === end) return ["0", 0];
  return [digits.slice(start, end), Number(exponent) - fraction.length + digits.length - end];
}
