// Turns the operations of a batch into changes, within a budget of bytes and without holding up others.

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
import { isOwned, mayTry, reaches, requirePermission } from "./access.ts";
import { acceptPatch, siteOf, type Writing } from "./patches.ts";
import {
  type Condition,
  collectionNotFound,
  overloaded,
  preconditionFailed,
  refusePutDraft,
  requireKey,
  requirePrecondition,
  resourceNotFound,
} from "./problems.ts";
import { judgedBy } from "./resources.ts";
import { type Accepted, accept } from "./validate.ts";

/** The states that a batch changes, and those that it writes, are held in memory together. */
export const batchLimits = { maxChangedBytes: 32 * 1024 * 1024, maxWrittenBytes: 32 * 1024 * 1024 };

/** So long operations are judged in one go before others get their turn. */
const longestTurnMs = 10;

interface Place {
  readonly collection: string;
  readonly id: string;
  readonly condition?: Condition | undefined;
}

export type Operation =
  | { readonly kind: "create"; readonly collection: string; readonly draft: Draft }
  | (Place & { readonly kind: "put"; readonly draft: Draft })
  | (Place & { readonly kind: "patch"; readonly patchKind: PatchKind; readonly patch: string })
  | (Place & { readonly kind: "remove" });

/** The operation that could not be done, and why; so none was. */
export interface BatchRefused {
  readonly index: number;
  readonly problem: Problem;
}

/** What is the same for all operations of a batch. */
export interface BatchTerms {
  readonly caller: Token;
  readonly key: string | undefined;
  readonly at: number;
  readonly maxBytes: number;
  readonly base: string;
}

/** Turns operations into changes, each judged on the state that those before it will have left. */
export class Planner {
  readonly #store: Store;
  readonly #terms: BatchTerms;
  readonly #memory: Reservation;
  readonly #targets = new Map<string, Rules | undefined>();
  readonly #found = new Map<string, Resource | undefined>();
  /** What earlier operations of the batch leave at an address. */
  readonly #left = new Map<string, Resource | undefined>();
  /** The ids under which PUTs to what the caller does not reach are tried, by address; see hidden.ts. */
  readonly #elsewhere = new Map<string, string>();
  /** The first of these, refused when nothing else refuses the batch. */
  hidden: BatchRefused | undefined;

  #changedBytes = 0;
  #writtenBytes = 0;

  /** The states that are changed and written count as held by the reservation. */
  constructor(store: Store, terms: BatchTerms, memory: Reservation) {
    this.#store = store;
    this.#terms = terms;
    this.#memory = memory;
  }

  get rules(): ReadonlyMap<string, Rules | undefined> {
    return this.#targets;
  }

  /** The files that nothing names when all is done. */
  get dropped(): readonly StoredFile[] {
    const kept = [...this.#left.values()].flatMap((resource) => readFiles(resource?.parts));
    const keys = new Set(kept.map(({ key }) => key));
    return [...this.#left.keys()]
      .flatMap((address) => readFiles(this.#found.get(address)?.parts))
      .filter(({ key }) => !keys.has(key));
  }

  async make(
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
      if (performance.now() - turnStart > longestTurnMs) {
        await nextTurn();
        turnStart = performance.now();
      }
    }
    return changes;
  }

  /** All that is needed, asked for at once: a remote engine answers it in one round. */
  async #read(operations: readonly Operation[]): Promise<void> {
    const reads = operations.flatMap((operation) => {
      const { kind, collection } = operation;
      const target = this.#readTarget(collection);
      return kind === "create" ? [target] : [target, this.#readState(operation)];
    });
    await Promise.all(reads);
  }

  async #readTarget(name: string): Promise<void> {
    this.#targets.set(name, await this.#store.rules(name));
  }

  /** Of what is removed, and not changed before, the fields are not needed. */
  async #readState({
    kind,
    collection,
    id,
  }: Exclude<Operation, { kind: "create" }>): Promise<void> {
    const address = `${collection}/${id}`;
    const resource = await this.#store.find(collection, id);
    if (this.#found.get(address)?.fields) return;
    this.#found.set(
      address,
      kind === "remove" && resource ? { ...resource, fields: "" } : resource,
    );
  }

