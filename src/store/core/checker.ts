// Checks resources one by one: whether they match, and where they are in the order of a query.

import { IndexedContent, type IndexPlan, searchTextsOf } from "../../model/query/index-plan.ts";
import { holds, type Predicate } from "../../model/query/predicate.ts";
import type { Candidate, Query } from "../../model/query/query.ts";
import { rankOf } from "../../model/query/rank.ts";
import type { Ranks } from "./search.ts";
import { type Match, positionOf } from "./top-matches.ts";

export class Checker {
  readonly #plan: IndexPlan;
  readonly #query: Query;
  /** How many resources were checked. */
  checked = 0;

  constructor(plan: IndexPlan, query: Query) {
    this.#plan = plan;
    this.#query = query;
  }

  /** Returns undefined when the resource does not match. */
  check(candidate: Candidate, predicates: readonly Predicate[], ranks?: Ranks): Match | undefined {
    this.checked++;
    const content = new IndexedContent(candidate.resource);
    for (const predicate of predicates) if (!holds(predicate, content)) return undefined;
    const rank = this.rankOf(candidate, ranks);
    return rank === undefined ? undefined : this.matchOf(candidate, content, rank);
  }

  matchOf(candidate: Candidate, content?: IndexedContent, rank = 0): Match {
    return { ...positionOf(candidate, this.#query, content), rank };
  }

  /** Returns undefined when the resource does not contain the words. */
  protected rankOf({ seq, resource }: Candidate, ranks: Ranks | undefined): number | undefined {
    const { words } = this.#query;
    if (words.length === 0) return 0;
    if (ranks !== undefined) return ranks.get(seq);
    return rankOf(words, searchTextsOf(this.#plan, resource));
  }
}
