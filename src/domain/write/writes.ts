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
import { PlanCommitter } from "./commit.ts";
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
import { firstOf } from "./outcomes.ts";
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
    this.#committer = new PlanCommitter(store);
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
    const write = () =>
      retryOnConflict((isFirst) => this.#attemptOne(access, operation, once, isFirst));
    return files.length === 0 ? write() : this.#uploads.writeWithFiles(files, write, filesAfter);
  }

  /** Writes nothing, and returns the change that an operation would make. */
  async plan(access: CollectionAccess, operation: Operation): Promise<ResourceChange | Problem> {
    const plan = this.#plan("-");
    const change = await plan.planOne({ access, operation });
    return change instanceof Problem ? change : (plan.hidden[0]?.problem ?? change);
  }

  /** Runs all operations of a batch or none. Returns the first that is rejected. */
  async runAll(
    principal: Principal,
    operations: readonly TargetedOperation[],
    once?: IdempotencyKey,
  ): Promise<AllDone | Refused | Problem> {
    const names = [...new Set(operations.map(({ collection }) => collection))];
    const open = async () => {
      const current = await this.#access.callers.renew(principal);
      if (current instanceof Problem) return current;
      const opened = names.map(async (name) => this.#access.collection(current, name));
      const accesses = new Map((await Promise.all(opened)).map((access) => [access.name, access]));
      return operations.flatMap((operation) => {
        const access = accesses.get(operation.collection);
        return access === undefined ? [] : [{ access, operation }];
      });
    };
    return firstOf(await this.#runAtomic(open, once, false));
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
    return this.#runAtomic(open, once, true);
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
      // Grants are compiled anew for each group of a long stream.
      const current = await this.#reopen(access, isFirst && access.caller.writesWhole);
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
    const plan = this.#plan(key, true, undefined, isTrial);
    const planned = await plan.plan(operations, true);
    const results = await this.#committer.eachPlanned(access, { operations, plan, planned });
    if (plan.states.size > 0 && !isTrial) {
      const written = results.flatMap((result) =>
        result === undefined || result instanceof Problem ? [] : [result.resource],
      );
      plan.states.settle(access.name, written);
      await this.#discardUnused(plan);
    }
    return results;
  }

  /**
   * Much can have happened while the request was read. The access of the first attempt is the caller's, if
   * it still has it (`isKept`); a retry reads the rules again.
   */
  #reopen(access: CollectionAccess, isKept: boolean): MaybePromise<CollectionAccess | Problem> {
    const renewed = this.#access.callers.renew(access.principal);
    if (isKept && renewed === access.principal) return access;
    return then(renewed, (current) => {
      if (current instanceof Problem) return current;
      if (isKept && current === access.principal) return access;
      return this.#access.collection(current, access.name);
    });
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
    const item = { access: current, operation };
    const plan = this.#plan(once?.key);
    const planning = plan.planOne(item);
    const planned = planning instanceof Promise ? await planning : planning;
    const done = await this.#committer.one(item, plan, planned, once);
    const isWritten = done?.kind === "removed" || (done?.kind === "written" && !done.isReplay);
    // A plan without states replaces nothing, so that no file becomes unused.
    if (isWritten && plan.states.size > 0) await this.#discardUnused(plan);
    return done;
  }

  /** In bulk, every operation that is rejected is listed; otherwise the states of the batch are counted. */
  #runAtomic(
    open: Open,
    once: IdempotencyKey | undefined,
    isBulk: boolean,
  ): Promise<AllDone | readonly Refused[] | Problem> {
    return retryOnConflict(async (isFirst) => {
      const operations = await open(isFirst);
      if (operations instanceof Problem) return operations;
      const memory = new Reservation(this.#options.memory);
      const plan = this.#plan(once?.key, isBulk, isBulk ? undefined : new BatchMemory(memory));
      try {
        const planned = await plan.plan(operations, isBulk);
        const done = await this.#committer.all({ operations, plan, planned }, once);
        if (done && "results" in done && !done.isReplay) await this.#discardUnused(plan);
        return done;
      } finally {
        memory.release();
      }
    });
  }

  async #discardUnused({ states: { unusedFiles } }: Plan): Promise<void> {
    if (unusedFiles.length > 0) await this.#uploads.discard(unusedFiles);
  }

  #plan(key: string | undefined, isBulk = false, memory?: BatchMemory, isTrial = false): Plan {
    const { clock, maxBytes, base, maxCascade, fileLimits } = this.#options;
    const limits = { maxBytes, maxCascade, fileLimits };
    const context = { key, at: clock(), base, memory, isBulk, isTrial, ...limits };
    return new Plan(this.#store, this.#access, context);
  }
}

const filesAfter = (result: WriteResult): string | undefined =>
  result.kind === "written" ? result.resource.files : undefined;
