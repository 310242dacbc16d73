// Checks resources one by one: whether they match, and where they are in the order of a query.

import { IndexedContent, type IndexPlan, searchTextsOf } from "../../model/query/index-plan.ts";
import { holds, type Predicate } from "../../model/query/predicate.ts";
import type { Candidate, Query } from "../../model/query/query.ts";
import { rankOf } from "../../model/query/rank.ts";
import type { Running } from "./filter-reads.ts";
import { candidateWork, runEachInTurns } from "./in-turns.ts";
import { RelatedResources } from "./related-resources.ts";
import type { Ranks } from "./search.ts";
import { type Match, positionOf } from "./top-matches.ts";

export class Checker {
  readonly #plan: IndexPlan;
  readonly #query: Query;
  readonly #related: RelatedResources | undefined;
  /** How many resources were checked. */
  checked = 0;

  constructor(plan: IndexPlan, query: Query) {
    this.#plan = plan;
    this.#query = query;
    this.#related = RelatedResources.of(query);
  }

  /** Visits the matches among these resources. */
  *visit(
    candidates: readonly Candidate[],
    predicates: readonly Predicate[],
    visit: (match: Match) => void,
    ranks?: Ranks,
  ): Running<void> {
    if (this.#related !== undefined)
      yield* this.#related.load(candidates.map((candidate) => this.contentOf(candidate)));
    yield* runEachInTurns(candidates, candidateWork, (candidate) => {
      const match = this.check(candidate, predicates, ranks);
      if (match !== undefined) visit(match);
    });
  }

  /** Returns undefined when the resource does not match. */
  protected check(
    candidate: Candidate,
    predicates: readonly Predicate[],
    ranks?: Ranks,
  ): Match | undefined {
    this.checked++;
    const content = this.contentOf(candidate);
    for (const predicate of predicates) if (!holds(predicate, content)) return undefined;
    const rank = this.rankOf(candidate, ranks);
    return rank === undefined ? undefined : this.matchOf(candidate, content, rank);
  }

  matchOf(candidate: Candidate, content = this.contentOf(candidate), rank = 0): Match {
    const related = this.#related;
    if (related === undefined) return { ...positionOf(candidate, this.#query, content), rank };
    const keys = this.#query.sortings.map((sorting) => related.keyOf(sorting, content));
    return { keys, seq: candidate.seq, rank };
  }

  protected contentOf({ resource }: Candidate): IndexedContent {
    return new IndexedContent(resource, this.#related);
  }

  /** Returns undefined when the resource does not contain the words. */
  protected rankOf({ seq, resource }: Candidate, ranks: Ranks | undefined): number | undefined {
    const { words } = this.#query;
    if (words.length === 0) return 0;
    if (ranks !== undefined) return ranks.get(seq);
    return rankOf(words, searchTextsOf(this.#plan, resource));
  }
}
