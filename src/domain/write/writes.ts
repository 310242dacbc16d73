// The one way to write resources: plans operations, commits them, and retries when the state has changed.

import { type MaybePromise, then } from "../../lib/maybe-promise.ts";
import { type MemoryBudget, Reservation } from "../../lib/memory-budget.ts";
import type { IdempotencyKey } from "../../model/idempotency-key.ts";
import type { Principal } from "../../model/principal.ts";
import { Problem } from "../../model/problem.ts";
import type { ResourceChange, Store } from "../../store/store.ts";
import type { Access } from "../access.ts";
import type { CollectionAccess } from "../collection-access.ts";
import type { FileLimits } from "../file-limits.ts";
import { retryOnConflict } from "../retry.ts";
import type { Uploads } from "../uploads.ts";
import { BatchMemory } from "./batch-memory.ts";
import { withCollectionCondition } from "./collection-condition.ts";
import { PlanCommitter, type PlannedWrite } from "./commit.ts";
import {
  type AllDone,
  type BulkOperation,
  filesOf,
  type Operation,
  type Refused,
  type Removed,
  type TargetedOperation,
  type WriteResult,
  type Written,
} from "./operation.ts";
import { firstOf, singleResult } from "./outcomes.ts";
import { Plan, type PlannedOperation } from "./plan.ts";

export interface WriteOptions {
  readonly clock: () => number;
  /** The limit of a patched resource, which is that of a request body. */
  readonly maxBytes: number;
  /** The addresses of resources and files begin with it. */
  readonly base: string;
  readonly memory: MemoryBudget;
  /** How many other resources one request may delete or change because of its deletions. */
  readonly maxCascade: number;
  readonly fileLimits?: FileLimits | undefined;
}

type RemoveOperation = Extract<Operation, { kind: "remove" }>;

/** Returns the operations with current access; called again for each attempt. */
type Open = (isFirst: boolean) => MaybePromise<readonly PlannedOperation[] | Problem>;

interface AtomicOptions {
  readonly once?: IdempotencyKey | undefined;
  /** Whether every rejected operation is listed, not only the first. */
  readonly isListingAll?: boolean;
  /** Counts the states of a batch. */
  readonly isCounted?: boolean;
  readonly isBulk?: boolean;
}

interface EachOptions {
  readonly isTrial: boolean;
  /** The Idempotency-Key of the request. */
  readonly key?: string | undefined;
}

export class Writes {
  readonly #store: Store;
  readonly #access: Access;
  readonly #uploads: Uploads;
  readonly #options: WriteOptions;
  readonly #committer: PlanCommitter;

  constructor(store: Store, access: Access, uploads: Uploads, options: WriteOptions) {
    this.#store = store;
    this.#access = access;
    this.#uploads = uploads;
    this.#options = options;
    this.#committer = new PlanCommitter(store, options.clock);
  }

  /**
   * Runs one operation; resolves when it is on disk. An admin's first write creates the collection. The
   * files that came with it are removed when it is not done.
   */
  run(access: CollectionAccess, operation: RemoveOperation): Promise<Removed | Problem>;
  run(
    access: CollectionAccess,
    operation: Exclude<Operation, RemoveOperation>,
    once?: IdempotencyKey,
  ): Promise<Written | Problem>;
  run(
    access: CollectionAccess,
    operation: Operation,
    once?: IdempotencyKey,
  ): Promise<WriteResult | Problem> {
    const files = filesOf(operation);
    if (files.length === 0) return this.#runOne(access, operation, once);
    const write = () => this.#runOne(access, operation, once);
    return this.#uploads.writeWithFiles(files, write, filesAfter);
  }

  /** Writes nothing, and returns the change that an operation would make. */
  async plan(access: CollectionAccess, operation: Operation): Promise<ResourceChange | Problem> {
    const [planned] = await this.#plan("-").plan([{ access, operation }], false);
    if (planned === undefined) throw new Error("each operation must have a plan");
    return planned;
  }

  /** Runs all operations of a batch or none. Returns the first that is rejected. */
  async runAll(
    principal: Principal,
    operations: readonly TargetedOperation[],
    once?: IdempotencyKey,
  ): Promise<AllDone | Refused | Problem> {
    const names = [...new Set(operations.map(({ collection }) => collection))];
    const open = async () => {
      const current = await this.#access.renew(principal);
      if (current instanceof Problem) return current;
      const opened = names.map(async (name) => this.#access.collection(current, name));
      const accesses = new Map((await Promise.all(opened)).map((access) => [access.name, access]));
      return operations.flatMap((operation) => {
        const access = accesses.get(operation.collection);
        return access === undefined ? [] : [{ access, operation }];
      });
    };
    const done = await this.#runAtomic(open, { once, isCounted: true });
    return firstOf(done);
  }

  /** Creates or replaces all or none. Lists every operation that is rejected. */
  runAllIn(
    access: CollectionAccess,
    operations: readonly BulkOperation[],
    once?: IdempotencyKey,
  ): Promise<AllDone | readonly Refused[] | Problem> {
    const open = (isFirst: boolean) =>
      then(this.#reopen(access, isFirst), (current) =>
        current instanceof Problem
          ? current
          : operations.map((operation) => ({ access: current, operation })),
      );
    return this.#runAtomic(open, { once, isListingAll: true, isBulk: true });
  }

  /**
   * Creates or replaces each resource on its own, all in one commit. Returns the results in the same
   * order.
   */
  runEach(
    access: CollectionAccess,
    operations: readonly BulkOperation[],
  ): Promise<readonly (Written | Problem)[]> {
    return this.#eachOf(access, operations, { isTrial: false });
  }

  /** Writes nothing, and returns what would become of each operation after those before it. */
  tryEach(
    access: CollectionAccess,
    operations: readonly BulkOperation[],
    key?: string,
  ): Promise<readonly (Written | Problem)[]> {
    return this.#eachOf(access, operations, { isTrial: true, key });
  }

  async #eachOf(
    access: CollectionAccess,
    operations: readonly BulkOperation[],
    options: EachOptions,
  ): Promise<readonly (Written | Problem)[]> {
    const settled: (Written | Problem)[] = [];
    let pending = operations.map((operation, index) => ({ index, operation }));
    await retryOnConflict(async (isFirst) => {
      // Rules are bound anew for each group of a long stream.
      const current = await this.#reopen(access, isFirst && access.bound === undefined);
      if (current instanceof Problem) {
        for (const { index } of pending) settled[index] = current;
        return true;
      }
      const items = pending.map(({ operation }) => ({ access: current, operation }));
      const results = await this.#attemptEach(current, items, options);
      pending = pending.filter(({ index }, at) => {
        const result = results[at];
        if (result !== undefined) settled[index] = result;
        return result === undefined;
      });
      return pending.length === 0 ? true : undefined;
    });
    return settled;
  }

