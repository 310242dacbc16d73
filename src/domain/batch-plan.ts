// Turns the operations of a batch into store changes, within a memory budget and without blocking the event loop.

import { setImmediate as nextTurn } from "node:timers/promises";
import type { Reservation } from "../lib/memory-budget.ts";
import type { Rules } from "../model/collection.ts";
import type { Draft } from "../model/draft.ts";
import { readFiles, type StoredFile } from "../model/file.ts";
import { newId } from "../model/id.ts";
import type { PatchKind } from "../model/patch.ts";
import { Problem } from "../model/problem.ts";
import type { Resource } from "../model/resource.ts";
import { isAdmin, type Token } from "../model/token.ts";
import type { Put, Remove, Store } from "../store/store.ts";
import { canAccess, isOwned, requirePermission, requireWritePermission } from "./access.ts";
import { acceptPatch, type WriteContext, writeTargetOf } from "./patches.ts";
import {
  type Condition,
  checkPutDraft,
  collectionNotFound,
  overloaded,
  preconditionFailed,
  requireKey,
  requirePrecondition,
  resourceNotFound,
} from "./problems.ts";
import { rulesVersionOf } from "./resources.ts";
import { type Accepted, accept } from "./validate.ts";

/** The former and the new states of a batch are in memory at the same time. */
export const batchLimits = { maxChangedBytes: 32 * 1024 * 1024, maxWrittenBytes: 32 * 1024 * 1024 };

/** After this time the planner yields to other requests. */
const maxTurnMs = 10;

interface Address {
  readonly collection: string;
  readonly id: string;
  readonly condition?: Condition | undefined;
}

export type Operation =
  | { readonly kind: "create"; readonly collection: string; readonly draft: Draft }
  | (Address & { readonly kind: "put"; readonly draft: Draft })
  | (Address & { readonly kind: "patch"; readonly patchKind: PatchKind; readonly patch: string })
  | (Address & { readonly kind: "remove" });

/** The operation that was rejected, and why. None of the batch was done. */
export interface BatchRefused {
  readonly index: number;
  readonly problem: Problem;
}

/** What all operations of a batch have in common. */
export interface BatchContext {
  readonly caller: Token;
  readonly key: string | undefined;
  readonly at: number;
  readonly maxBytes: number;
  readonly base: string;
}

/** Plans each operation on the state that the operations before it will leave. */
export class BatchPlanner {
  readonly #store: Store;
  readonly #context: BatchContext;
  readonly #memory: Reservation;
  readonly #rules = new Map<string, Rules | undefined>();
  readonly #stored = new Map<string, Resource | undefined>();
  /** The state that earlier operations of the batch leave at an address. */
  readonly #written = new Map<string, Resource | undefined>();
  /** The ids under which PUTs to inaccessible resources are tried, by address; see hidden-resource.ts. */
  readonly #hiddenPutIds = new Map<string, string>();
  /** The first PUT to an inaccessible resource; rejected when nothing else rejects the batch. */
  hiddenPut: BatchRefused | undefined;

  #changedBytes = 0;
  #writtenBytes = 0;

  /** The bytes of former and new states are taken from `memory`. */
  constructor(store: Store, context: BatchContext, memory: Reservation) {
    this.#store = store;
    this.#context = context;
    this.#memory = memory;
  }

  get rules(): ReadonlyMap<string, Rules | undefined> {
    return this.#rules;
  }

