// Commits planned changes and turns their outcomes into results.

import type { IdempotencyKey } from "../../model/idempotency-key.ts";
import { Problem } from "../../model/problem.ts";
import type { Change, Outcome, Put, Remove, Store } from "../../store/store.ts";
import type { CollectionAccess } from "../collection-access.ts";
import { collectionNotFound, overloaded } from "../problems.ts";
import type { AllDone, Refused } from "./operation.ts";
import {
  conflictProblem,
  createdThenDeleted,
  impossibleChange,
  isCollectionMissing,
  keyReused,
  resultOf,
} from "./outcomes.ts";
import type { Plan, PlannedOperation } from "./plan.ts";

/** Operations with the plan that was made for them. */
export interface PlannedWrite {
  readonly operations: readonly PlannedOperation[];
  readonly plan: Plan;
  /** A change or a problem for each operation. */
  readonly planned: readonly (Put | Remove | Problem)[];
}

export class PlanCommitter {
  readonly #store: Store;
  readonly #clock: () => number;

  constructor(store: Store, clock: () => number) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Commits all changes or none. Returns undefined when another write came in between: then plan again. */
  async all(
    { operations, plan, planned }: PlannedWrite,
    once: IdempotencyKey | undefined,
  ): Promise<AllDone | readonly Refused[] | Problem | undefined> {
    const refused = refusedIn(planned);
    if (refused.some(({ problem }) => problem === overloaded)) return overloaded;
    if (refused.length > 0 && once === undefined) return refused;
    const changes = planned.filter((each) => !(each instanceof Problem));
    // A retry must get the first result even if the operations would be rejected now.
    const sent =
      refused.length > 0
        ? failingIn(operations)
        : plan.hidden === undefined
          ? changes
          : [...changes, ...failingIn(operations)];
    const outcome = await this.#commit(operations, sent, once);
    switch (outcome.kind) {
      case "all":
        return allDone(operations, outcome);
      case "reused":
        return keyReused;
      case "gone":
        return createdThenDeleted;
      case "none": {
        if (refused.length > 0) return refused;
        const { index } = outcome;
        const conflict = conflictProblem(outcome);
        if (conflict !== undefined) return [{ index, problem: conflict }];
        if (plan.hidden !== undefined && index === changes.length) return [plan.hidden];
        const isMissing = isCollectionMissing(outcome.outcome, changes[index]);
        return isMissing ? this.#createMissing(operations, index) : undefined;
      }
      default:
        throw new Error(`unexpected outcome of a write: ${outcome.kind}`);
    }
  }

  /** Commits each change on its own. An admin's first write creates the collection. */
  async each(
    { name, rules }: CollectionAccess,
    changes: readonly (Put | Remove)[],
  ): Promise<readonly Outcome[]> {
    if (rules !== undefined) return this.#store.commit(changes);
    return (await this.#store.commit([this.#creationOf(name), ...changes])).slice(1);
  }

  async createCollections(names: Iterable<string>): Promise<void> {
    await this.#store.commit([...names].map((name) => this.#creationOf(name)));
  }

  #creationOf(collection: string): Change {
    return { kind: "create-collection", collection, at: this.#clock() };
  }

  /** A single change without a key needs no atomic group. */
  async #commit(
    operations: readonly PlannedOperation[],
    changes: readonly (Put | Remove)[],
    once: IdempotencyKey | undefined,
  ): Promise<Outcome> {
    const access = operations[0]?.access;
    if (access === undefined || changes.length > 1 || once !== undefined) {
      const atomic: Change = { kind: "all", changes, ...(once && { once }) };
      const [outcome] = await this.#store.commit([atomic]);
      return outcome ?? { kind: "missing" };
    }
    const [outcome = { kind: "missing" }] = await this.each(access, changes);
    return resultOf(access, outcome, false) === undefined
      ? { kind: "none", index: 0, outcome }
      : { kind: "all", outcomes: [outcome], isReplay: false };
  }

  /** The collection was deleted after its rules were read, or an admin's batch creates it. */
  async #createMissing(
    operations: readonly PlannedOperation[],
    index: number,
  ): Promise<readonly Refused[] | undefined> {
    const access = operations[index]?.access;
    if (access === undefined || !access.isAdmin)
      return [{ index, problem: collectionNotFound(access?.name ?? "") }];
    const written = operations.filter(
      ({ operation: { kind } }) => kind === "create" || kind === "put",
    );
    await this.createCollections(new Set(written.map(({ access: { name } }) => name)));
    return undefined;
  }
}

/** A key belongs to one of the collections of its request, so each is named. */
const failingIn = (operations: readonly PlannedOperation[]): readonly Remove[] =>
  [...new Set(operations.map(({ access: { name } }) => name))].map(impossibleChange);

const refusedIn = (planned: readonly (Put | Remove | Problem)[]): readonly Refused[] =>
  planned.flatMap((each, index) => (each instanceof Problem ? [{ index, problem: each }] : []));

function allDone(
  operations: readonly PlannedOperation[],
  { outcomes, isReplay }: Extract<Outcome, { kind: "all" }>,
): AllDone {
  const results = outcomes.map((outcome, index) => {
    const access = operations[index]?.access;
    const result = access && resultOf(access, outcome, isReplay);
    if (result === undefined) throw new Error(`unexpected outcome in a batch: ${outcome.kind}`);
    return result;
  });
  return { results, isReplay };
}
