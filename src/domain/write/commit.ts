// Commits planned changes and turns their outcomes into results.

import type { IdempotencyKey } from "../../model/idempotency-key.ts";
import { Outage } from "../../model/outage.ts";
import { Problem } from "../../model/problem.ts";
import type { Resource } from "../../model/resource.ts";
import { Damage } from "../../store/core/stored-resource.ts";
import {
  type Change,
  failureOf,
  type Outcome,
  type Remove,
  type ResourceChange,
  type Store,
} from "../../store/store.ts";
import type { CollectionAccess } from "../access.ts";
import { notUnique } from "../not-unique.ts";
import { collectionNotFound, overloaded } from "../problems.ts";
import { operationsProblem } from "./operate.ts";
import type { AllDone, Refused, WriteResult, Written } from "./operation.ts";
import type { Plan, PlannedOperation } from "./plan.ts";
import { danglingNow } from "./reference-problems.ts";

/** Operations with the plan that was made for them. */
export interface PlannedWrite {
  readonly operations: readonly PlannedOperation[];
  readonly plan: Plan;
  /** A change or a problem for each operation. */
  readonly planned: readonly (ResourceChange | Problem)[];
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
    const own = changesIn(planned);
    const refused = own.length === planned.length ? [] : refusedIn(planned);
    const changes = plan.states.following.length === 0 ? own : [...own, ...plan.states.following];
    if (refused.some(({ problem }) => problem === overloaded)) return overloaded;
    if (refused.length > 0 && once === undefined) return refused;
    // A retry must get the first result even if the operations would be rejected now.
    const sent =
      refused.length > 0
        ? failingIn(operations)
        : plan.hidden.length === 0
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
        if (outcome.outcome.kind === "damaged") throw damageOf(changes[index]);
        const operation = operations[index];
        if (operation !== undefined && plan.isOvertaken(operation, outcome)) return undefined;
        const conflict = conflictProblem(outcome);
        // A change that follows from a deletion belongs to no operation.
        const at = index < own.length ? index : 0;
        if (conflict !== undefined) return [{ index: at, problem: conflict }];
        if (plan.hidden.length > 0 && index === changes.length) return plan.hidden.slice(0, 1);
        const isMissing = isCollectionMissing(outcome.outcome, changes[index]);
        return isMissing ? this.#createMissing(operations, index) : undefined;
      }
      default:
        throw new Error(`unexpected outcome of a write: ${outcome.kind}`);
    }
  }

  /**
   * Commits each planned change on its own, or only tries it. Returns undefined for each that another
   * write came before: then plan it again.
   */
  async eachPlanned(
    access: CollectionAccess,
    { operations, plan, planned }: PlannedWrite,
    isTrial: boolean,
  ): Promise<readonly (Written | Problem | undefined)[]> {
    const hidden = new Map(plan.hidden.map(({ index, problem }) => [index, problem]));
    const sent = planned.flatMap((each, index) =>
      each instanceof Problem ? [] : [!isTrial && hidden.has(index) ? trialOf([each]) : each],
    );
    const outcomes = await (isTrial
      ? this.#tryEach(changesIn(planned))
      : this.each(access, sent).then((all) => all.map(singleOutcome)));
    let next = 0;
    let isMissing = false;
    const results = planned.map((change, index) => {
      if (change instanceof Problem) return change;
      const outcome = outcomes[next++] ?? missing;
      const operation = operations[index];
      if (operation !== undefined && plan.isOvertaken(operation, outcome)) return undefined;
      if (isApplied(outcome)) return hidden.get(index) ?? writtenOf(access, outcome);
      if (!isCollectionMissing(outcome, change)) return conflictProblem(outcome);
      isMissing = true;
      if (!access.isAdmin) return collectionNotFound(access.name);
      // An open collection would be created, and takes any resource.
      return isTrial
        ? writtenOf(access, { kind: "created", resource: resourceOf(change) })
        : undefined;
    });
    // The collection was deleted after its rules were read.
    if (isMissing && access.isAdmin && !isTrial) await this.createCollections([access.name]);
    return results;
  }

  /** Commits each change on its own. An admin's first write creates the collection. */
  each({ name, rules }: CollectionAccess, changes: readonly Change[]): Promise<readonly Outcome[]> {
    if (changes.length === 0) return Promise.resolve([]);
    if (rules !== undefined) return this.#store.commit(changes);
    const creation = this.#creationOf(name);
    return this.#store.commit([creation, ...changes]).then((outcomes) => outcomes.slice(1));
  }

  /** Returns what would become of each change after those before it. */
  async #tryEach(changes: readonly ResourceChange[]): Promise<readonly Outcome[]> {
    if (changes.length === 0) return [];
    const [outcome] = await this.#store.commit([trialOf(changes)]);
    return outcome?.kind === "all" ? outcome.outcomes : [];
  }

  async createCollections(names: Iterable<string>): Promise<void> {
    await this.#store.commit([...names].map((name) => this.#creationOf(name)));
  }

  #creationOf(collection: string): Change {
    return { kind: "create-collection", collection, at: this.#clock() };
  }

  /** A single change without a key needs no atomic group. */
  #commit(
    operations: readonly PlannedOperation[],
    changes: readonly ResourceChange[],
    once: IdempotencyKey | undefined,
  ): Promise<Outcome> {
    const access = operations[0]?.access;
    if (access !== undefined && changes.length === 1 && once === undefined)
      return this.each(access, changes).then(asGroup);
    const atomic: Change = { kind: "all", changes, ...(once && { once }) };
    return this.#store.commit([atomic]).then(([outcome = missing]) => outcome);
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
      ({ operation: { kind } }) => kind !== "patch" && kind !== "remove",
    );
    await this.createCollections(new Set(written.map(({ access: { name } }) => name)));
    return undefined;
  }
}

