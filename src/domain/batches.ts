// Runs the operations of a batch as one transaction: all of them or none.

import { type MemoryBudget, Reservation } from "../lib/memory-budget.ts";
import type { Rules } from "../model/collection.ts";
import type { Problem } from "../model/problem.ts";
import { isAdmin, type Token } from "../model/token.ts";
import type { IdempotencyKey, Outcome, Put, Remove, Store } from "../store/store.ts";
import { BatchPlanner, type BatchRefused, type Operation } from "./batch-plan.ts";
import {
  conflictProblem,
  impossibleChange,
  isCollectionMissing,
  retryOnConflict,
} from "./outcomes.ts";
import { createdThenDeleted, keyReused, overloaded } from "./problems.ts";
import type { Uploads } from "./uploads.ts";

export type { BatchRefused, Operation } from "./batch-plan.ts";

export interface BatchDone {
  readonly outcomes: readonly Outcome[];
  readonly isReplay: boolean;
  /** The rules of each collection, which decide how its resources are shown. */
  readonly rules: ReadonlyMap<string, Rules | undefined>;
}

export interface BatchOptions {
  readonly clock: () => number;
  /** The limit of a patched resource. */
  readonly maxBytes: number;
  readonly base: string;
  readonly memory: MemoryBudget;
}

export class Batches {
  readonly #store: Store;
  readonly #uploads: Uploads;
  readonly #options: BatchOptions;

  constructor(store: Store, uploads: Uploads, options: BatchOptions) {
    this.#store = store;
    this.#uploads = uploads;
    this.#options = options;
  }

  async run(
    caller: Token,
    operations: readonly Operation[],
    once?: IdempotencyKey,
  ): Promise<BatchDone | BatchRefused | Problem> {
    return retryOnConflict(async () => {
      const memory = new Reservation(this.#options.memory);
      try {
        return await this.#attempt(this.#planner(caller, once, memory), caller, operations, once);
      } finally {
        memory.release();
      }
    });
  }

  /** Returns undefined when another write came in between and the batch must be retried. */
  async #attempt(
    planner: BatchPlanner,
    caller: Token,
    operations: readonly Operation[],
    once: IdempotencyKey | undefined,
  ): Promise<BatchDone | BatchRefused | Problem | undefined> {
    const plan = await planner.plan(operations);
    if ("kind" in plan) return overloaded;
    // A retry must get the first result even if its preconditions no longer hold.
    const changes =
      "index" in plan ? [impossibleChange] : planner.hiddenPut ? [...plan, impossibleChange] : plan;
    const isRejected = "index" in plan && once === undefined;
    const outcome = isRejected ? undefined : await this.#commit(caller, changes, once);
    if (outcome?.kind === "all") {
      if (!outcome.isReplay) await this.#uploads.discard(planner.unusedFiles);
      return { ...outcome, rules: planner.rules };
    }
    if (outcome?.kind === "reused") return keyReused;
    if (outcome?.kind === "gone") return createdThenDeleted;
    const conflict = outcome && conflictProblem(outcome);
    if (outcome?.kind === "none" && conflict) return { index: outcome.index, problem: conflict };
    if ("index" in plan) return plan;
    const isHiddenPut = outcome?.kind === "none" && outcome.index === plan.length;
    return isHiddenPut ? planner.hiddenPut : undefined;
  }

  #planner(caller: Token, once: IdempotencyKey | undefined, memory: Reservation): BatchPlanner {
    const { clock, maxBytes, base } = this.#options;
    const options = { caller, key: once?.key, at: clock(), maxBytes, base };
    return new BatchPlanner(this.#store, options, memory);
  }

  async #commit(
    caller: Token,
    changes: readonly (Put | Remove)[],
    once: IdempotencyKey | undefined,
  ): Promise<Outcome | undefined> {
    const atomic = { kind: "all", changes, ...(once && { once }) } as const;
    const [outcome] = await this.#store.commit([atomic]);
    if (isAdmin(caller) && isCollectionMissing(outcome, changes))
      await this.#createCollections(changes);
    return outcome;
  }

  async #createCollections(changes: readonly (Put | Remove)[]): Promise<void> {
    const puts = changes.filter((change) => change.kind === "put");
    const names = new Set(puts.map((change) => change.collection));
    const at = this.#options.clock();
    await this.#store.commit(
      [...names].map((collection) => ({ kind: "create-collection", collection, at })),
    );
  }
}
