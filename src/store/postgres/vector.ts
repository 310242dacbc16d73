// Builds tsvector and tsquery texts. Words are split here, so that every server splits them the same way.

import type { Word } from "../../model/query/query.ts";

/** Longer words are cut: Postgres allows up to 2,046 bytes. */
const maxWordLength = 500;
/** How many positions of a word count for its rank; Postgres allows 256, and positions up to 16,383. */
const maxPositions = 200;
const lastPosition = 16_383;
/** Words beyond this size are not searchable: Postgres allows up to 1 MB. */
const maxVectorBytes = 900_000;
/** At most four bytes per character, plus what Postgres needs per word and position. */
const bytesOf = (word: string): number => 4 * word.length + 8;
const bytesPerPosition = 2;

const cut = (word: string): string => word.slice(0, maxWordLength);

/** Added to the words of every resource of a collection; no other word contains `#`. */
const collectionWord = (key: number): string => `'#${key}'`;

/** Returns the text of a `tsvector` for words that are separated by spaces. */
export function vectorOf(collection: number, words: string): string {
  const positions = new Map<string, number[]>();
  let bytes = 0;
  for (const [index, each] of words.split(" ").entries()) {
    const word = cut(each);
    const known = positions.get(word);
    if (known && known.length >= maxPositions) continue;
    bytes += known ? bytesPerPosition : bytesOf(word) + bytesPerPosition;
    if (bytes > maxVectorBytes) break;
    const position = Math.min(index + 1, lastPosition);
    if (known) known.push(position);
    else positions.set(word, [position]);
  }
  positions.delete("");
  const found = [...positions].map(([word, at]) => `'${word}':${at.join()}`);
  return [collectionWord(collection), ...found].join(" ");
}

/** Returns the text of a `tsquery` that matches when all words do. */
export const searchOf = (words: readonly Word[]): string =>
  words.map(({ text, isPrefix }) => `'${cut(text)}'${isPrefix ? ":*" : ""}`).join(" & ");
