// What can be done with resources: the rules over a store, for any caller.

import { type MaybePromise, then } from "../lib/maybe-promise.ts";
import type { Rules } from "../model/collection.ts";
import type { Draft } from "../model/draft.ts";
import type { StoredFile } from "../model/file.ts";
import { isCollectionName, newId } from "../model/id.ts";
import type { PatchKind } from "../model/patch.ts";
import { Problem } from "../model/problem.ts";
import type { Resource } from "../model/resource.ts";
import { isAdmin, type Verb } from "../model/token.ts";
import {
  type Expectation,
  type IdempotencyKey,
  isOutdated,
  type Outcome,
  type Put,
  type Remove,
  type Store,
} from "../store/store.ts";
import { type Caller, isOwned, reaches, requirePermission } from "./access.ts";
import { refuseHidden } from "./hidden-resource.ts";
import { lacksCollection, retryOnConflict, type Written, writeResultOf } from "./outcomes.ts";
import { acceptPatch, siteOf, type Writing } from "./patches.ts";
import {
  type Condition,
  collectionNotFound,
  createdAndGone,
  keyReused,
  preconditionFailed,
  refusePutDraft,
  requireKey,
  requirePrecondition,
  resourceNotFound,
} from "./problems.ts";
import type { Uploads } from "./uploads.ts";
import { type Accepted, accept, needsCurrent } from "./validate.ts";

/** A resource with the rules that say how it is shown. */
export interface Shown {
  readonly resource: Resource;
  readonly rules: Rules;
}

export class Resources {
  readonly #store: Store;
  readonly #uploads: Uploads;
  readonly #clock: () => number;
  readonly #maxBytes: number;
  readonly #base: string;

  /**
   * No patch may make a resource larger than `maxBytes`, which is what a body may be. With `base`
   * begin the addresses of files.
   */
  constructor(store: Store, uploads: Uploads, clock: () => number, maxBytes: number, base: string) {
    this.#store = store;
    this.#uploads = uploads;
    this.#clock = clock;
    this.#maxBytes = maxBytes;
    this.#base = base;
  }

  rules(collection: string): MaybePromise<Rules | undefined> {
    return this.#store.rules(collection);
  }

  find(caller: Caller, collection: string, id: string): MaybePromise<Shown | Problem> {
    return then(this.#store.rules(collection), (rules) =>
      rules === undefined
        ? resourceNotFound
        : then(this.#store.find(collection, id), (resource) =>
            resource === undefined || !reaches(caller, "read", rules, resource)
              ? resourceNotFound
              : { resource, rules },
          ),
    );
  }

  /** The rules of the collection to write to; none when an admin is about to bring it into being. */
  target(caller: Caller, name: string): MaybePromise<Rules | undefined | Problem> {
    if (!isCollectionName(name)) return collectionNotFound(name);
    return then(this.#store.rules(name), (rules) =>
      rules === undefined && !(caller && isAdmin(caller)) ? collectionNotFound(name) : rules,
    );
  }

  /** The rules over a resource that is there to be changed. */
  async existing(caller: Caller, verb: Verb, name: string, id: string): Promise<Rules | Problem> {
    const [rules, resource] = await this.#look(name, id);
    if (resource === undefined || rules === undefined) return resourceNotFound;
    return reaches(caller, verb, rules, resource) ? rules : resourceNotFound;
  }

  /**
   * Resolves when the resource is on disk. An admin's first POST brings the collection into being.
   * The parts are on disk already; they are removed when nothing comes of it.
   */
  create(
    caller: Caller,
    collection: string,
    draft: Draft,
    once?: IdempotencyKey,
    parts: readonly StoredFile[] = [],
  ): Promise<Written | Problem> {
    return this.#uploads.until(parts, () => this.#create(caller, collection, draft, once, parts));
  }

