// Weighs the words of a text, and ranks the text by how well it matches the words of a search.

import type { Word } from "./query.ts";

/** Longer words are cut, in texts and in searches. */
const maxWordLength = 200;
/** Further different words of a text are not searchable, so that one resource has a bounded number of rows. */
const maxWords = 10_000;
/** Weights are integers, so that every engine adds them up exactly. */
const weightUnit = 2 ** 20;

export const cutWord = (word: string): string => word.slice(0, maxWordLength);

/**
 * Returns the weight of each different word of a text, whose words are separated by spaces. Many hits in
 * a short text weigh most. Other texts do not count, so that the order of results reveals nothing about
 * resources that the caller may not see.
 */
export function weightsIn(text: string): ReadonlyMap<string, number> {
  const hits = new Map<string, number>();
  const tokens = text.split(" ").filter((token) => token !== "");
  for (const token of tokens) {
    const word = cutWord(token);
    const count = hits.get(word) ?? 0;
    if (count > 0 || hits.size < maxWords) hits.set(word, count + 1);
  }
  const unit = weightUnit / (1 + Math.log(Math.max(1, tokens.length)));
  return new Map([...hits].map(([word, count]) => [word, Math.round(count * unit)]));
}

/** The rank of a text is the sum of the weights that each word of the search matches; higher is better. */
export function rankOf(words: readonly Word[], text: string): number {
  let rank = 0;
  for (const [token, weight] of weightsIn(text))
    for (const word of words) if (matches(word, token)) rank += weight;
  return rank;
}

/** Whether the text contains all of the words. */
export function hasWords(words: readonly Word[], text: string): boolean {
  const tokens = [...weightsIn(text).keys()];
  return words.every((word) => tokens.some((token) => matches(word, token)));
}

const matches = ({ text, isPrefix }: Word, token: string): boolean =>
  isPrefix ? token.startsWith(cutWord(text)) : token === cutWord(text);
