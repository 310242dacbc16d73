// The alphabet of a pattern: characters that none of its sets tells apart are one letter.

/** The letters of a set, one bit for each; the set is given by its source. */
export type Alphabet = (source: string) => bigint;

export const everyLetter = -1n;

const escapedCharacter = /\\u\{?([0-9a-fA-F]{1,6})\}?|\\x([0-9a-fA-F]{2})/g;

/**
 * The alphabet is exact over all of Unicode: it tries one character of every run of characters that
 * no set divides. `flags` are those of the expression.
 */
export function alphabetOf(pattern: string, sources: readonly string[], flags: string): Alphabet {
  const setFlags = flags.replace(/[^isuv]/g, "");
  const sets = sources.map((source) => new RegExp(`^(?:${source})$`, setFlags));
  // Only properties, and the case of letters beyond ASCII, have boundaries that the pattern does not name.
  const isFolded = flags.includes("i") && !/^[ -~]*$/.test(pattern.replace(escapedCharacter, "é"));
  const opaque = isFolded ? sources : sources.filter((source) => /\\p/i.test(source));
  const points = new Set([...writtenIn(pattern), ...boundariesOf(opaque, setFlags)]);
  const letters = new Map<string, readonly boolean[]>();
  for (const point of points) {
    if (point < 0 || point > 0x10ffff) continue;
    // In a well-formed text, half a surrogate pair is a character only to an expression without `u`.
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

const isSurrogate = (point: number): boolean => point >= 0xd800 && point <= 0xdfff;

/** White space beyond U+02FF, which includes the line breaks that `.` does not take; and the Kelvin sign, a k. */
const special = [0x1680, 0x2000, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x212a, 0x3000, 0xfeff];

/** Where the sets of a pattern begin or end, as far as the pattern says so itself. */
function* writtenIn(pattern: string): Generator<number> {
  const written = Array.from(pattern, (character) => character.codePointAt(0) ?? 0);
  const escaped = [...pattern.matchAll(escapedCharacter)].map(([, one, other]) =>
    Number.parseInt(one ?? other ?? "0", 16),
  );
  for (const point of [...written, ...escaped, ...special]) yield* [point - 1, point, point + 1];
  for (let point = 0; point < 0x300; point++) yield point;
}

/** So many characters are looked at in one go. */
const blockSize = 0x1000;

/** The first character of every run that lies in one of the sets, and the first after it. */
function* boundariesOf(sources: readonly string[], flags: string): Generator<number> {
  if (sources.length === 0) return;
  const runs = sources.map((source) => new RegExp(`(?:${source})+`, `g${flags}`));
  for (let start = 0; start <= 0x10ffff; start += blockSize) {
    const points = Array.from({ length: blockSize }, (_, index) => start + index);
    const block = String.fromCodePoint(...points.filter((point) => !isSurrogate(point)));
    for (const run of runs)
      for (const { 0: found, index } of block.matchAll(run)) {
        yield block.codePointAt(index) ?? start;
        yield block.codePointAt(index + found.length) ?? start + blockSize;
      }
  }
}
