// Matches and ranks resources by the words of a search. The ranks are the same on every engine.

import { type IndexPlan, searchTextsOf } from "../../model/query/index-plan.ts";
import type { Candidate, Word } from "../../model/query/query.ts";
import { rankOf, termOf } from "../../model/query/rank.ts";
import { byRank, TopMatches } from "./top-matches.ts";

/** The rank of each resource, by its seq. */
export type Ranks = ReadonlyMap<number, number>;

/** Returns the term whose rows, in their order, are the results of a search; undefined when it has several. */
export function onlyTerm(words: readonly Word[]): string | undefined {
  const [word, ...more] = words;
  return word && more.length === 0 ? termOf(word) : undefined;
}

/** Returns the first seqs by rank. */
export function bestOf(ranks: Ranks, count: number): readonly number[] {
  const best = new TopMatches(count, byRank);
  for (const [seq, rank] of ranks) best.add({ keys: [], seq, rank });
  return best.sorted().map(({ seq }) => seq);
}

/** Ranks the candidates that contain all words. */
export function ranksOf(
  candidates: readonly Candidate[],
  words: readonly Word[],
  plan: IndexPlan,
): Ranks {
  const ranks = new Map<number, number>();
  for (const { seq, resource } of candidates) {
    const rank = rankOf(words, searchTextsOf(plan, resource));
    if (rank !== undefined) ranks.set(seq, rank);
  }
  return ranks;
}
