// How well a text fits the words of a search, judged by this text alone.

import type { Word } from "./query.ts";

/**
 * Higher is better: what says the words often and little else comes first. No other text counts, so
 * that the order of what a caller sees tells nothing of what it does not see. The words of the text
 * are divided by spaces.
 */
export function rankOf(words: readonly Word[], text: string): number {
  const said = text.split(" ");
  const count = said.filter((one) => words.some((word) => isSaid(word, one))).length;
  return count / (1 + Math.log(Math.max(1, said.length)));
}

/** Whether the text has all of the words. */
export function hasWords(words: readonly Word[], text: string): boolean {
  const said = text.split(" ");
  return words.every((word) => said.some((one) => isSaid(word, one)));
}

const isSaid = ({ text, isPrefix }: Word, said: string): boolean =>
  isPrefix ? said.startsWith(text) : said === text;
