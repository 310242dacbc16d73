// Finds where sets of characters begin and end in Unicode: for each Unicode property once.

const escapeSequence = /\\(?:[pP]\{[\w=]*\}|.)/gs;

/** The properties that a pattern names, such as `\p{L}`. A property and its complement are the same one. */
export const propertiesIn = (pattern: string): readonly string[] => [
  ...new Set(
    Array.from(pattern.matchAll(escapeSequence), ([found]) => found)
      .filter((found) => /^\\p\{/i.test(found))
      .map((found) => found.replace("\\P", "\\p")),
  ),
];

/** There are some hundred properties, with some thousand boundaries at most. */
const known = new Map<string, readonly number[]>();

/** Goes through all of Unicode when the property is asked for the first time. */
export function boundariesOfProperty(property: string): readonly number[] {
  const boundaries = known.get(property) ?? [...boundariesOf([property], "u")];
  known.set(property, boundaries);
  return boundaries;
}

/** The number of characters that are tested at a time. */
const blockSize = 0x1000;

/** The first character of every run in one of the sets, and the first character after it. */
export function* boundariesOf(sources: readonly string[], flags: string): Generator<number> {
  if (sources.length === 0) return;
  const runs = sources.map((source) => new RegExp(`(?:${source})+`, `g${flags}`));
  for (let start = 0; start <= 0x10ffff; start += blockSize) {
    const points = Array.from({ length: blockSize }, (_, index) => start + index);
    const block = String.fromCodePoint(...points.filter((point) => !isSurrogate(point)));
    for (const expression of runs)
      for (const { 0: run, index } of block.matchAll(expression)) {
        yield block.codePointAt(index) ?? start;
        yield block.codePointAt(index + run.length) ?? start + blockSize;
      }
  }
}

export const isSurrogate = (point: number): boolean => point >= 0xd800 && point <= 0xdfff;
