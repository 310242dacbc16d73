// Lists, defines and deletes collections.

import { setTimeout as sleep } from "node:timers/promises";
import { type MaybePromise, then } from "../lib/maybe-promise.ts";
import type { Collection } from "../model/collection.ts";
import { type Definition, definitionOf } from "../model/definition.ts";
import { callerTokenOf, type Principal } from "../model/principal.ts";
import { Problem } from "../model/problem.ts";
import { type AccessDocument, accessName } from "../model/schemas/access.ts";
import type { Violations } from "../model/schemas/collection.ts";
import { isSystemName } from "../model/system-collections.ts";
import { isAdmin, type Verb, verbs } from "../model/token.ts";
import type { BuildProgress, Change, Store } from "../store/store.ts";
import { requireAdmin } from "./access.ts";
import { checkedDefinition, compact, requireName } from "./checked-definition.ts";
import { type Contract, contractTime, isSameAccess, notBefore, withdrawal } from "./contract.ts";
import { applyDefinitionSet, type DefinitionSet, type RefusedSet } from "./definition-set.ts";
import { canApply } from "./grant-callers.ts";
import { notUniqueProblem } from "./not-unique.ts";
import { collectionNotFound, preconditionFailed, tokenEnded } from "./problems.ts";
import { retryOnConflict } from "./retry.ts";
import { findViolations, noViolations } from "./violations.ts";

/** Whether a collection may be changed as it is now; undefined when it does not exist. */
export type CollectionCondition = (current: Collection | undefined) => MaybePromise<boolean>;

export interface DefineResult {
  readonly isNew: boolean;
  /** Stored resources that do not match the definition. They stay, and are validated at their next write. */
  readonly violations: Violations;
  /** Set while the indexes of existing resources are still built, or when values turned out not to be unique. */
  readonly build?: BuildProgress | undefined;
}

export interface AppliedCollection extends DefineResult {
  readonly name: string;
}

interface DryRunOptions {
  /** The access document that is applied with the definition. */
  readonly document?: AccessDocument;
  readonly condition?: CollectionCondition | undefined;
}

const pauseMs = 20;
/** A dry run is made for its list of violations, so it may take longer. */
const maxDryRunMs = 10_000;

export class Collections {
  readonly #store: Store;
  readonly #clock: () => number;
  readonly #maxWaitMs: number;

  /** A definition is answered after `maxWaitMs`, also when its indexes are not complete; then the client has to ask. */
  constructor(store: Store, clock: () => number, maxWaitMs = 1_000) {
    this.#store = store;
    this.#clock = clock;
    this.#maxWaitMs = maxWaitMs;
  }

  list(principal: Principal): MaybePromise<readonly Collection[] | Problem> {
    return requireAdmin(principal) ?? this.#all();
  }

