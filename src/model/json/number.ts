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

/** `1.50`, `15e-1` and `0.15E1` are one decimal: its significant digits and where its point stands. */
function normalise(literal: string): string {
  const { whole = "", fraction = "", exponent = "0" } = shape.exec(literal)?.groups ?? {};
  const digits = whole + fraction;
  // Loops, because /0+$/ takes quadratic time on a long row of zeros with a digit behind it.
  let start = 0;
  while (digits[start] === "0") start++;
  let end = digits.length;
  while (end > start && digits[end - 1] === "0") end--;
  if (start === end) return "0";
  return `${digits.slice(start, end)}e${Number(exponent) + whole.length - start}`;
}
