// Ranks a text by how well it matches the words of a search.

import type { Word } from "./query.ts";

/**
 * Higher is better: many matches in a short text. Other texts do not count, so that the order reveals
 * nothing about resources that the caller may not see. The words of the text are separated by spaces.
 */
export function rankOf(words: readonly Word[], text: string): number {
  const tokens = text.split(" ");
  const count = tokens.filter((token) => words.some((word) => matches(word, token))).length;
  return count / (1 + Math.log(Math.max(1, tokens.length)));
}

/** Whether the text contains all of the words. */
export function hasWords(words: readonly Word[], text: string): boolean {
  const tokens = text.split(" ");
  return words.every((word) => tokens.some((token) => matches(word, token)));
}

const matches = ({ text, isPrefix }: Word, token: string): boolean =>
  isPrefix ? token.startsWith(text) : token === text;
