// Commits planned changes and turns their outcomes into results.

import type { IdempotencyKey } from "../../model/idempotency-key.ts";
import { anonymous, type Principal } from "../../model/principal.ts";
import { Problem } from "../../model/problem.ts";
import type {
  AtomicChange,
  Change,
  Outcome,
  Remove,
  ResourceChange,
  Store,
} from "../../store/store.ts";
import type { CollectionAccess } from "../collection-access.ts";
import { collectionNotFound, overloaded, tokenEnded } from "../problems.ts";
import type { AllDone, Refused, WriteResult, Written } from "./operation.ts";
import {
  allDone,
  conflictProblem,
  createdThenDeleted,
  damageOf,
  firstOf,
  isCollectionMissing,
  keyReused,
  missing,
  resultOf,
  singleOutcome,
  writtenOf,
} from "./outcomes.ts";
import type { Plan, PlannedOperation } from "./plan.ts";
import type { Unseen } from "./unseen.ts";

/** Operations with the plan that was made for them. */
export interface PlannedWrite {
  readonly operations: readonly PlannedOperation[];
  readonly plan: Plan;
  /** A change or a problem for each operation. */
  readonly planned: readonly (ResourceChange | Problem)[];
}

export class PlanCommitter {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Commits the only change of a request. Returns undefined when another write came in between: then plan again. */
  async one(
    item: PlannedOperation,
    plan: Plan,
    planned: ResourceChange | Problem,
    once: IdempotencyKey | undefined,
  ): Promise<WriteResult | Problem | undefined> {
    // Others are committed together with what follows, with their key, or with a change that fails.
    const isAlone = plan.states.following.length === 0 && plan.hidden.length === 0;
    if (once !== undefined || !isAlone) {
      const all = await this.all({ operations: [item], plan, planned: [planned] }, once);
      const done = all && firstOf(all);
      if (done === undefined || done instanceof Problem) return done;
      return "problem" in done ? done.problem : done.results[0];
    }
    if (planned instanceof Problem) return planned;
    const [outcome = missing] = await this.#each([planned]);
    return resultOf(item.access, outcome) ?? this.#refusal([item], plan, 0, planned, outcome);
  }

  /** Commits all changes or none. Returns undefined when another write came in between: then plan again. */
  async all(
    { operations, plan, planned }: PlannedWrite,
    once: IdempotencyKey | undefined,
  ): Promise<AllDone | readonly Refused[] | Problem | undefined> {
    const own = changesIn(planned);
    const refused = own.length === planned.length ? none : refusedIn(planned);
    const isFollowed = refused.length === 0 && plan.states.following.length > 0;
    const changes = isFollowed ? [...own, ...plan.states.following] : own;
    if (refused.length > 0) {
      if (refused.some(({ problem }) => problem === overloaded)) return overloaded;
      if (once === undefined) return refused;
    }
    // A retry must get the first result even if the operations would be rejected now.
    const sent =
      refused.length > 0
        ? failingIn(operations)
        : plan.hidden.length === 0
          ? changes
          : [...changes, ...failingIn(operations)];
    const key = isFollowed && once ? { ...once, ownChanges: own.length } : once;
    const group: AtomicChange = { kind: "all", changes: sent, ...(key && { once: key }) };
    const [outcome = missing] = await this.#store.commit([group]);
    switch (outcome.kind) {
      case "all":
        return allDone(operations, outcome);
      case "reused":
        return keyReused;
      case "gone":
        return createdThenDeleted;
      case "none": {
        if (refused.length > 0) return refused;
        if (outcome.outcome.kind === "revoked") return tokenEnded;
        const { index } = outcome;
        if (plan.hidden.length > 0 && index === changes.length) return plan.hidden;
        const change = changes[index];
        const problem = await this.#refusal(operations, plan, index, change, outcome.outcome);
        // A change that follows from a deletion belongs to no operation.
        return problem && [{ index: index < own.length ? index : 0, problem }];
      }
      default:
        throw new Error(`unexpected outcome of a write: ${outcome.kind}`);
    }
  }

