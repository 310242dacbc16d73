// Turns operations into store changes: authorizes them, loads the state, checks preconditions and validates.

import { evaluated, type MaybePromise, then } from "../../lib/maybe-promise.ts";
import { TimedTurns } from "../../lib/turns.ts";
import { addFileMembers, noFiles } from "../../model/file.ts";
import { newId } from "../../model/id.ts";
import { Problem } from "../../model/problem.ts";
import type { Resource } from "../../model/resource.ts";
import type { Outcome, ResourceChange, Store } from "../../store/store.ts";
import type { Access } from "../access.ts";
import type { CollectionAccess } from "../collection-access.ts";
import { checkFileLimits, type FileLimits } from "../file-limits.ts";
import { preconditionFailed, resourceNotFound } from "../problems.ts";
import { refuseFile, seesIn } from "./accept-file.ts";
import { acceptOperation } from "./accept-operation.ts";
import { acceptWrite, refuse, takenByOther } from "./allow.ts";
import type { BatchMemory } from "./batch-memory.ts";
import { newPutOf, putOf, removalOf } from "./changes.ts";
import { followAll, isFollowed, ReferenceFollower } from "./follow-references.ts";
import { planOperations } from "./operate.ts";
import {
  type AddressedOperation,
  type CollectionPrecondition,
  type Operation,
  type Refused,
  workOf,
} from "./operation.ts";
import { plannedState, States, write } from "./states.ts";
import { Unseen } from "./unseen.ts";
import { Upserts } from "./upserts.ts";
import { type Accepted, isPlain, needsCurrent } from "./validate.ts";

/** An operation with the access of its caller to its collection. */
export interface PlannedOperation {
  readonly access: CollectionAccess;
  readonly operation: Operation;
}

export interface PlanContext {
  /** The Idempotency-Key of the request. */
  readonly key: string | undefined;
  readonly at: number;
  /** The limit of a patched resource. */
  readonly maxBytes: number;
  /** The prefix of every address. */
  readonly base: string;
  /** Counts the states of a batch. A single operation is not counted. */
  readonly memory: BatchMemory | undefined;
  /** How many other resources one request may delete or change because of its deletions. */
  readonly maxCascade: number;
  readonly fileLimits?: FileLimits | undefined;
  /** Whether all operations create or replace resources, without preconditions. */
  readonly isBulk: boolean;
  /** Whether nothing is written: then the results depend only on what the caller may know of. */
  readonly isTrial?: boolean;
}

const permissions = {
  create: "create",
  patch: "update",
  remove: "delete",
  put: "put",
  upsert: "put",
  operate: "update",
  file: "update",
} as const;

/** Plans each operation on the state that the operations before it will leave. */
export class Plan {
  readonly #store: Store;
  readonly #access: Access;
  readonly #context: PlanContext;
  readonly states = new States();
  #upserts: Upserts | undefined;
  /** Only of a dry run. */
  readonly unseen: Unseen | undefined;
  /**
   * The PUTs to resources that the caller does not see. They are tried under other ids and rolled back, so
   * that everything is checked as for a new resource. Only where one would be created is the id taken.
   */
  readonly hidden: Refused[] = [];
  /** The first operation that follows another one on the same resource, which other requests can prevent. */
  firstRepeat: number | undefined;

  constructor(store: Store, access: Access, context: PlanContext) {
    this.#store = store;
    this.#access = access;
    this.#context = context;
    this.unseen = context.isTrial ? new Unseen(store) : undefined;
  }