  #change(operation: Operation, index: number): Put | Remove | Problem {
    const { caller, key } = this.#terms;
    const { kind, collection } = operation;
    const target = this.#targets.get(collection);
    const forbidden = mayTry(caller, kind, collection, target);
    if (forbidden !== undefined) return forbidden;
    if (target === undefined && !isAdmin(caller)) return collectionNotFound(collection);
    if (kind !== "create") return this.#changeAt(operation, target, index);
    const id = newId();
    const site = siteOf(this.#writing(collection, target), id, undefined);
    const accepted =
      requireKey(target, key) ?? accept(caller, target, operation.draft.fields, site);
    if (accepted instanceof Problem) return accepted;
    return this.#put(collection, id, accepted, undefined, "nothing");
  }

  #changeAt(
    operation: Exclude<Operation, { kind: "create" }>,
    target: Rules | undefined,
    index: number,
  ): Put | Remove | Problem {
    const { caller, at } = this.#terms;
    const { kind, collection, id, condition } = operation;
    const address = `${collection}/${id}`;
    const isTouched = this.#left.has(address);
    const found = (isTouched ? this.#left : this.#found).get(address);
    const isHidden = kind === "put" && found && !reaches(caller, "update", target, found);
    const current = isHidden ? undefined : found;
    const verb = kind === "remove" ? "delete" : current ? "update" : "create";
    const refused =
      (kind === "put" ? requirePermission(caller, collection, verb, target) : undefined) ??
      (kind !== "put" && current === undefined ? resourceNotFound : undefined) ??
      (current && !reaches(caller, verb, target, current) ? resourceNotFound : undefined) ??
      requirePrecondition(target, condition) ??
      (condition?.(current, target) === false ? preconditionFailed : undefined);
    if (refused !== undefined) return refused;
    if (isHidden) this.#hide(address, index);
    const expect = isTouched ? "anything" : current?.revision;
    if (kind === "remove") {
      this.#left.set(address, undefined);
      const place = { collection, id: this.#elsewhere.get(address) ?? id };
      return { kind, ...place, at, expect: expect ?? "anything", ...judgedBy(target) };
    }
    if (!isTouched) this.#changedBytes += current?.fields.length ?? 0;
    if (this.#changedBytes > batchLimits.maxChangedBytes) return changesTooMuch;
    if (!isTouched && !this.#memory.take(current?.fields.length ?? 0)) return overloaded;
    const accepted = this.#accept(operation, current, target);
    if (accepted instanceof Problem) return accepted;
    return this.#put(collection, id, accepted, current, expect ?? "nothing");
  }

  #hide(address: string, index: number): void {
    this.#elsewhere.set(address, newId());
    this.hidden ??= { index, problem: resourceNotFound };
  }

  #writing(collection: string, rules: Rules | undefined): Writing {
    const { caller, base } = this.#terms;
    return { caller, collection, rules, base };
  }

  #accept(
    operation: Extract<Operation, { kind: "put" | "patch" }>,
    current: Resource | undefined,
    target: Rules | undefined,
  ): Accepted | Problem {
    const { caller, maxBytes } = this.#terms;
    const writing = this.#writing(operation.collection, target);
    if (operation.kind === "put") {
      const site = siteOf(writing, operation.id, current);
      const unfit = refusePutDraft(operation.id, operation.draft);
      return unfit ?? accept(caller, target, operation.draft.fields, site);
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
    // Each state is held until the whole batch is written, and then sent in the answer.
    this.#writtenBytes += accepted.fields.length;
    if (this.#writtenBytes > batchLimits.maxWrittenBytes) return writesTooMuch;
    if (!this.#memory.take(accepted.fields.length)) return overloaded;
    const { at, caller } = this.#terms;
    const target = this.#targets.get(collection);
    const creator = isOwned(target) ? { owner: caller.id } : {};
    const owner = current?.owner === undefined ? creator : { owner: current.owner };
    // No revision yet, so no client can name this state: it is judged by what it holds alone.
    const times = { createdAt: current?.createdAt ?? at, updatedAt: at };
    this.#left.set(`${collection}/${id}`, { id, ...accepted, revision: 0, ...times, ...owner });
    return {
      kind: "put",
      collection,
      id: this.#elsewhere.get(`${collection}/${id}`) ?? id,
      ...accepted,
      at,
      expect,
      ...creator,
      ...judgedBy(target),
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
