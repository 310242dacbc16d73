// Reduces Unicode to the alphabet of a pattern: characters that are in the same character sets become one letter.

import { boundariesOf, boundariesOfProperty, isSurrogate, propertiesIn } from "./properties.ts";

/** Maps the source of a character set to its letters, one bit for each letter. */
export type Alphabet = (source: string) => bigint;

export const everyLetter = -1n;

const escapedCharacter = /\\u\{?([0-9a-fA-F]{1,6})\}?|\\x([0-9a-fA-F]{2})/g;

/**
 * The alphabet is exact for all of Unicode: it tests one character of every run of characters that no
 * set divides. `flags` are the flags of the regular expression.
 */
export function alphabetOf(pattern: string, sources: readonly string[], flags: string): Alphabet {
  const setFlags = flags.replace(/[^isuv]/g, "");
  const sets = sources.map((source) => new RegExp(`^(?:${source})$`, setFlags));
  // Only properties, and the case of letters beyond ASCII, have boundaries that are not written in the pattern.
  const isFolded = flags.includes("i") && !/^[ -~]*$/.test(pattern.replace(escapedCharacter, "é"));
  const opaque = isFolded ? sources : sources.filter((source) => /\\p/i.test(source));
  const hidden =
    flags.includes("i") || !flags.includes("u")
      ? boundariesOf(opaque, setFlags)
      : propertiesIn(pattern).flatMap(boundariesOfProperty);
  const points = new Set([...writtenIn(pattern), ...hidden]);
  const letters = new Map<string, readonly boolean[]>();
  for (const point of points) {
    if (point < 0 || point > 0x10ffff) continue;
    // In well-formed text, a lone surrogate is a character only for an expression without the flag `u`.
    if (isSurrogate(point) && flags.includes("u")) continue;
    const sample = String.fromCodePoint(point);
    const row = sets.map((set) => set.test(sample));
    letters.set(row.map(Number).join(""), row);
  }
  const rows = [...letters.values()];
  const masks = new Map(
    sources.map((source, index) => [
      source,
      rows.reduce((mask, row, bit) => (row[index] ? mask | (1n << BigInt(bit)) : mask), 0n),
    ]),
  );
  return (source) => masks.get(source) ?? everyLetter;
}

/** Whitespace above U+02FF, including the line breaks that `.` does not match, and the Kelvin sign, which folds to k. */
const special = [0x1680, 0x2000, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x212a, 0x3000, 0xfeff];

/** The code points at which sets begin or end, as far as they are written in the pattern. */
function* writtenIn(pattern: string): Generator<number> {
  const written = Array.from(pattern, (character) => character.codePointAt(0) ?? 0);
  const escaped = [...pattern.matchAll(escapedCharacter)].map(([, one, other]) =>
    Number.parseInt(one ?? other ?? "0", 16),
  );
  for (const point of [...written, ...escaped, ...special]) yield* [point - 1, point, point + 1];
  for (let point = 0; point < 0x300; point++) yield point;
}