  /** Returns undefined for each operation that must be tried again. */
  async #attemptEach(
    access: CollectionAccess,
    operations: readonly PlannedOperation[],
    { isTrial, key }: EachOptions,
  ): Promise<readonly (Written | Problem | undefined)[]> {
    const plan = this.#plan(key, true);
    const planned = await plan.plan(operations, true);
    const results = await this.#committer.eachPlanned(
      access,
      { operations, plan, planned },
      isTrial,
    );
    if (plan.states.size > 0 && !isTrial) {
      const written = results.flatMap((result) =>
        result === undefined || result instanceof Problem ? [] : [result.resource],
      );
      plan.states.settle(access.name, written);
      const unused = plan.states.unusedFiles;
      if (unused.length > 0) await this.#uploads.discard(unused);
    }
    return results;
  }

  /**
   * Much can have happened while the request was read. The access of the first attempt is the caller's, if
   * it still has it (`isKept`); a retry reads the rules again.
   */
  #reopen(access: CollectionAccess, isKept: boolean): MaybePromise<CollectionAccess | Problem> {
    const renewed = this.#access.renew(access.principal);
    if (isKept && renewed === access.principal) return access;
    return then(renewed, (current) => {
      if (current instanceof Problem) return current;
      if (isKept && current === access.principal) return access;
      return this.#access.collection(current, access.name);
    });
  }

  #runOne(
    access: CollectionAccess,
    operation: Operation,
    once: IdempotencyKey | undefined,
  ): Promise<WriteResult | Problem> {
    return retryOnConflict((isFirst) => this.#attemptOne(access, operation, once, isFirst));
  }

  async #attemptOne(
    access: CollectionAccess,
    operation: Operation,
    once: IdempotencyKey | undefined,
    isFirst: boolean,
  ): Promise<WriteResult | Problem | undefined> {
    // Nothing is awaited on an embedded store before the commit.
    const opened = this.#reopen(access, isFirst);
    const current = opened instanceof Promise ? await opened : opened;
    if (current instanceof Problem) return current;
    const done = await this.#attempt([{ access: current, operation }], this.#plan(once?.key), once);
    return done && singleResult(done);
  }

  #runAtomic(open: Open, options: AtomicOptions): Promise<AllDone | readonly Refused[] | Problem> {
    const { once, isListingAll, isCounted = false, isBulk = false } = options;
    const key = once?.key;
    return retryOnConflict(async (isFirst) => {
      const opened = open(isFirst);
      const operations = opened instanceof Promise ? await opened : opened;
      if (operations instanceof Problem) return operations;
      if (!isCounted) return this.#attempt(operations, this.#plan(key, isBulk), once, isListingAll);
      const memory = new Reservation(this.#options.memory);
      const plan = this.#plan(key, isBulk, new BatchMemory(memory));
      return this.#attempt(operations, plan, once, isListingAll).finally(() => memory.release());
    });
  }

  #attempt(
    operations: readonly PlannedOperation[],
    plan: Plan,
    once: IdempotencyKey | undefined,
    isListingAll = false,
  ): Promise<AllDone | readonly Refused[] | Problem | undefined> {
    const planned = plan.plan(operations, isListingAll);
    const planning = withCollectionCondition(this.#store, operations, planned);
    return planning instanceof Promise
      ? planning.then((planned) => this.#commit({ operations, plan, planned }, once))
      : this.#commit({ operations, plan, planned: planning }, once);
  }

  /** A plan without states replaces nothing, so that no file becomes unused. */
  #commit(write: PlannedWrite, once: IdempotencyKey | undefined) {
    const committed = this.#committer.all(write, once);
    return write.plan.states.size === 0 ? committed : this.#discardUnused(write.plan, committed);
  }

  async #discardUnused(plan: Plan, committed: ReturnType<PlanCommitter["all"]>) {
    const done = await committed;
    const isDone = done !== undefined && "results" in done && !done.isReplay;
    const unused = isDone ? plan.states.unusedFiles : [];
    if (unused.length > 0) await this.#uploads.discard(unused);
    return done;
  }

  #plan(key: string | undefined, isBulk = false, memory?: BatchMemory): Plan {
    const { clock, maxBytes, base, maxCascade, fileLimits } = this.#options;
    const context = { key, at: clock(), maxBytes, base, memory, maxCascade, fileLimits, isBulk };
    return new Plan(this.#store, this.#access, context);
  }
}

const filesAfter = (result: WriteResult): string | undefined =>
  result.kind === "written" ? result.resource.files : undefined;
