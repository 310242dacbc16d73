// Whether a number survives readers that keep numbers as doubles, as nearly all of them do.

/** Any 15 significant digits survive, so a literal this short does when it has no exponent. */
export const exactChars = 15;

/** Whether the nearest double, written as briefly as it can be, is the same decimal. */
export function isExact(literal: string): boolean {
  const value = Number(literal);
  const shortest = String(value);
  if (shortest === literal) return true;
  return Number.isFinite(value) && normalise(shortest) === normalise(literal);
}

const shape = /^-?(?<whole>\d+)(?:\.(?<fraction>\d+))?(?:[eE](?<exponent>[+-]?\d+))?$/;

/**
 * Whether a number is a whole multiple of another, decided on their decimals. A number that `isExact`
 * is the shortest decimal of its double, so nothing is lost by having parsed it.
 */
export function isMultipleOf(value: number, step: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(step)) return value % step === 0;
  const [digits, exponent] = decimalOf(String(value));
  const [stepDigits, stepExponent] = decimalOf(String(step));
  const shift = exponent - stepExponent;
  const scale = 10n ** BigInt(Math.abs(shift));
  return shift >= 0
    ? (BigInt(digits) * scale) % BigInt(stepDigits) === 0n
    : BigInt(digits) % (BigInt(stepDigits) * scale) === 0n;
}

/** `1.50`, `15e-1` and `0.15E1` are one decimal. */
const normalise = (literal: string): string => decimalOf(literal).join("e");

/** The significant digits as a whole number, and the power of ten that it is multiplied by. */
function decimalOf(literal: string): readonly [digits: string, exponent: number] {
  const { whole = "", fraction = "", exponent = "0" } = shape.exec(literal)?.groups ?? {};
  const digits = whole + fraction;
  // Loops, because /0+$/ takes quadratic time on a long row of zeros with a digit behind it.
  let start = 0;
  while (digits[start] === "0") start++;
  let end = digits.length;
  while (end > start && digits[end - 1] === "0") end--;
  if (start === end) return ["0", 0];
  return [digits.slice(start, end), Number(exponent) - fraction.length + digits.length - end];
}
