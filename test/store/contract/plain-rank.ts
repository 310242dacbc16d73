// A plain implementation of the rank of a search, straight from its documentation.

import { compareKeys } from "../../../src/model/query/sort-key.ts";

export interface PlainField {
  readonly weight: number;
  /** Lower-case words without punctuation, divided by single spaces. */
  readonly text: string;
}

/** Returns the rank, or undefined when one of the words is missing. A word with an asterisk is a prefix. */
export function plainRank(fields: readonly PlainField[], words: string): number | undefined {
  let rank = 0;
  for (const word of words.split(" ")) {
    const found = [...new Set(fields.flatMap(({ text }) => text.split(" ")))].filter((each) =>
      word.endsWith("*") ? each !== "" && each.startsWith(word.slice(0, -1)) : each === word,
    );
    if (found.length === 0) return undefined;
    for (const each of found.sort(compareKeys))
      for (const field of fields) rank += weightIn(field, each);
  }
  return rank;
}

function weightIn({ weight, text }: PlainField, word: string): number {
  const words = text.split(" ");
  const hits = words.filter((each) => each === word).length;
  if (hits === 0) return 0;
  const byHits = hits / (hits + 1);
  const byPosition = 1 + 1 / (1 + bits(words.indexOf(word)));
  const byLength = 1 + bits(words.length);
  return Math.round((weight * 100_000 * byHits * byPosition) / byLength);
}

/** The number of binary digits: 0 has none, 1 has one, 2 and 3 have two. */
const bits = (number: number): number => (number === 0 ? 0 : number.toString(2).length);
