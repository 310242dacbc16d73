// Matches and ranks resources by the words of a search. The ranks are the same on every engine.

import { type IndexPlan, searchTextOf } from "../../model/query/index-plan.ts";
import { type Candidate, isRanked, type Query, type Word } from "../../model/query/query.ts";
import { cutWord, hasWords, rankOf } from "../../model/query/rank.ts";
import type { Span } from "../../model/query/sort-key.ts";

/** The rank of each resource, by its seq. */
export type Ranks = ReadonlyMap<number, number>;

/** Sorts after every character of a word. */
const lastCharacter = "\u{10ffff}";

/** Returns the stored words that a prefix matches. */
export function prefixSpan({ text }: Word): Span {
  const from = cutWord(text);
  return { from, to: from + lastCharacter };
}

/** Returns the seqs by rank, the best first. */
export function byRank(ranks: Ranks, { isNewestFirst }: Pick<Query, "isNewestFirst">): number[] {
  const sign = isNewestFirst ? -1 : 1;
  return [...ranks]
    .sort(([seq, rank], [otherSeq, otherRank]) => otherRank - rank || sign * (seq - otherSeq))
    .map(([seq]) => seq);
}

/**
 * Returns the candidates that contain all words, best rank first when the query has no other order.
 * With the ranks of a stored search, the candidates are known to match.
 */
export function withWords(
  candidates: readonly Candidate[],
  query: Query,
  plan: IndexPlan,
  stored?: Ranks,
): readonly Candidate[] {
  const { words } = query;
  if (words.length === 0) return candidates;
  const ranks = stored ?? ranksOf(candidates, words, plan);
  const bySeq = new Map(candidates.map((candidate) => [candidate.seq, candidate]));
  const seqs = isRanked(query) ? byRank(ranks, query) : [...ranks.keys()];
  return seqs.flatMap((seq) => bySeq.get(seq) ?? []);
}

function ranksOf(candidates: readonly Candidate[], words: readonly Word[], plan: IndexPlan): Ranks {
  const ranks = new Map<number, number>();
  for (const { seq, resource } of candidates) {
    const text = searchTextOf(plan, resource);
    if (hasWords(words, text)) ranks.set(seq, rankOf(words, text));
  }
  return ranks;
}
