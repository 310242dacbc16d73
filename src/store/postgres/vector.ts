// Words as Postgres keeps them. They are divided by us, so that every server divides them alike.

import type { Word } from "../../model/query/query.ts";

/** A longer word is found by its beginning: Postgres takes up to 2,046 bytes. */
const maxWordLength = 500;
/** As many places of one word count for its rank; Postgres takes up to 256, up to the 16,383rd word. */
const maxPlaces = 200;
const lastPlace = 16_383;
/** What is beyond is not found: Postgres takes up to 1 MB. */
const maxVectorBytes = 900_000;
/** Four bytes for a letter at most; and what Postgres needs for each word and each of its places. */
const bytesOf = (word: string): number => 4 * word.length + 8;
const bytesPerPlace = 2;

const cut = (word: string): string => word.slice(0, maxWordLength);

/** Stands among the words of every resource of a collection; no word has such a sign. */
const collectionWord = (key: number): string => `'#${key}'`;

/** The text of a `tsvector`, for words that are divided by spaces. */
export function vectorOf(collection: number, words: string): string {
  const places = new Map<string, number[]>();
  let bytes = 0;
  for (const [index, each] of words.split(" ").entries()) {
    const word = cut(each);
    const known = places.get(word);
    if (known && known.length >= maxPlaces) continue;
    bytes += known ? bytesPerPlace : bytesOf(word) + bytesPerPlace;
    if (bytes > maxVectorBytes) break;
    const place = Math.min(index + 1, lastPlace);
    if (known) known.push(place);
    else places.set(word, [place]);
  }
  places.delete("");
  const found = [...places].map(([word, at]) => `'${word}':${at.join()}`);
  return [collectionWord(collection), ...found].join(" ");
}

/** The text of a `tsquery` that all words must fit. */
export const searchOf = (words: readonly Word[]): string =>
  words.map(({ text, isPrefix }) => `'${cut(text)}'${isPrefix ? ":*" : ""}`).join(" & ");