/** Returns the outcome of a change that was only tried, otherwise the outcome itself. */
const singleOutcome = (outcome: Outcome): Outcome =>
  outcome.kind === "all" ? (outcome.outcomes[0] ?? missing) : outcome;

function writtenOf(access: CollectionAccess, outcome: Outcome): Written | undefined {
  const result = resultOf(access, outcome, false);
  return result?.kind === "written" ? result : undefined;
}

/** The resource that a change would create. */
const resourceOf = ({ id, at, ...change }: ResourceChange): Resource => ({
  ...{ id, revision: 0, createdAt: at, updatedAt: at },
  fields: change.kind === "put" ? change.fields : "{}",
});

/** Tries changes and undoes them. */
const trialOf = (changes: readonly ResourceChange[]): Change => ({
  kind: "all",
  changes,
  isTrial: true,
});

const missing: Outcome = { kind: "missing" };

/** Returns the outcome of a single change as that of a group. */
const asGroup = ([outcome = missing]: readonly Outcome[]): Outcome =>
  isApplied(outcome)
    ? { kind: "all", outcomes: [outcome], isReplay: false }
    : { kind: "none", index: 0, outcome };

/** A key belongs to one of the collections of its request, so each is named. */
const failingIn = (operations: readonly PlannedOperation[]): readonly Remove[] =>
  [...new Set(operations.map(({ access: { name } }) => name))].map(impossibleChange);

const changesIn = (planned: readonly (ResourceChange | Problem)[]): readonly ResourceChange[] =>
  planned.filter((each) => !(each instanceof Problem));

const isApplied = ({ kind }: Outcome): boolean =>
  kind === "created" || kind === "replaced" || kind === "removed";

const refusedIn = (planned: readonly (ResourceChange | Problem)[]): readonly Refused[] =>
  planned.flatMap((each, index) => (each instanceof Problem ? [{ index, problem: each }] : []));

function allDone(
  operations: readonly PlannedOperation[],
  { outcomes, isReplay }: Extract<Outcome, { kind: "all" }>,
): AllDone {
  // After the outcomes of the operations come those of changes that followed from deletions.
  const results = operations.map(({ access }, index) => {
    const outcome = outcomes[index];
    const result = resultOf(access, outcome, isReplay);
    if (result === undefined) throw new Error(`unexpected outcome in a batch: ${outcome?.kind}`);
    return result;
  });
  return { results, isReplay };
}

/** Returns the result of a change that was applied, otherwise undefined. */
export function resultOf(
  access: CollectionAccess,
  outcome: Outcome | undefined,
  isReplay: boolean,
): WriteResult | undefined {
  switch (outcome?.kind) {
    case "created":
    case "replaced": {
      const { kind, resource } = outcome;
      return { kind: "written", resource, access, isNew: kind === "created", isReplay };
    }
    case "removed":
      return { kind: "removed" };
    default:
      return undefined;
  }
}

export function conflictProblem(outcome: Outcome): Problem | undefined {
  const failed = failureOf(outcome);
  switch (failed.kind) {
    case "conflict":
      return notUnique(failed.field);
    case "invalid":
    case "inapplicable":
      return operationsProblem(failed);
    case "dangling":
      return danglingNow(failed.target);
    case "referenced":
      if (failed.isKnown) return undefined;
      throw new Outage("busy", `the index of the references in ${failed.by} is being built`);
    default:
      return undefined;
  }
}

const damageOf = (change: ResourceChange | undefined): Damage =>
  new Damage(change?.id ?? "", change?.collection);

/** Returns whether the collection does not exist: only then is a put without an expected revision "missing". */
export const isCollectionMissing = (
  outcome: Outcome,
  change: ResourceChange | undefined,
): boolean =>
  outcome.kind === "missing" && change?.kind === "put" && typeof change.expect !== "number";

/** Returns a change that always fails: no resource has this id. */
export const impossibleChange = (collection: string): Remove => ({
  kind: "remove",
  collection,
  id: "-",
  at: 0,
  expect: 0,
});

export const keyReused = new Problem(
  "key-reused",
  "This Idempotency-Key was already used for a different request. Nothing was changed.",
);

export const createdThenDeleted = new Problem(
  "gone",
  "A resource that was written with this Idempotency-Key has since been deleted. Nothing was changed; use a new key to write it again.",
);
