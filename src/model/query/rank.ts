// Weighs the words of a resource's searchable fields, and ranks the resource by the words of a search.

import type { SearchText } from "./index-plan.ts";
import type { Word } from "./query.ts";

/** Longer words are cut, in texts and in searches. */
const maxWordLength = 200;
/** Further different words of a resource are not searchable, so that it has a bounded number of rows. */
const maxWords = 10_000;
/** Weights are integers, so that every engine adds them up exactly. */
const weightUnit = 100_000;
/** Prefixes of up to this many characters are stored as terms. */
const maxStoredPrefix = 2;

/**
 * Returns the weight of each term of a resource. A term is a word, or a short prefix with `*` after it,
 * which has the weights of its words together.
 */
export function termsIn(texts: readonly SearchText[]): ReadonlyMap<string, number> {
  const words = weightsIn(texts);
  const terms = new Map(words);
  for (const [word, weight] of words)
    for (const prefix of storedPrefixes(word)) {
      const term = `${prefix}*`;
      terms.set(term, (terms.get(term) ?? 0) + weight);
    }
  return terms;
}

/** Returns the term that finds the same as a word of a search; undefined for a longer prefix. */
export function termOf({ text, isPrefix }: Word): string | undefined {
  if (!isPrefix) return cutWord(text);
  return storedPrefixes(text).at(-1) === text ? `${text}*` : undefined;
}

/** The range of the terms that a word of a search finds; `to` is excluded. */
export function termSpan(word: Word): { readonly from: string; readonly to: string } {
  const term = termOf(word);
  if (term !== undefined) return { from: term, to: `${term}${firstCharacter}` };
  const from = cutWord(word.text);
  return { from, to: `${from}${lastCharacter}` };
}

/** They sort before and after every character of a term. */
const firstCharacter = "\u{1}";
const lastCharacter = "\u{10ffff}";

/**
 * The rank of a resource is the sum of the weights of the words that each word of the search matches;
 * higher is better. Undefined when one matches nothing.
 */
export function rankOf(words: readonly Word[], texts: readonly SearchText[]): number | undefined {
  const weights = weightsIn(texts);
  let rank = 0;
  for (const word of words) {
    const weight = weightOf(word, weights);
    if (weight === undefined) return undefined;
    rank += weight;
  }
  return rank;
}

function weightOf(
  { text, isPrefix }: Word,
  weights: ReadonlyMap<string, number>,
): number | undefined {
  const cut = cutWord(text);
  if (!isPrefix) return weights.get(cut);
  let sum: number | undefined;
  for (const [word, weight] of weights) if (word.startsWith(cut)) sum = (sum ?? 0) + weight;
  return sum;
}

/** Returns the weight of each different word: the sum of its weights in the fields. */
function weightsIn(texts: readonly SearchText[]): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const { text, weight } of texts) {
    const tokens = text.split(" ");
    for (const [word, occurrence] of occurrencesIn(tokens))
      if (weights.has(word) || weights.size < maxWords)
        weights.set(word, (weights.get(word) ?? 0) + weightIn(weight, occurrence, tokens.length));
  }
  return weights;
}

interface Occurrence {
  hits: number;
  /** The number of words before the first hit. */
  readonly first: number;
}

function occurrencesIn(tokens: readonly string[]): ReadonlyMap<string, Occurrence> {
  const occurrences = new Map<string, Occurrence>();
  for (const [index, token] of tokens.entries()) {
    if (token === "") continue;
    const word = cutWord(token);
    const known = occurrences.get(word);
    if (known) known.hits++;
    else occurrences.set(word, { hits: 1, first: index });
  }
  return occurrences;
}

/**
 * Many hits near the beginning of a short text count most. Only the text itself matters, so that the order
 * of results reveals nothing about resources that the caller may not see. Positions and lengths count by
 * their number of bits, so that most weights stay the same when a text is edited.
 */
function weightIn(fieldWeight: number, { hits, first }: Occurrence, length: number): number {
  const byHits = hits / (hits + 1);
  const byPosition = 1 + 1 / (1 + bitsOf(first));
  const byLength = 1 + bitsOf(length);
  return Math.round((fieldWeight * weightUnit * byHits * byPosition) / byLength);
}

const bitsOf = (number: number): number => 32 - Math.clz32(number);

/** Returns the prefixes of a word, the shortest first. Pairs of surrogates are not divided. */
function storedPrefixes(word: string): readonly string[] {
  const prefixes: string[] = [];
  let prefix = "";
  for (const character of word) {
    if (prefixes.length === maxStoredPrefix) break;
    prefix += character;
    prefixes.push(prefix);
  }
  return prefixes;
}

/** Pairs of surrogates are not divided. */
function cutWord(word: string): string {
  if (word.length <= maxWordLength) return word;
  const cut = word.slice(0, maxWordLength);
  return cut.isWellFormed() ? cut : cut.slice(0, -1);
}
