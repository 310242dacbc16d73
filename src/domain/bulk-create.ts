// Creates many resources with one request, each independently or all atomically.

import type { Rules } from "../model/collection.ts";
import type { Draft } from "../model/draft.ts";
import { newId } from "../model/id.ts";
import { Problem } from "../model/problem.ts";
import type { Resource } from "../model/resource.ts";
import { isAdmin } from "../model/token.ts";
import type { Change, IdempotencyKey, Outcome, Put, Store } from "../store/store.ts";
import { type Caller, isOwned, requirePermission } from "./access.ts";
import {
  conflictProblem,
  impossibleChange,
  isCollectionMissing,
  retryOnConflict,
} from "./outcomes.ts";
import { collectionNotFound, createdThenDeleted, keyReused, requireKey } from "./problems.ts";
import { rulesVersionOf } from "./resources.ts";
import { accept } from "./validate.ts";

/** A rejected draft, by its index in the request. */
export interface BulkRefused {
  readonly index: number;
  readonly problem: Problem;
}

export interface BulkResult {
  readonly resources: readonly Resource[];
  /** Whether this is the stored result of an earlier request with the same Idempotency-Key. */
  readonly isReplay: boolean;
}

/** What all drafts of a request have in common. */
interface BulkContext {
  readonly caller: Caller;
  readonly collection: string;
  readonly rules: Rules | undefined;
}

/** A draft with the id that its resource will have. */
interface Item {
  readonly index: number;
  readonly id: string;
  readonly draft: Draft;
}

export class BulkCreate {
  readonly #store: Store;
  readonly #clock: () => number;
  readonly #base: string;

  /** The addresses of resources begin with `base`. */
  constructor(store: Store, clock: () => number, base: string) {
    this.#store = store;
    this.#clock = clock;
    this.#base = base;
  }

  /** Creates each draft independently in one commit. Returns the results in the same order. */
  async create(
    caller: Caller,
    collection: string,
    drafts: readonly Draft[],
  ): Promise<readonly (Resource | Problem)[]> {
    const settled: (Resource | Problem)[] = [];
    let pending = itemsOf(drafts);
    await retryOnConflict(async () => {
      const context = { caller, collection, rules: await this.#store.rules(collection) };
      const { puts, items, rejected } = this.#validate(context, pending);
      for (const { index, problem } of rejected) settled[index] = problem;
      const outcomes = puts.length === 0 ? [] : await this.#commit(context, puts);
      pending = items.filter(({ index }, at) => {
        const result = settledOf(outcomes[at]);
        if (result !== undefined) settled[index] = result;
        return result === undefined;
      });
      return pending.length === 0 ? true : undefined;
    });
    return settled;
  }

  /** Creates all or none. The result lists every rejected draft. */
  async createAtomic(
    caller: Caller,
    collection: string,
    drafts: readonly Draft[],
    once?: IdempotencyKey,
  ): Promise<BulkResult | readonly BulkRefused[] | Problem> {
    const all = itemsOf(drafts);
    return retryOnConflict(async () => {
      const context = { caller, collection, rules: await this.#store.rules(collection) };
      const { puts, rejected } = this.#validate(context, all, once?.key);
      const isRefused = rejected.length > 0;
      if (isRefused && once === undefined) return rejected;
      // A retry must get the first result even if the rules have changed since.
      const changes = isRefused ? [impossibleChange] : puts;
      const atomic: Change = { kind: "all", changes, ...(once && { once }) };
      const [outcome] = await this.#store.commit([atomic]);
      if (outcome?.kind === "all") return resultOf(outcome);
      if (outcome?.kind === "reused") return keyReused;
      if (outcome?.kind === "gone") return createdThenDeleted;
      if (isRefused) return rejected;
      const conflict = outcome && conflictProblem(outcome);
      if (outcome?.kind === "none" && conflict)
        return [{ index: outcome.index, problem: conflict }];
      if (mayCreateCollection(context) && isCollectionMissing(outcome, puts))
        await this.#createCollection(collection);
      return undefined;
    });
  }

  #validate(
    context: BulkContext,
    items: readonly Item[],
    key?: string,
  ): {
    readonly puts: readonly Put[];
    readonly items: readonly Item[];
    readonly rejected: readonly BulkRefused[];
  } {
    const { caller, collection, rules } = context;
    const forbidden =
      (rules === undefined && !mayCreateCollection(context)
        ? collectionNotFound(collection)
        : undefined) ??
      requireKey(rules, key) ??
      requirePermission(caller, collection, "create", rules);
    const at = this.#clock();
    const owner = isOwned(rules) && caller !== undefined ? { owner: caller.id } : {};
    const common = { kind: "put", collection, at, expect: "nothing", ...owner } as const;
    const rulesVersion = rulesVersionOf(rules);
    const puts: Put[] = [];
    const accepted: Item[] = [];
    const rejected: BulkRefused[] = [];
    for (const item of items) {
      const { index, id, draft } = item;
      const target = { address: `${this.#base}/${collection}/${id}`, current: undefined };
      const content = forbidden ?? accept(caller, rules, draft.fields, target);
      if (content instanceof Problem) rejected.push({ index, problem: content });
      else {
        puts.push({ ...common, id, ...content, ...rulesVersion });
        accepted.push(item);
      }
    }
    return { puts, items: accepted, rejected };
  }

  /** An admin's first write creates the collection. */
  async #commit(context: BulkContext, puts: readonly Put[]): Promise<readonly Outcome[]> {
    const { rules, collection } = context;
    if (rules !== undefined) return this.#store.commit(puts);
    const creation = { kind: "create-collection", collection, at: this.#clock() } as const;
    return (await this.#store.commit([creation, ...puts])).slice(1);
  }

  async #createCollection(collection: string): Promise<void> {
    await this.#store.commit([{ kind: "create-collection", collection, at: this.#clock() }]);
  }
}

const itemsOf = (drafts: readonly Draft[]): readonly Item[] =>
  drafts.map((draft, index) => ({ index, id: newId(), draft }));

const mayCreateCollection = ({ caller }: BulkContext): boolean =>
  caller !== undefined && isAdmin(caller);

/** Returns undefined when the draft must be tried again. */
function settledOf(outcome: Outcome | undefined): Resource | Problem | undefined {
  if (outcome?.kind === "created") return outcome.resource;
  return outcome && conflictProblem(outcome);
}

function resultOf({ outcomes, isReplay }: Extract<Outcome, { kind: "all" }>): BulkResult {
  const resources = outcomes.map((outcome) => {
    if (outcome.kind === "created") return outcome.resource;
    throw new Error(`unexpected outcome of a creation: ${outcome.kind}`);
  });
  return { resources, isReplay };
}
