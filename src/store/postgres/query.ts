// Chooses how a query is answered: with an index scan, a search, or by filtering candidates.

import type { Rules } from "../../model/collection.ts";
import { type IndexPlan, indexPlanOf } from "../../model/query/index-plan.ts";
import type { Query } from "../../model/query/query.ts";
import type { QueryResult, TooBroad } from "../store.ts";
import { chooseSource, selectFrom, sourcesFor } from "./candidates.ts";
import type { Sql } from "./connection.ts";
import { scanFor, scanIndex, scanResources } from "./index-scan.ts";
import { search } from "./search.ts";

/** Runs statements on one of the connections for reads. */
type Read = <T>(send: (sql: Sql) => Promise<T>) => Promise<T>;
type Reply = QueryResult | TooBroad | undefined;

export class QueryRunner {
  readonly #read: Read;
  readonly #maxCandidates: number;
  readonly #plans = new WeakMap<Rules, IndexPlan>();

  constructor(read: Read, maxCandidates: number) {
    this.#read = read;
    this.#maxCandidates = maxCandidates;
  }

  /** Runs the query again when the result shows that the definition has changed. */
  async query(name: string, query: Query, rules: Rules): Promise<Reply> {
    const reply = await this.#ask(name, query, this.#planOf(rules));
    if (!reply || reply.collection.definition === rules.definition) return reply;
    return this.query(name, query, { version: -1, definition: reply.collection.definition });
  }

  #planOf(rules: Rules): IndexPlan {
    const plan = this.#plans.get(rules) ?? indexPlanOf(rules.definition);
    this.#plans.set(rules, plan);
    return plan;
  }

  #ask(name: string, query: Query, plan: IndexPlan): Promise<Reply> {
    const { conditions, words, sortings } = query;
    const scan = scanFor(plan, query);
    if (scan) return this.#read((sql) => scanIndex(sql, name, scan, query));
    // Stored words can be older than the rule that hides a field, so each result is checked.
    const isChecked = words.length > 0 && plan.hidden !== undefined;
    if (conditions.length > 0 || sortings.length > 0 || isChecked)
      return this.#select(name, query, plan);
    return this.#read((sql) =>
      words.length > 0 ? search(sql, name, query) : scanResources(sql, name, query),
    );
  }

  async #select(name: string, query: Query, plan: IndexPlan): Promise<Reply> {
    const limit = this.#maxCandidates;
    const sources = sourcesFor(plan, query);
    const [only, ...more] = sources;
    const source =
      only && more.length === 0
        ? only
        : await this.#read((sql) => chooseSource(sql, name, sources, limit + 1));
    return this.#read((sql) => selectFrom(sql, name, { plan, source, limit }, query));
  }
}