  /**
   * Returns all collections with the verbs that the principal may use. A collection without verbs is
   * hidden from it: only its name may have an effect, on the names of generated types.
   */
  usable(principal: Principal): MaybePromise<Contract> {
    return then(this.#store.collections(), (all) => {
      const collections = all
        .filter(isCollection)
        .map((collection) => ({ collection, verbs: usableVerbs(principal, collection) }));
      return { collections, definedAt: contractTime(all, collections) };
    });
  }

  /** What the server stores for itself is none of them. */
  #all(): MaybePromise<readonly Collection[]> {
    return then(this.#store.collections(), (all) => all.filter(isCollection));
  }

  find(principal: Principal, name: string): MaybePromise<Collection | Problem> {
    const forbidden = requireAdmin(principal) ?? requireName(name);
    if (forbidden !== undefined) return forbidden;
    return then(
      this.#store.collection(name),
      (collection) => collection ?? collectionNotFound(name),
    );
  }

  /** Returns what `define` would do, without doing it, also after another access document is applied. */
  async dryRun(
    principal: Principal,
    name: string,
    text: string,
    { document, condition }: DryRunOptions = {},
  ): Promise<DefineResult | Problem> {
    const definition = await checkedDefinition(this.#store, principal, name, text, document);
    if (definition instanceof Problem) return definition;
    const before = await this.#store.collection(name);
    if (condition && !(await condition(before))) return preconditionFailed;
    const options = { maxMs: maxDryRunMs, comparesValues: true };
    const violations = before
      ? await findViolations(this.#store, name, definition, options)
      : noViolations;
    return { isNew: before === undefined, violations };
  }

  /**
   * Sets the definition of a collection and creates the collection if it does not exist. The condition
   * holds for the definition that is replaced.
   */
  async define(
    principal: Principal,
    name: string,
    text: string,
    condition?: CollectionCondition,
  ): Promise<DefineResult | Problem> {
    const end = performance.now() + this.#maxWaitMs;
    const definition = await checkedDefinition(this.#store, principal, name, text);
    if (definition instanceof Problem) return definition;
    const isNew = await retryOnConflict(() =>
      this.#replace(principal, name, compact(text), condition),
    );
    if (isNew instanceof Problem) return isNew;
    return { isNew, ...(await this.#afterwards(name, definition, end)) };
  }

  async #afterwards(
    name: string,
    definition: Definition,
    end: number,
  ): Promise<Pick<DefineResult, "violations" | "build">> {
    // Both take until then, so they run beside each other.
    const [build, violations] = await Promise.all([
      this.#buildOf(name, end),
      this.#violationsOf(name, definition, end),
    ]);
    return { violations, ...(build && { build }) };
  }

  /** Returns whether the collection is new, or undefined when its definition has changed meanwhile. */
  async #replace(
    principal: Principal,
    name: string,
    definition: string,
    condition: CollectionCondition | undefined,
  ): Promise<boolean | Problem | undefined> {
    const before = await this.#store.collection(name);
    if (condition && !(await condition(before))) return preconditionFailed;
    const expected = {
      callerToken: callerTokenOf(principal),
      ...(condition && { replaces: before?.definition ?? null }),
    };
    const at = this.#clock();
    const change = { kind: "define", collection: name, definition, at, ...expected } as const;
    const withdrawn =
      before && !isSameAccess(before.definition, definition)
        ? [await this.#withdrawalOf(before, callerTokenOf(principal))]
        : [];
    const [outcome] = await this.#store.commit([change, ...withdrawn]);
    if (outcome?.kind === "revoked") return tokenEnded;
    if (outcome?.kind === "conflict") return notUniqueProblem(outcome.field, outcome.clashes);
    return outcome?.kind === "outdated" ? undefined : before === undefined;
  }

  async #withdrawalOf(from: Collection, callerToken: string | undefined): Promise<Change> {
    const document = await this.#store.collection(accessName);
    return { ...withdrawal(document, notBefore(this.#clock(), [from])), callerToken };
  }

  /** Returns how far the indexes of a collection are; undefined when they are complete. */
  progress(principal: Principal, name: string): MaybePromise<BuildProgress | undefined | Problem> {
    return requireAdmin(principal) ?? requireName(name) ?? this.#store.indexBuild(name);
  }

  /** From now on every write is validated with the new rules, so no violation is added. */
  async #violationsOf(name: string, definition: Definition, end: number): Promise<Violations> {
    const after = await this.#store.collection(name);
    const options = { maxMs: end - performance.now(), comparesValues: false };
    return after?.total ? findViolations(this.#store, name, definition, options) : noViolations;
  }

  /** Waits a moment for the indexes to be complete. */
  async #buildOf(name: string, end: number): Promise<BuildProgress | undefined> {
    for (;;) {
      const build = await this.#store.indexBuild(name);
      if (!build?.isRunning || performance.now() >= end) return build;
      await sleep(pauseMs);
    }
  }

  /** Sets an access document and definitions, all or none, and returns what has changed. */
  async apply(
    principal: Principal,
    set: DefinitionSet,
  ): Promise<readonly AppliedCollection[] | RefusedSet> {
    const end = performance.now() + this.#maxWaitMs;
    const applied = await applyDefinitionSet(this.#store, principal, set, this.#clock);
    if ("problem" in applied) return applied;
    const results: AppliedCollection[] = [];
    for (const { name, isNew, definition } of applied)
      results.push({ name, isNew, ...(await this.#afterwards(name, definition, end)) });
    return results;
  }

  /** Deletes a collection; one that has resources only when the caller confirmed it. */
  async delete(
    principal: Principal,
    name: string,
    isConfirmed: boolean,
    condition?: CollectionCondition,
  ): Promise<Problem | undefined> {
    const forbidden = requireAdmin(principal) ?? requireName(name);
    if (forbidden !== undefined) return forbidden;
    const drop = { kind: "drop", collection: name, isEmptyOnly: !isConfirmed } as const;
    const outcome = await retryOnConflict(async () => {
      const current = await this.#store.collection(name);
      if (condition && current && !(await condition(current))) return preconditionFailed;
      const expected = condition && current && { revision: current.revision };
      const callerToken = callerTokenOf(principal);
      const withdrawn = current && (await this.#withdrawalOf(current, callerToken));
      const [outcome] = await this.#store.commit([
        { ...drop, ...expected, callerToken },
        ...(withdrawn ? [withdrawn] : []),
      ]);
      return outcome?.kind === "outdated" ? undefined : outcome;
    });
    if (outcome instanceof Problem) return outcome;
    if (outcome.kind === "revoked") return tokenEnded;
    if (outcome.kind === "missing") return collectionNotFound(name);
    if (outcome.kind === "referenced") return referencedBy(outcome.by);
    return outcome.kind === "taken" ? notEmpty(name) : undefined;
  }
}

function usableVerbs(principal: Principal, collection: Collection): readonly Verb[] {
  const definition = definitionOf(collection);
  return verbs.filter(
    (verb) => isAdmin(principal) || canApply(principal, collection.name, verb, definition),
  );
}

const isCollection = ({ name }: Collection): boolean => !isSystemName(name);

const notEmpty = (name: string): Problem =>
  new Problem(
    "conflict",
    `The collection is not empty. To delete it with all its resources, which cannot be undone, add \`?confirm=${name}\`.`,
  );

const referencedBy = (name: string): Problem =>
  new Problem(
    "conflict",
    `The definition of ${name} has references to this collection. Remove them first.`,
  );
