// Many resources created by one request: each on its own, or all of them together.

import type { Rules } from "../model/collection.ts";
import type { Draft } from "../model/draft.ts";
import { newId } from "../model/id.ts";
import { Problem } from "../model/problem.ts";
import type { Resource } from "../model/resource.ts";
import { isAdmin } from "../model/token.ts";
import type { Change, IdempotencyKey, Outcome, Put, Store } from "../store/store.ts";
import { type Caller, isOwned, requirePermission } from "./access.ts";
import { conflictIn, impossible, lacksCollection, retryOnConflict } from "./outcomes.ts";
import { collectionNotFound, createdAndGone, keyReused, requireKey } from "./problems.ts";
import { judgedBy } from "./resources.ts";
import { accept } from "./validate.ts";

/** A draft that could not be stored, and why; by its place among them all. */
export interface BulkRefused {
  readonly index: number;
  readonly problem: Problem;
}

export interface BulkResult {
  readonly resources: readonly Resource[];
  /** The answer to the same request, which came before. */
  readonly isReplay: boolean;
}

/** What is the same for all that is created at once. */
interface Terms {
  readonly caller: Caller;
  readonly collection: string;
  readonly rules: Rules | undefined;
}

/** One of many, with the id that it will have. */
interface Item {
  readonly index: number;
  readonly id: string;
  readonly draft: Draft;
}

export class BulkCreate {
  readonly #store: Store;
  readonly #clock: () => number;
  readonly #base: string;

  /** With `base` begin the addresses of resources. */
  constructor(store: Store, clock: () => number, base: string) {
    this.#store = store;
    this.#clock = clock;
    this.#base = base;
  }

  /** One commit for all, in which each is judged on its own; in the same order. */
  async create(
    caller: Caller,
    collection: string,
    drafts: readonly Draft[],
  ): Promise<readonly (Resource | Problem)[]> {
    const settled: (Resource | Problem)[] = [];
    let open = itemsOf(drafts);
    await retryOnConflict(async () => {
      const terms = { caller, collection, rules: await this.#store.rules(collection) };
      const { puts, items, refused } = this.#judge(terms, open);
      for (const { index, problem } of refused) settled[index] = problem;
      const outcomes = puts.length === 0 ? [] : await this.#commit(terms, puts);
      open = items.filter(({ index }, at) => {
        const end = endOf(outcomes[at]);
        if (end !== undefined) settled[index] = end;
        return end === undefined;
      });
      return open.length === 0 ? true : undefined;
    });
    return settled;
  }

  /** All of them or none. What is wrong with each that is wrong is told at once. */
  async createAtomic(
    caller: Caller,
    collection: string,
    drafts: readonly Draft[],
    once?: IdempotencyKey,
  ): Promise<BulkResult | readonly BulkRefused[] | Problem> {
    const all = itemsOf(drafts);
    return retryOnConflict(async () => {
      const terms = { caller, collection, rules: await this.#store.rules(collection) };
      const { puts, refused } = this.#judge(terms, all, once?.key);
      const isHopeless = refused.length > 0;
      if (isHopeless && once === undefined) return refused;
      // A retry must get the first answer also where other rules hold by now.
      const changes = isHopeless ? [impossible] : puts;
      const unit: Change = { kind: "all", changes, ...(once && { once }) };
      const [outcome] = await this.#store.commit([unit]);
      if (outcome?.kind === "all") return doneBy(outcome);
      if (outcome?.kind === "reused") return keyReused;
      if (outcome?.kind === "gone") return createdAndGone;
      if (isHopeless) return refused;
      const conflict = outcome && conflictIn(outcome);
      if (outcome?.kind === "none" && conflict)
        return [{ index: outcome.index, problem: conflict }];
      if (mayFound(terms) && lacksCollection(outcome, puts)) await this.#found(collection);
      return undefined;
    });
  }

  #judge(
    terms: Terms,
    items: readonly Item[],
    key?: string,
  ): {
    readonly puts: readonly Put[];
    readonly items: readonly Item[];
    readonly refused: readonly BulkRefused[];
  } {
    const { caller, collection, rules } = terms;
    const forbidden =
      (rules === undefined && !mayFound(terms) ? collectionNotFound(collection) : undefined) ??
      requireKey(rules, key) ??
      requirePermission(caller, collection, "create", rules);
    const at = this.#clock();
    const owner = isOwned(rules) && caller !== undefined ? { owner: caller.id } : {};
    const common = { kind: "put", collection, at, expect: "nothing", ...owner } as const;
    const judged = judgedBy(rules);
    const puts: Put[] = [];
    const accepted: Item[] = [];
    const refused: BulkRefused[] = [];
    for (const item of items) {
      const { index, id, draft } = item;
      const site = { address: `${this.#base}/${collection}/${id}`, current: undefined };
      const content = forbidden ?? accept(caller, rules, draft.fields, site);
      if (content instanceof Problem) refused.push({ index, problem: content });
      else {
        puts.push({ ...common, id, ...content, ...judged });
        accepted.push(item);
      }
    }
    return { puts, items: accepted, refused };
  }

  /** An admin's first brings the collection into being. */
  async #commit(terms: Terms, puts: readonly Put[]): Promise<readonly Outcome[]> {
    const { rules, collection } = terms;
    if (rules !== undefined) return this.#store.commit(puts);
    const found = { kind: "found", collection, at: this.#clock() } as const;
    return (await this.#store.commit([found, ...puts])).slice(1);
  }

  async #found(collection: string): Promise<void> {
    await this.#store.commit([{ kind: "found", collection, at: this.#clock() }]);
  }
}

const itemsOf = (drafts: readonly Draft[]): readonly Item[] =>
  drafts.map((draft, index) => ({ index, id: newId(), draft }));

const mayFound = ({ caller }: Terms): boolean => caller !== undefined && isAdmin(caller);

/** Undefined when it has to be judged again. */
function endOf(outcome: Outcome | undefined): Resource | Problem | undefined {
  if (outcome?.kind === "created") return outcome.resource;
  return outcome && conflictIn(outcome);
}

function doneBy({ outcomes, isReplay }: Extract<Outcome, { kind: "all" }>): BulkResult {
  const resources = outcomes.map((outcome) => {
    if (outcome.kind === "created") return outcome.resource;
    throw new Error(`what was created together cannot hold ${outcome.kind}`);
  });
  return { resources, isReplay };
}
