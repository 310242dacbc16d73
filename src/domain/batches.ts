// Many changes as one: all of them happen, or none.

import type { Rules } from "../model/collection.ts";
import type { Draft } from "../model/draft.ts";
import { newId } from "../model/id.ts";
import type { PatchKind } from "../model/json/patch.ts";
import { type Part, readParts } from "../model/part.ts";
import { Problem } from "../model/problem.ts";
import type { Resource } from "../model/resource.ts";
import { isAdmin, type Token } from "../model/token.ts";
import type { Once, Outcome, Put, Remove, Store } from "../store/store.ts";
import { isOwned, mayDo, mayTry, reaches } from "./access.ts";
import { type Accepted, accept } from "./drafts.ts";
import { conflictIn, impossible, lacksCollection, untilSettled } from "./outcomes.ts";
import { acceptPatch, siteOf, type Writing } from "./patches.ts";
import {
  type Condition,
  keyReused,
  noCollection,
  noResource,
  preconditionFailed,
  refuseKeyless,
  refusePutDraft,
  refuseUnconditional,
} from "./refusals.ts";
import { judgedBy } from "./resources.ts";
import type { Uploads } from "./uploads.ts";

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

export interface BatchDone {
  readonly outcomes: readonly Outcome[];
  readonly isReplay: boolean;
  /** By which each collection's were judged, and are shown. */
  readonly rules: ReadonlyMap<string, Rules | undefined>;
}

/** The operation that could not be done, and why; so none was. */
export interface BatchRefused {
  readonly index: number;
  readonly problem: Problem;
}

export class Batches {
  readonly #store: Store;
  readonly #uploads: Uploads;
  readonly #clock: () => number;
  readonly #maxBytes: number;
  readonly #base: string;

  constructor(store: Store, uploads: Uploads, clock: () => number, maxBytes: number, base: string) {
    this.#store = store;
    this.#uploads = uploads;
    this.#clock = clock;
    this.#maxBytes = maxBytes;
    this.#base = base;
  }

  async run(
    caller: Token,
    operations: readonly Operation[],
    once?: Once,
  ): Promise<BatchDone | BatchRefused | Problem> {
    return untilSettled(async () => {
      const planner = this.#planner(caller, once);
      const plan = await planner.make(operations);
      // A retry must get the first answer also where its own preconditions no longer hold.
      const changes =
        "index" in plan ? [impossible] : planner.hidden ? [...plan, impossible] : plan;
      const isHopeless = "index" in plan && once === undefined;
      const outcome = isHopeless ? undefined : await this.#commit(caller, changes, once);
      if (outcome?.kind === "all") {
        if (!outcome.isReplay) await this.#uploads.discard(planner.dropped);
        return { ...outcome, rules: planner.rules };
      }
      if (outcome?.kind === "reused") return keyReused;
      const conflict = outcome && conflictIn(outcome);
      if (outcome?.kind === "none" && conflict) return { index: outcome.index, problem: conflict };
      if ("index" in plan) return plan;
      const isRefused = outcome?.kind === "none" && outcome.index === plan.length;
      return isRefused ? planner.hidden : undefined;
    });
  }

  #planner(caller: Token, once: Once | undefined): Planner {
    const at = this.#clock();
    const limits = { maxBytes: this.#maxBytes, base: this.#base };
    return new Planner(this.#store, { caller, key: once?.key, at, ...limits });
  }

  async #commit(
    caller: Token,
    changes: readonly (Put | Remove)[],
    once: Once | undefined,
  ): Promise<Outcome | undefined> {
    const unit = { kind: "all", changes, ...(once && { once }) } as const;
    const [outcome] = await this.#store.commit([unit]);
    if (isAdmin(caller) && lacksCollection(outcome, changes)) await this.#foundAll(changes);
    return outcome;
  }

  async #foundAll(changes: readonly (Put | Remove)[]): Promise<void> {
    const puts = changes.filter((change) => change.kind === "put");
    const names = new Set(puts.map((change) => change.collection));
    const at = this.#clock();
    await this.#store.commit([...names].map((collection) => ({ kind: "found", collection, at })));
  }
}

/** What is the same for all operations of a batch. */
interface Terms {
  readonly caller: Token;
  readonly key: string | undefined;
  readonly at: number;
  readonly maxBytes: number;
  readonly base: string;
}