  /** The files that no resource has after the batch. */
  get unusedFiles(): readonly StoredFile[] {
    const files = [...this.#written.values()].flatMap((resource) => readFiles(resource?.parts));
    const keys = new Set(files.map(({ key }) => key));
    return [...this.#written.keys()]
      .flatMap((address) => readFiles(this.#stored.get(address)?.parts))
      .filter(({ key }) => !keys.has(key));
  }

  async plan(
    operations: readonly Operation[],
  ): Promise<readonly (Put | Remove)[] | BatchRefused | typeof overloaded> {
    await this.#read(operations);
    const changes: (Put | Remove)[] = [];
    let turnStart = performance.now();
    for (const [index, operation] of operations.entries()) {
      const change = this.#change(operation, index);
      if (change === overloaded) return overloaded;
      if (change instanceof Problem) return { index, problem: change };
      changes.push(change);
      if (performance.now() - turnStart > maxTurnMs) {
        await nextTurn();
        turnStart = performance.now();
      }
    }
    return changes;
  }

  /** Starts all reads at once: a remote database answers them in one round trip. */
  async #read(operations: readonly Operation[]): Promise<void> {
    const reads = operations.flatMap((operation) => {
      const { kind, collection } = operation;
      const rules = this.#readRules(collection);
      return kind === "create" ? [rules] : [rules, this.#readState(operation)];
    });
    await Promise.all(reads);
  }

  async #readRules(name: string): Promise<void> {
    this.#rules.set(name, await this.#store.rules(name));
  }

  /** Drops the fields of a resource that the batch only deletes, because they are not needed. */
  async #readState({
    kind,
    collection,
    id,
  }: Exclude<Operation, { kind: "create" }>): Promise<void> {
    const address = `${collection}/${id}`;
    const resource = await this.#store.find(collection, id);
    if (this.#stored.get(address)?.fields) return;
    this.#stored.set(
      address,
      kind === "remove" && resource ? { ...resource, fields: "" } : resource,
    );
  }

  #change(operation: Operation, index: number): Put | Remove | Problem {
    const { caller, key } = this.#context;
    const { kind, collection } = operation;
    const rules = this.#rules.get(collection);
    const forbidden = requireWritePermission(caller, kind, collection, rules);
    if (forbidden !== undefined) return forbidden;
    if (rules === undefined && !isAdmin(caller)) return collectionNotFound(collection);
    if (kind !== "create") return this.#changeAt(operation, rules, index);
    const id = newId();
    const site = writeTargetOf(this.#writing(collection, rules), id, undefined);
    const accepted = requireKey(rules, key) ?? accept(caller, rules, operation.draft.fields, site);
    if (accepted instanceof Problem) return accepted;
    return this.#put(collection, id, accepted, undefined, "nothing");
  }

  #changeAt(
    operation: Exclude<Operation, { kind: "create" }>,
    rules: Rules | undefined,
    index: number,
  ): Put | Remove | Problem {
    const { caller, at } = this.#context;
    const { kind, collection, id, condition } = operation;
    const address = `${collection}/${id}`;
    const isWritten = this.#written.has(address);
    const stored = (isWritten ? this.#written : this.#stored).get(address);
    const isHidden = kind === "put" && stored && !canAccess(caller, "update", rules, stored);
    const current = isHidden ? undefined : stored;
    const verb = kind === "remove" ? "delete" : current ? "update" : "create";
    const rejected =
      (kind === "put" ? requirePermission(caller, collection, verb, rules) : undefined) ??
      (kind !== "put" && current === undefined ? resourceNotFound : undefined) ??
      (current && !canAccess(caller, verb, rules, current) ? resourceNotFound : undefined) ??
      requirePrecondition(rules, condition) ??
      (condition?.(current, rules) === false ? preconditionFailed : undefined);
    if (rejected !== undefined) return rejected;
    if (isHidden) this.#noteHiddenPut(address, index);
    const expect = isWritten ? "anything" : current?.revision;
    if (kind === "remove") {
      this.#written.set(address, undefined);
      const place = { collection, id: this.#hiddenPutIds.get(address) ?? id };
      return { kind, ...place, at, expect: expect ?? "anything", ...rulesVersionOf(rules) };
    }
    if (!isWritten) this.#changedBytes += current?.fields.length ?? 0;
    if (this.#changedBytes > batchLimits.maxChangedBytes) return changesTooMuch;
    if (!isWritten && !this.#memory.take(current?.fields.length ?? 0)) return overloaded;
    const accepted = this.#accept(operation, current, rules);
    if (accepted instanceof Problem) return accepted;
    return this.#put(collection, id, accepted, current, expect ?? "nothing");
  }

  #noteHiddenPut(address: string, index: number): void {
    this.#hiddenPutIds.set(address, newId());
    this.hiddenPut ??= { index, problem: resourceNotFound };
  }

  #writing(collection: string, rules: Rules | undefined): WriteContext {
    const { caller, base } = this.#context;
    return { caller, collection, rules, base };
  }

  #accept(
    operation: Extract<Operation, { kind: "put" | "patch" }>,
    current: Resource | undefined,
    rules: Rules | undefined,
  ): Accepted | Problem {
    const { caller, maxBytes } = this.#context;
    const writing = this.#writing(operation.collection, rules);
    if (operation.kind === "put") {
      const site = writeTargetOf(writing, operation.id, current);
      const invalid = checkPutDraft(operation.id, operation.draft);
      return invalid ?? accept(caller, rules, operation.draft.fields, site);
    }
    if (current === undefined) return resourceNotFound;
    const { patchKind, patch } = operation;
    return acceptPatch(writing, current, { kind: patchKind, text: patch, maxBytes });
  }

  #put(
    collection: string,
    id: string,
    accepted: Accepted,
    current: Resource | undefined,
    expect: Put["expect"],
  ): Put | Problem {
    // Each state stays in memory until the batch is written and the response is sent.
    this.#writtenBytes += accepted.fields.length;
    if (this.#writtenBytes > batchLimits.maxWrittenBytes) return writesTooMuch;
    if (!this.#memory.take(accepted.fields.length)) return overloaded;
    const { at, caller } = this.#context;
    const rules = this.#rules.get(collection);
    const creator = isOwned(rules) ? { owner: caller.id } : {};
    const owner = current?.owner === undefined ? creator : { owner: current.owner };
    // The state has no revision yet, so no precondition of the client can name it.
    const times = { createdAt: current?.createdAt ?? at, updatedAt: at };
    this.#written.set(`${collection}/${id}`, { id, ...accepted, revision: 0, ...times, ...owner });
    return {
      kind: "put",
      collection,
      id: this.#hiddenPutIds.get(`${collection}/${id}`) ?? id,
      ...accepted,
      at,
      expect,
      ...creator,
      ...rulesVersionOf(rules),
    };
  }
}

const mebibytes = (bytes: number): string => `${bytes / 1024 / 1024} MiB`;

const changesTooMuch = new Problem(
  "content-too-large",
  `Up to this operation the batch changes resources of over ${mebibytes(batchLimits.maxChangedBytes)} together. Send fewer operations at once.`,
);

const writesTooMuch = new Problem(
  "content-too-large",
  `Up to this operation the batch writes over ${mebibytes(batchLimits.maxWrittenBytes)}. Send fewer operations at once.`,
);
