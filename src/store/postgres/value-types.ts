// How values are sent to the server and read from it.

/** Every bigint becomes a number: counters stay far below 2^53. */
export const types = {
  number: { to: 20, from: [20], serialize: String, parse: Number },
  numbers: { to: 1016, from: [1016], serialize: numberArray, parse: String },
  text: { to: 25, from: [25], serialize: withoutNul, parse: String },
  texts: { to: 1009, from: [1009], serialize: textArray, parse: String },
};

/** Postgres text cannot contain NUL. No stored value has one, so a lookup with one must find nothing. */
const insteadOfNul = "\uffff";

function withoutNul(text: unknown): string {
  return String(text).replaceAll("\0", insteadOfNul);
}

function textArray(texts: readonly (string | null)[]): string {
  return `{${texts.map((text) => (text === null ? "NULL" : `"${quoted(text)}"`)).join()}}`;
}

/** Most ids and keys need no quotes inside. */
const quoted = (text: string): string =>
  /["\\\0]/.test(text) ? withoutNul(text).replaceAll("\\", "\\\\").replaceAll('"', '\\"') : text;

function numberArray(numbers: readonly (number | null)[]): string {
  return `{${numbers.map((number) => number ?? "NULL").join()}}`;
}