  /** Returns why a change was not applied, or undefined when it must be planned again. */
  async #refusal(
    operations: readonly PlannedOperation[],
    plan: Plan,
    index: number,
    change: ResourceChange | undefined,
    outcome: Outcome,
  ): Promise<Problem | undefined> {
    if (outcome.kind === "damaged") throw damageOf(change);
    const operation = operations[index];
    if (operation !== undefined && plan.isOvertaken(operation, outcome)) return undefined;
    const conflict = conflictProblem(outcome, callerOf(operations));
    if (conflict !== undefined || !isCollectionMissing(outcome, change)) return conflict;
    // It was deleted after its rules were read: an administrator's next attempt creates it again.
    return operation?.access.isAdmin === true
      ? undefined
      : collectionNotFound(operation?.access.name ?? "");
  }

  /**
   * Commits each planned change on its own, or only tries it. Returns undefined for each that another
   * write came before: then plan it again.
   */
  async eachPlanned(
    access: CollectionAccess,
    { operations, plan, planned }: PlannedWrite,
  ): Promise<readonly (Written | Problem | undefined)[]> {
    const hidden = new Map(plan.hidden.map(({ index, problem }) => [index, problem]));
    const sent =
      hidden.size === 0
        ? changesIn(planned)
        : planned.flatMap((each, index) =>
            each instanceof Problem ? [] : [hidden.has(index) ? trialOf([each]) : each],
          );
    const { firstRepeat, unseen } = plan;
    const isTrial = unseen !== undefined;
    const outcomes = await (isTrial
      ? this.#try(access, unseen, changesIn(planned))
      : firstRepeat === undefined
        ? this.#each(sent).then((all) => all.map(singleOutcome))
        : this.#inOrder(sent, changesIn(planned.slice(0, firstRepeat)).length));
    let next = 0;
    return planned.map((change, index) => {
      if (change instanceof Problem) return change;
      const outcome = outcomes[next++];
      if (outcome === undefined) return undefined;
      const operation = operations[index];
      if (operation !== undefined && plan.isOvertaken(operation, outcome)) return undefined;
      const written = writtenOf(access, outcome);
      if (written !== undefined) return hidden.get(index) ?? written;
      if (!isCollectionMissing(outcome, change)) return conflictProblem(outcome, access.principal);
      return access.isAdmin ? undefined : collectionNotFound(access.name);
    });
  }

  /** Commits each change on its own. */
  #each(changes: readonly Change[]): Promise<readonly Outcome[]> {
    if (changes.length === 0) return Promise.resolve([]);
    const single = changes.length > 1 ? changes.filter(isResourceChange) : none;
    // Each would change what the next was decided by, so all are decided by the state before the first.
    if (single.some(isDecidedByOwn))
      return this.#together(single, { isEach: true }).then((outcomes) => {
        const left = [...outcomes];
        // What is only tried is planned again after the others.
        return changes.map((each) => (isResourceChange(each) && left.shift()) || { kind: "stale" });
      });
    return this.#store.commit(changes);
  }

  /** Tries changes as if what the caller may not know of did not exist. */
  async #try(
    access: CollectionAccess,
    unseen: Unseen,
    changes: readonly ResourceChange[],
  ): Promise<readonly Outcome[]> {
    if (changes.length === 0) return [];
    const before = await unseen.before(access, changes);
    const tried = before.length === 0 ? changes : changes.map(withoutRevision);
    const outcomes = await this.#together([...before, ...tried], { isTrial: true });
    const own = outcomes.slice(before.length);
    if (!own.some(({ kind }) => kind === "conflict")) return own;
    // Where someone has just taken a value unseen, the answer does not say so: it is tried again.
    const known = new Set(before.map(({ id }) => id));
    const isMoved = (await unseen.before(access, changes)).some(({ id }) => !known.has(id));
    return isMoved ? own.map((each) => (each.kind === "conflict" ? { kind: "stale" } : each)) : own;
  }

  /** Commits or tries changes that each succeed or fail on their own. */
  async #together(
    changes: readonly ResourceChange[],
    mode: Pick<AtomicChange, "isEach" | "isTrial">,
  ): Promise<readonly Outcome[]> {
    if (changes.length === 0) return [];
    const [outcome] = await this.#store.commit([{ kind: "all", changes, ...mode }]);
    return outcome?.kind === "all" ? outcome.outcomes : changes.map(() => missing);
  }

  /**
   * Commits changes of which several are for one resource. A later one must not be applied when an earlier
   * one has to be planned again, because that would then replace it. So all are applied together, or only
   * those before the first repeated resource; the others have no outcome.
   */
  async #inOrder(changes: readonly Change[], firstRepeat: number): Promise<readonly Outcome[]> {
    const plain = changes.filter((change) => change.kind === "put");
    if (plain.length === changes.length) {
      const [outcome] = await this.#store.commit([{ kind: "all", changes: plain }]);
      if (outcome?.kind === "all") return outcome.outcomes;
    }
    return (await this.#each(changes.slice(0, firstRepeat))).map(singleOutcome);
  }
}

/** What is tried before has changed revisions. */
const withoutRevision = (change: ResourceChange): ResourceChange =>
  typeof change.expect === "number" ? { ...change, expect: "anything" } : change;

const isResourceChange = (change: Change): change is ResourceChange =>
  change.kind === "put" || change.kind === "remove" || change.kind === "operate";

/** Whether the caller's sets are read from the collection that is changed. */
const isDecidedByOwn = ({ collection, unchanged = [] }: ResourceChange): boolean =>
  unchanged.some((read) => read.collection === collection && !("id" in read));

/** Tries changes and undoes them. */
const trialOf = (changes: readonly ResourceChange[]): Change => ({
  kind: "all",
  changes,
  isTrial: true,
});

/** A key belongs to one of the collections of its request, so each is named. */
const failingIn = (operations: readonly PlannedOperation[]): readonly Remove[] =>
  [...new Set(operations.map(({ access: { name } }) => name))].map(impossibleChange);

const none: readonly never[] = [];

const isChange = (planned: ResourceChange | Problem): planned is ResourceChange =>
  !(planned instanceof Problem);

const changesIn = (planned: readonly (ResourceChange | Problem)[]): readonly ResourceChange[] =>
  planned.filter(isChange);

const refusedIn = (planned: readonly (ResourceChange | Problem)[]): readonly Refused[] =>
  planned.flatMap((each, index) => (each instanceof Problem ? [{ index, problem: each }] : []));

/** Returns a change that always fails: no resource has this id. */
const impossibleChange = (collection: string): Remove => ({
  kind: "remove",
  collection,
  id: "-",
  at: 0,
  expect: 0,
});

const callerOf = ([first]: readonly PlannedOperation[]): Principal =>
  first?.access.principal ?? anonymous;