  get #upsert(): Upserts {
    this.#upserts ??= new Upserts(this.#store, this.states, this.#context.isBulk);
    return this.#upserts;
  }

  /** Whether another request has taken the value of an upsert since it was looked up: then plan again. */
  isOvertaken({ access, operation }: PlannedOperation, outcome: Outcome): boolean {
    return operation.kind === "upsert" && this.#upsert.isOvertaken(access, operation, outcome);
  }

  /** Returns the change of the only operation of a request, or a problem. */
  planOne(item: PlannedOperation): MaybePromise<ResourceChange | Problem> {
    const { access, operation } = item;
    const planned = this.#planAlone(item);
    const condition = operation.kind === "create" ? operation.collectionCondition : undefined;
    return condition ? this.#withCondition(access, condition, planned) : planned;
  }

  #planAlone(item: PlannedOperation): MaybePromise<ResourceChange | Problem> {
    const operations = [item];
    const decided = evaluated(
      () => then(this.#load(operations), () => this.#change(item, 0, operations)),
      () => this.#restart(operations),
    );
    return then(decided, (change) =>
      isFollowed(change, item.access.rules)
        ? this.#follow(operations, [change]).then(([followed = change]) => followed)
        : change,
    );
  }

  /**
   * A precondition counts only if the request would otherwise succeed, so it is checked after all else. The
   * revision is read before the state that the condition compares, which can only be newer.
   */
  async #withCondition(
    access: CollectionAccess,
    condition: CollectionPrecondition,
    planned: MaybePromise<ResourceChange | Problem>,
  ): Promise<ResourceChange | Problem> {
    const change = await planned;
    if (change instanceof Problem) return change;
    const collection = access.name;
    const revision = (await this.#store.collection(collection))?.revision;
    const holds = await condition(access);
    if (holds !== true) return holds === false ? preconditionFailed : holds;
    // A collection that this write creates cannot have changed.
    if (revision === undefined) return change;
    return { ...change, unchanged: [...(change.unchanged ?? []), { collection, revision }] };
  }

  /**
   * Returns a change or a problem for each operation. With `isListingAll` it goes on after a problem,
   * otherwise the problem is the last entry.
   */
  async plan(
    operations: readonly PlannedOperation[],
    isListingAll: boolean,
  ): Promise<readonly (ResourceChange | Problem)[]> {
    const planned = await evaluated(
      () => this.#changes(operations, isListingAll),
      () => this.#restart(operations),
    );
    const isAny = planned.some((each, at) => isFollowed(each, operations[at]?.access.rules));
    return isAny ? this.#follow(operations, planned) : planned;
  }

  async #changes(
    operations: readonly PlannedOperation[],
    isListingAll: boolean,
  ): Promise<readonly (ResourceChange | Problem)[]> {
    const reading = this.#load(operations);
    if (reading !== undefined) await reading;
    // All operations of a dry run are for one collection.
    const access = operations[0]?.access;
    if (access !== undefined) await this.unseen?.setAside(access, this.states, this.#upsert);
    const planned: (ResourceChange | Problem)[] = [];
    const turns = new TimedTurns();
    for (const item of operations) {
      const change = this.#change(item, planned.length, operations);
      planned.push(change);
      if (change instanceof Problem && !isListingAll) break;
      const ended = turns.take(workOf(item.operation));
      if (ended !== undefined) await ended;
    }
    return planned;
  }

  /** Forgets the states where rules ask about what is not read yet. Resolves when it is: then all is planned again. */
  #restart(operations: readonly PlannedOperation[]): Promise<unknown> | undefined {
    const loading = operations.flatMap(({ access }) => access.loading ?? []);
    if (loading.length === 0) return undefined;
    this.states.clear();
    this.#upserts = undefined;
    this.hidden.length = 0;
    this.firstRepeat = undefined;
    this.#context.memory?.restart();
    return Promise.all(loading);
  }

  /** Replaces changes by problems where references do not hold, and plans what follows from deletions. */
  #follow(
    operations: readonly PlannedOperation[],
    planned: readonly (ResourceChange | Problem)[],
  ): Promise<readonly (ResourceChange | Problem)[]> {
    const follower = new ReferenceFollower(this.#store, this.#access, this.#context, this.states);
    return followAll(follower, operations, planned, this.#context.isBulk);
  }

  /** Starts all reads at once: a remote database answers them in one round trip. */
  #load(operations: readonly PlannedOperation[]): MaybePromise<unknown> {
    const reads: Promise<unknown>[] = [];
    for (const { access, operation } of operations) {
      if (operation.kind === "create") continue;
      const read =
        operation.kind === "upsert"
          ? this.#upsert.load(access, operation, (id, current) =>
              this.#addState(access, operation.kind, id, current),
            )
          : then(this.#store.find(access.name, operation.id), (resource) =>
              this.#addState(access, operation.kind, operation.id, resource),
            );
      if (read instanceof Promise) reads.push(read);
    }
    return reads.length === 0 ? undefined : Promise.all(reads);
  }

  /** Drops the fields of a resource that many operations delete or replace, when they are not needed. */
  #addState(
    { name, rules, caller }: CollectionAccess,
    kind: Operation["kind"],
    id: string,
    resource: Resource | undefined,
  ): void {
    const { memory, isBulk } = this.#context;
    const isDropped =
      (kind === "remove" && memory) || (isBulk && !resource?.files && !needsCurrent(rules));
    const stored =
      isDropped && caller.writesWhole && resource ? { ...resource, fields: "" } : resource;
    this.states.add(name, id, stored);
  }

  #change(
    { access, operation }: PlannedOperation,
    index: number,
    others: readonly PlannedOperation[],
  ): ResourceChange | Problem {
    const forbidden = access.require(permissions[operation.kind]);
    if (forbidden !== undefined) return forbidden;
    if (operation.kind === "upsert") {
      const put = this.#upsert.resolve(access, operation);
      return put instanceof Problem ? put : this.#changeAt(access, put, index, others, false);
    }
    if (operation.kind !== "create") return this.#changeAt(access, operation, index, others);
    const id = newId();
    const { draft, files = noFiles } = operation;
    const { at, base, key } = this.#context;
    const place = { id, at, address: `${base}/${access.name}/${id}`, current: undefined, files };
    const fields = addFileMembers(draft.fields, files, place.address);
    const accepted = access.requireKey(key) ?? acceptWrite(access, fields, place);
    if (accepted instanceof Problem) return accepted;
    const full = this.#checkSize(access, accepted);
    if (full !== undefined) return full;
    // A later upsert can mean the new resource.
    if (this.#upserts !== undefined && !this.#context.isBulk)
      this.states.create(access.name, plannedState(access, id, accepted, undefined, at));
    return newPutOf(access, id, accepted, at);
  }

  #changeAt(
    access: CollectionAccess,
    operation: AddressedOperation,
    index: number,
    others: readonly PlannedOperation[],
    /** False when the address depends on the state, so that another state needs another plan. */
    isFixed = true,
  ): ResourceChange | Problem {
    const { kind, id, condition } = operation;
    const state = this.states.at(access.name, id);
    if (state === undefined) throw new Error("the state of each address must be loaded");
    // A resource that the caller may not access is treated as missing, so that no problem reveals it.
    const isVisible = state.current && access.includes(verbOf(kind), state.current);
    if (!isVisible) access.askForUnseen(verbOf(kind), id);
    const current = isVisible ? state.current : undefined;
    // Permission comes first: a precondition counts only if the request would otherwise succeed (RFC 9110 §13.2.1).
    const rejected =
      (kind === "put"
        ? access.require(current === undefined ? "create" : "update")
        : current === undefined
          ? resourceNotFound
          : undefined) ??
      (current && refuse(access, verbOf(kind), current)) ??
      (current && kind === "file" ? refuseFile(access, operation, current) : undefined) ??
      access.requirePrecondition(kind === "operate" || condition?.isByTag === true) ??
      (condition?.(current, access) === false ? preconditionFailed : undefined);
    if (rejected !== undefined) return rejected;
    if (kind === "put" && state.current && !isVisible) {
      state.hiddenId = newId();
      this.hidden.push({ index, problem: takenByOther });
    }
    const isFree = isFixed && condition === undefined && isPlain(operation, access, current);
    const expect = state.isWritten ? "anything" : isFree ? "no-files" : current?.revision;
    if (state.isWritten && state.isExpected) this.firstRepeat ??= index;
    else if (!state.isWritten) state.isExpected = true;
    const { memory, at } = this.#context;
    const changedBytes = state.isWritten ? 0 : (current?.fields.length ?? 0);
    if (kind === "remove") {
      // Grants need the fields of what is deleted, so they are in memory.
      const full = access.caller.writesWhole ? undefined : memory?.takeChanged(changedBytes);
      if (full !== undefined) return full;
      write(state, undefined);
      return removalOf(access, state.hiddenId ?? id, expect ?? "anything", at);
    }
    if (kind === "operate") {
      const change = planOperations(access, operation, state, { ...this.#context, others });
      if (change !== undefined) return change;
    }
    const accepted =
      memory?.takeChanged(changedBytes) ??
      acceptOperation(access, operation, current, this.#context);
    if (accepted instanceof Problem) return accepted;
    const full = this.#checkSize(access, accepted, current);
    if (full !== undefined) return full;
    write(state, plannedState(access, id, accepted, current, at));
    const put = putOf(access, state.hiddenId ?? id, accepted, expect ?? "nothing", at);
    const isRemovingFile = kind === "file" && operation.file === undefined;
    return isRemovingFile ? { ...put, isRemovingFile } : put;
  }

  #checkSize(access: CollectionAccess, { fields, files }: Accepted, current?: Resource) {
    const { memory, fileLimits } = this.#context;
    const full = memory?.takeWritten(fields.length);
    return full ?? checkFileLimits(fileLimits, files, current?.files, seesIn(access, current));
  }
}

const verbOf = (kind: AddressedOperation["kind"]) => (kind === "remove" ? "delete" : "update");
