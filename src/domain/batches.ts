// Many changes as one: all of them happen, or none.

import { type MemoryBudget, Reservation } from "../lib/memory-budget.ts";
import type { Rules } from "../model/collection.ts";
import type { Problem } from "../model/problem.ts";
import { isAdmin, type Token } from "../model/token.ts";
import type { IdempotencyKey, Outcome, Put, Remove, Store } from "../store/store.ts";
import { type BatchRefused, type Operation, Planner } from "./batch-plan.ts";
import { conflictIn, impossible, lacksCollection, retryOnConflict } from "./outcomes.ts";
import { createdAndGone, keyReused, overloaded } from "./problems.ts";
import type { Uploads } from "./uploads.ts";

export type { BatchRefused, Operation } from "./batch-plan.ts";

export interface BatchDone {
  readonly outcomes: readonly Outcome[];
  readonly isReplay: boolean;
  /** By which each collection's were judged, and are shown. */
  readonly rules: ReadonlyMap<string, Rules | undefined>;
}

export interface BatchTerms {
  readonly clock: () => number;
  /** No patch may make a resource larger. */
  readonly maxBytes: number;
  readonly base: string;
  readonly memory: MemoryBudget;
}

export class Batches {
  readonly #store: Store;
  readonly #uploads: Uploads;
  readonly #terms: BatchTerms;

  constructor(store: Store, uploads: Uploads, terms: BatchTerms) {
    this.#store = store;
    this.#uploads = uploads;
    this.#terms = terms;
  }

  async run(
    caller: Token,
    operations: readonly Operation[],
    once?: IdempotencyKey,
  ): Promise<BatchDone | BatchRefused | Problem> {
    return retryOnConflict(async () => {
      const memory = new Reservation(this.#terms.memory);
      try {
        return await this.#attempt(this.#planner(caller, once, memory), caller, operations, once);
      } finally {
        memory.release();
      }
    });
  }

  /** Undefined when somebody else's write came between. */
  async #attempt(
    planner: Planner,
    caller: Token,
    operations: readonly Operation[],
    once: IdempotencyKey | undefined,
  ): Promise<BatchDone | BatchRefused | Problem | undefined> {
    const plan = await planner.make(operations);
    if ("kind" in plan) return overloaded;
    // A retry must get the first answer also where its own preconditions no longer hold.
    const changes = "index" in plan ? [impossible] : planner.hidden ? [...plan, impossible] : plan;
    const isHopeless = "index" in plan && once === undefined;
    const outcome = isHopeless ? undefined : await this.#commit(caller, changes, once);
    if (outcome?.kind === "all") {
      if (!outcome.isReplay) await this.#uploads.discard(planner.dropped);
      return { ...outcome, rules: planner.rules };
    }
    if (outcome?.kind === "reused") return keyReused;
    if (outcome?.kind === "gone") return createdAndGone;
    const conflict = outcome && conflictIn(outcome);
    if (outcome?.kind === "none" && conflict) return { index: outcome.index, problem: conflict };
    if ("index" in plan) return plan;
    const isRefused = outcome?.kind === "none" && outcome.index === plan.length;
    return isRefused ? planner.hidden : undefined;
  }

  #planner(caller: Token, once: IdempotencyKey | undefined, memory: Reservation): Planner {
    const { clock, maxBytes, base } = this.#terms;
    const terms = { caller, key: once?.key, at: clock(), maxBytes, base };
    return new Planner(this.#store, terms, memory);
  }

  async #commit(
    caller: Token,
    changes: readonly (Put | Remove)[],
    once: IdempotencyKey | undefined,
  ): Promise<Outcome | undefined> {
    const unit = { kind: "all", changes, ...(once && { once }) } as const;
    const [outcome] = await this.#store.commit([unit]);
    if (isAdmin(caller) && lacksCollection(outcome, changes)) await this.#foundAll(changes);
    return outcome;
  }

  async #foundAll(changes: readonly (Put | Remove)[]): Promise<void> {
    const puts = changes.filter((change) => change.kind === "put");
    const names = new Set(puts.map((change) => change.collection));
    const at = this.#terms.clock();
    await this.#store.commit([...names].map((collection) => ({ kind: "found", collection, at })));
  }
}
