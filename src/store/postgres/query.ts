// Queries: each on the way that the collection's plan has for it.

import type { Rules } from "../../model/collection.ts";
import { type Plan, planOf } from "../../model/list/plan.ts";
import type { Query } from "../../model/list/query.ts";
import type { Broad, Found } from "../store.ts";
import { chooseSource, selectFrom, sourcesFor } from "./candidates.ts";
import type { Sql } from "./connection.ts";
import { search } from "./search.ts";
import { walkAlong, walkFor, walkResources } from "./walk.ts";

/** Sends what is asked on one of the connections that read. */
type Read = <T>(send: (sql: Sql) => Promise<T>) => Promise<T>;
type Reply = Found | Broad | undefined;

export class Querying {
  readonly #read: Read;
  readonly #maxCandidates: number;
  readonly #plans = new WeakMap<Rules, Plan>();

  constructor(read: Read, maxCandidates: number) {
    this.#read = read;
    this.#maxCandidates = maxCandidates;
  }

  /** Rules may have changed meanwhile: then the answer says so, and it is asked again by the new ones. */
  async query(name: string, query: Query, rules: Rules): Promise<Reply> {
    const reply = await this.#ask(name, query, this.#planOf(rules));
    if (!reply || reply.collection.definition === rules.definition) return reply;
    return this.query(name, query, { version: -1, definition: reply.collection.definition });
  }

  #planOf(rules: Rules): Plan {
    const plan = this.#plans.get(rules) ?? planOf(rules.definition);
    this.#plans.set(rules, plan);
    return plan;
  }

  #ask(name: string, query: Query, plan: Plan): Promise<Reply> {
    const { conditions, words, sortings } = query;
    const walk = walkFor(plan, query);
    if (walk) return this.#read((sql) => walkAlong(sql, name, walk, query));
    // The words that are kept may be older than the rule that hides a field, so each is looked at.
    const isChecked = words.length > 0 && plan.hiding !== undefined;
    if (conditions.length > 0 || sortings.length > 0 || isChecked)
      return this.#select(name, query, plan);
    return this.#read((sql) =>
      words.length > 0 ? search(sql, name, query) : walkResources(sql, name, query),
    );
  }

  async #select(name: string, query: Query, plan: Plan): Promise<Reply> {
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