  #create(
    caller: Caller,
    collection: string,
    draft: Draft,
    once: IdempotencyKey | undefined,
    parts: readonly StoredFile[],
  ): Promise<Written | Problem> {
    const id = newId();
    const address = `${this.#base}/${collection}/${id}`;
    return retryOnConflict(async () => {
      const rules = await this.#store.rules(collection);
      const refused =
        requireKey(rules, once?.key) ?? requirePermission(caller, collection, "create", rules);
      if (refused !== undefined) return refused;
      const site = { address, current: undefined, parts };
      const accepted = accept(caller, rules, draft.fields, site);
      if (accepted instanceof Problem) return accepted;
      const put = this.#put(caller, rules, collection, id, accepted, "nothing");
      const outcome = await this.#commit(caller, put, once);
      if (outcome.kind === "reused") return keyReused;
      if (outcome.kind === "gone") return createdAndGone;
      return (
        writeResultOf(outcome, rules) ??
        (isOutdated(outcome) ? undefined : collectionNotFound(collection))
      );
    });
  }

  /** Creates or replaces at an address that the client chose; never merges. */
  async put(
    caller: Caller,
    collection: string,
    id: string,
    draft: Draft,
    condition?: Condition,
  ): Promise<Written | Problem> {
    return retryOnConflict(async () => {
      // What is there may have files, which must not outlive it.
      const [rules, found] = await this.#look(collection, id);
      // What the caller does not reach is judged as if nothing were there, so that no refusal tells of it.
      const isHidden = found !== undefined && !reaches(caller, "update", rules, found);
      const current = isHidden ? undefined : found;
      const forbidden = (verb: Verb) => requirePermission(caller, collection, verb, rules);
      const isPlain =
        condition === undefined &&
        !isOwned(rules) &&
        !needsCurrent(rules) &&
        current?.parts === undefined &&
        (forbidden("create") ?? forbidden("update")) === undefined;
      // First, because a precondition counts only where the request would be done without it (RFC 9110 §13.2.1).
      const refused = isPlain ? undefined : forbidden(current === undefined ? "create" : "update");
      if (refused !== undefined) return refused;
      if (condition?.(current, rules) === false) return preconditionFailed;
      const unfit = requirePrecondition(rules, condition) ?? refusePutDraft(id, draft);
      if (unfit !== undefined) return unfit;
      const site = siteOf(this.#writing(caller, collection, rules), id, current);
      const accepted = accept(caller, rules, draft.fields, site);
      if (accepted instanceof Problem) return accepted;
      const expect = isPlain ? "anything" : (current?.revision ?? "nothing");
      const put = this.#put(caller, rules, collection, id, accepted, expect);
      if (isHidden) return refuseHidden(this.#store, put, rules);
      const outcome = await this.#commit(caller, put);
      const isGone = outcome.kind === "missing" && current === undefined;
      return (
        (await this.#settle(outcome, rules, current)) ??
        (isGone ? collectionNotFound(collection) : undefined)
      );
    });
  }

  /** Applies a patch to the state as it is; all of it or nothing. */
  async patch(
    caller: Caller,
    collection: string,
    id: string,
    kind: PatchKind,
    patch: string,
    condition?: Condition,
  ): Promise<Written | Problem> {
    return retryOnConflict(async () => {
      const [rules, current] = await this.#look(collection, id);
      if (current === undefined || rules === undefined) return resourceNotFound;
      const refused =
        refuseOutOfReach(caller, "update", rules, current) ?? requirePrecondition(rules, condition);
      if (refused !== undefined) return refused;
      if (condition?.(current, rules) === false) return preconditionFailed;
      const writing = this.#writing(caller, collection, rules);
      const asked = { kind, text: patch, maxBytes: this.#maxBytes };
      const accepted = acceptPatch(writing, current, asked);
      if (accepted instanceof Problem) return accepted;
      const put = this.#put(caller, rules, collection, id, accepted, current.revision);
      const [outcome] = await this.#store.commit([put]);
      return outcome && this.#settle(outcome, rules, current);
    });
  }

  async remove(
    caller: Caller,
    collection: string,
    id: string,
    condition?: Condition,
  ): Promise<Problem | undefined> {
    const removed = await retryOnConflict(async () => {
      const [rules, current] = await this.#look(collection, id);
      if (current === undefined) return resourceNotFound;
      const refused =
        refuseOutOfReach(caller, "delete", rules, current) ?? requirePrecondition(rules, condition);
      if (refused !== undefined) return refused;
      if (condition?.(current, rules) === false) return preconditionFailed;
      const isPlain = condition === undefined && !isOwned(rules);
      const expect = isPlain ? "anything" : current.revision;
      const at = this.#clock();
      const change: Remove = { kind: "remove", collection, id, at, expect, ...judgedBy(rules) };
      const [outcome] = await this.#store.commit([change]);
      if (outcome?.kind === "missing") return resourceNotFound;
      if (outcome?.kind !== "removed") return undefined;
      await this.#uploads.release(current.parts, undefined);
      return "removed";
    });
    return removed === "removed" ? undefined : removed;
  }

  #look(collection: string, id: string): Promise<[Rules | undefined, Resource | undefined]> {
    return Promise.all([this.#store.rules(collection), this.#store.find(collection, id)]);
  }

  #writing(caller: Caller, collection: string, rules: Rules | undefined): Writing {
    return { caller, collection, rules, base: this.#base };
  }

  /** What was there before may have files that what is there now has not. */
  async #settle(
    outcome: Outcome,
    rules: Rules | undefined,
    before: Resource | undefined,
  ): Promise<Written | Problem | undefined> {
    const settled = writeResultOf(outcome, rules);
    if (settled !== undefined && !(settled instanceof Problem))
      await this.#uploads.release(before?.parts, settled.resource.parts);
    return settled;
  }

  #put(
    caller: Caller,
    rules: Rules | undefined,
    collection: string,
    id: string,
    accepted: Accepted,
    expect: Expectation,
  ): Put {
    const at = this.#clock();
    const owner = isOwned(rules) && caller !== undefined ? { owner: caller.id } : {};
    return { kind: "put", collection, id, ...accepted, at, expect, ...owner, ...judgedBy(rules) };
  }

  /** Commits; when the collection is not there and the caller is an admin, brings it into being. */
  async #commit(caller: Caller, put: Put, once?: IdempotencyKey): Promise<Outcome> {
    const change = once === undefined ? put : ({ kind: "all", changes: [put], once } as const);
    const [outcome] = await this.#store.commit([change]);
    const mayFound = caller !== undefined && isAdmin(caller);
    if (!mayFound || !lacksCollection(outcome, [put])) return outcome ?? { kind: "missing" };
    const found = { kind: "found", collection: put.collection, at: put.at } as const;
    const [, second] = await this.#store.commit([found, change]);
    return second ?? { kind: "missing" };
  }
}

function refuseOutOfReach(
  caller: Caller,
  verb: Verb,
  rules: Rules | undefined,
  current: Resource,
): Problem | undefined {
  return reaches(caller, verb, rules, current) ? undefined : resourceNotFound;
}

export const judgedBy = (rules: Rules | undefined): { rules?: number } =>
  rules === undefined ? {} : { rules: rules.version };
