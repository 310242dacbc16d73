// Matches and ranks resources by the words of a search. The ranks are the same on every engine.

import { type IndexPlan, searchTextsOf } from "../../model/query/index-plan.ts";
import { type Candidate, isRanked, type Query, type Word } from "../../model/query/query.ts";
import { rankOf, termOf } from "../../model/query/rank.ts";

/** The rank of each resource, by its seq. */
export type Ranks = ReadonlyMap<number, number>;

/** Returns the term whose rows, in their order, are the results of a search; undefined when it has several. */
export function onlyTerm(words: readonly Word[]): string | undefined {
  const [word, ...more] = words;
  return word && more.length === 0 ? termOf(word) : undefined;
}

type Ranked = readonly [seq: number, rank: number];

/** The best rank comes first; among equal ranks, the resource that was created first. */
const compare = ([seq, rank]: Ranked, [otherSeq, otherRank]: Ranked): number =>
  otherRank - rank || seq - otherSeq;

/** Returns the seqs by rank, the best first. */
export const byRank = (ranks: Ranks): number[] => [...ranks].sort(compare).map(([seq]) => seq);

/** Returns the first seqs by rank, and sorts only as many as needed. */
export function bestOf(ranks: Ranks, count: number): readonly number[] {
  let best: Ranked[] = [];
  let last: Ranked | undefined;
  for (const ranked of ranks) {
    if (last && compare(ranked, last) > 0) continue;
    best.push(ranked);
    if (best.length < 2 * count + 100) continue;
    best = best.sort(compare).slice(0, count);
    last = best.at(-1);
  }
  return best
    .sort(compare)
    .slice(0, count)
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
  const seqs = isRanked(query) ? byRank(ranks) : [...ranks.keys()];
  return seqs.flatMap((seq) => bySeq.get(seq) ?? []);
}

/** Ranks the candidates that contain all words. */
export function ranksOf(
  candidates: readonly Candidate[],
  words: readonly Word[],
  plan: IndexPlan,
): Map<number, number> {
  const ranks = new Map<number, number>();
  for (const { seq, resource } of candidates) {
    const rank = rankOf(words, searchTextsOf(plan, resource));
    if (rank !== undefined) ranks.set(seq, rank);
  }
  return ranks;
}