/** Turns operations into changes, each judged on the state that those before it will have left. */
class Planner {
  readonly #store: Store;
  readonly #terms: Terms;
  readonly #targets = new Map<string, Rules | undefined>();
  readonly #found = new Map<string, Resource | undefined>();
  /** What earlier operations of the batch leave at an address. */
  readonly #left = new Map<string, Resource | undefined>();
  /** The ids under which PUTs to what the caller does not reach are tried, by address; see hidden.ts. */
  readonly #elsewhere = new Map<string, string>();
  /** The first of these, refused when nothing else refuses the batch. */
  hidden: BatchRefused | undefined;

  constructor(store: Store, terms: Terms) {
    this.#store = store;
    this.#terms = terms;
  }

  get rules(): ReadonlyMap<string, Rules | undefined> {
    return this.#targets;
  }

  /** The files that nothing names when all is done. */
  get dropped(): readonly Part[] {
    const kept = [...this.#left.values()].flatMap((resource) => readParts(resource?.parts));
    const keys = new Set(kept.map(({ key }) => key));
    return [...this.#left.keys()]
      .flatMap((address) => readParts(this.#found.get(address)?.parts))
      .filter(({ key }) => !keys.has(key));
  }

  async make(operations: readonly Operation[]): Promise<readonly (Put | Remove)[] | BatchRefused> {
    await this.#read(operations);
    const changes: (Put | Remove)[] = [];
    for (const [index, operation] of operations.entries()) {
      const change = this.#change(operation, index);
      if (change instanceof Problem) return { index, problem: change };
      changes.push(change);
    }
    return changes;
  }

  /** All that is needed, asked for at once: a remote engine answers it in one round. */
  async #read(operations: readonly Operation[]): Promise<void> {
    const reads = operations.flatMap((operation) => {
      const { kind, collection } = operation;
      const target = this.#readTarget(collection);
      return kind === "create" ? [target] : [target, this.#readState(collection, operation.id)];
    });
    await Promise.all(reads);
  }

  async #readTarget(name: string): Promise<void> {
    this.#targets.set(name, await this.#store.rules(name));
  }

  async #readState(collection: string, id: string): Promise<void> {
    this.#found.set(`${collection}/${id}`, await this.#store.find(collection, id));
  }

  #change(operation: Operation, index: number): Put | Remove | Problem {
    const { caller, key } = this.#terms;
    const { kind, collection } = operation;
    const target = this.#targets.get(collection);
    const forbidden = mayTry(caller, kind, collection, target);
    if (forbidden !== undefined) return forbidden;
    if (target === undefined && !isAdmin(caller)) return noCollection(collection);
    if (kind !== "create") return this.#changeAt(operation, target, index);
    const id = newId();
    const site = siteOf(this.#writing(collection, target), id, undefined);
    const accepted =
      refuseKeyless(target, key) ?? accept(caller, target, operation.draft.fields, site);
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
      (kind === "put" ? mayDo(caller, collection, verb, target) : undefined) ??
      (kind !== "put" && current === undefined ? noResource : undefined) ??
      (current && !reaches(caller, verb, target, current) ? noResource : undefined) ??
      refuseUnconditional(target, condition) ??
      (condition?.(current, target) === false ? preconditionFailed : undefined);
    if (refused !== undefined) return refused;
    if (isHidden) this.#hide(address, index);
    const expect = isTouched ? "anything" : current?.revision;
    if (kind === "remove") {
      this.#left.set(address, undefined);
      const place = { collection, id: this.#elsewhere.get(address) ?? id };
      return { kind, ...place, at, expect: expect ?? "anything", ...judgedBy(target) };
    }
    const accepted = this.#accept(operation, current, target);
    if (accepted instanceof Problem) return accepted;
    return this.#put(collection, id, accepted, current, expect ?? "nothing");
  }

  #hide(address: string, index: number): void {
    this.#elsewhere.set(address, newId());
    this.hidden ??= { index, problem: noResource };
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
    if (current === undefined) return noResource;
    const { patchKind, patch } = operation;
    return acceptPatch(writing, current, { kind: patchKind, text: patch, maxBytes });
  }

  #put(
    collection: string,
    id: string,
    accepted: Accepted,
    current: Resource | undefined,
    expect: Put["expect"],
  ): Put {
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
