// Finds, creates, replaces, patches and deletes single resources.

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
import { type Caller, canAccess, isOwned, requirePermission } from "./access.ts";
import { rejectHiddenPut } from "./hidden-resource.ts";
import { isCollectionMissing, retryOnConflict, type Written, writeResultOf } from "./outcomes.ts";
import { acceptPatch, type WriteContext, writeTargetOf } from "./patches.ts";
import {
  type Condition,
  checkPutDraft,
  collectionNotFound,
  createdThenDeleted,
  keyReused,
  preconditionFailed,
  requireKey,
  requirePrecondition,
  resourceNotFound,
} from "./problems.ts";
import type { Uploads } from "./uploads.ts";
import { type Accepted, accept, needsCurrent } from "./validate.ts";

/** A resource, and the rules that decide how it is shown. */
export interface ResourceWithRules {
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
   * A patched resource may have at most `maxBytes`, the limit of a request body. The addresses of
   * files begin with `base`.
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

  find(caller: Caller, collection: string, id: string): MaybePromise<ResourceWithRules | Problem> {
    return then(this.#store.rules(collection), (rules) =>
      rules === undefined
        ? resourceNotFound
        : then(this.#store.find(collection, id), (resource) =>
            resource === undefined || !canAccess(caller, "read", rules, resource)
              ? resourceNotFound
              : { resource, rules },
          ),
    );
  }

  /** Returns the rules of the collection to write to; undefined when an admin's write will create it. */
  target(caller: Caller, name: string): MaybePromise<Rules | undefined | Problem> {
    if (!isCollectionName(name)) return collectionNotFound(name);
    return then(this.#store.rules(name), (rules) =>
      rules === undefined && !(caller && isAdmin(caller)) ? collectionNotFound(name) : rules,
    );
  }

  /** Returns the rules for a resource that exists and that the caller may access. */
  async existing(caller: Caller, verb: Verb, name: string, id: string): Promise<Rules | Problem> {
    const [rules, resource] = await this.#load(name, id);
    if (resource === undefined || rules === undefined) return resourceNotFound;
    return canAccess(caller, verb, rules, resource) ? rules : resourceNotFound;
  }

  /**
   * Resolves when the resource is on disk. An admin's first POST creates the collection. The files
   * in `parts` are already on disk; they are removed when the resource is not created.
   */
  create(
    caller: Caller,
    collection: string,
    draft: Draft,
    once?: IdempotencyKey,
    parts: readonly StoredFile[] = [],
  ): Promise<Written | Problem> {
    return this.#uploads.writeWithFiles(parts, () =>
      this.#create(caller, collection, draft, once, parts),
    );
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
      const rejected =
        requireKey(rules, once?.key) ?? requirePermission(caller, collection, "create", rules);
      if (rejected !== undefined) return rejected;
      const target = { address, current: undefined, parts };
      const accepted = accept(caller, rules, draft.fields, target);
      if (accepted instanceof Problem) return accepted;
      const put = this.#put(caller, rules, collection, id, accepted, "nothing");
      const outcome = await this.#commit(caller, put, once);
      if (outcome.kind === "reused") return keyReused;
      if (outcome.kind === "gone") return createdThenDeleted;
      return (
        writeResultOf(outcome, rules) ??
        (isOutdated(outcome) ? undefined : collectionNotFound(collection))
      );
    });
  }

  /** Creates or replaces the resource at an id that the client chose; never merges. */
  async put(
    caller: Caller,
    collection: string,
    id: string,
    draft: Draft,
    condition?: Condition,
  ): Promise<Written | Problem> {
    return retryOnConflict(async () => {
      // The current resource may have files that must be removed with it.
      const [rules, found] = await this.#load(collection, id);
      // A resource that the caller may not access is treated as missing, so that no problem reveals it.
      const isHidden = found !== undefined && !canAccess(caller, "update", rules, found);
      const current = isHidden ? undefined : found;
      const forbidden = (verb: Verb) => requirePermission(caller, collection, verb, rules);
      const isPlain =
        condition === undefined &&
        !isOwned(rules) &&
        !needsCurrent(rules) &&
        current?.parts === undefined &&
        (forbidden("create") ?? forbidden("update")) === undefined;
      // Permission comes first: a precondition counts only if the request would otherwise succeed (RFC 9110 §13.2.1).
      const rejected = isPlain ? undefined : forbidden(current === undefined ? "create" : "update");
      if (rejected !== undefined) return rejected;
      if (condition?.(current, rules) === false) return preconditionFailed;
      const invalid = requirePrecondition(rules, condition) ?? checkPutDraft(id, draft);
      if (invalid !== undefined) return invalid;
      const target = writeTargetOf(this.#writeContext(caller, collection, rules), id, current);
      const accepted = accept(caller, rules, draft.fields, target);
      if (accepted instanceof Problem) return accepted;
      const expect = isPlain ? "anything" : (current?.revision ?? "nothing");
      const put = this.#put(caller, rules, collection, id, accepted, expect);
      if (isHidden) return rejectHiddenPut(this.#store, put, rules);
      const outcome = await this.#commit(caller, put);
      const isCollectionGone = outcome.kind === "missing" && current === undefined;
      return (
        (await this.#finish(outcome, rules, current)) ??
        (isCollectionGone ? collectionNotFound(collection) : undefined)
      );
    });
  }

  /** Applies a patch to the current state, completely or not at all. */
  async patch(
    caller: Caller,
    collection: string,
    id: string,
    kind: PatchKind,
    patch: string,
    condition?: Condition,
  ): Promise<Written | Problem> {
    return retryOnConflict(async () => {
      const [rules, current] = await this.#load(collection, id);
      if (current === undefined || rules === undefined) return resourceNotFound;
      const rejected =
        requireAccess(caller, "update", rules, current) ?? requirePrecondition(rules, condition);
      if (rejected !== undefined) return rejected;
      if (condition?.(current, rules) === false) return preconditionFailed;
      const context = this.#writeContext(caller, collection, rules);
      const sent = { kind, text: patch, maxBytes: this.#maxBytes };
      const accepted = acceptPatch(context, current, sent);
      if (accepted instanceof Problem) return accepted;
      const put = this.#put(caller, rules, collection, id, accepted, current.revision);
      const [outcome] = await this.#store.commit([put]);
      return outcome && this.#finish(outcome, rules, current);
    });
  }

  async remove(
    caller: Caller,
    collection: string,
    id: string,
    condition?: Condition,
  ): Promise<Problem | undefined> {
    const removed = await retryOnConflict(async () => {
      const [rules, current] = await this.#load(collection, id);
      if (current === undefined) return resourceNotFound;
      const rejected =
        requireAccess(caller, "delete", rules, current) ?? requirePrecondition(rules, condition);
      if (rejected !== undefined) return rejected;
      if (condition?.(current, rules) === false) return preconditionFailed;
      const isPlain = condition === undefined && !isOwned(rules);
      const expect = isPlain ? "anything" : current.revision;
      const at = this.#clock();
      const version = rulesVersionOf(rules);
      const change: Remove = { kind: "remove", collection, id, at, expect, ...version };
      const [outcome] = await this.#store.commit([change]);
      if (outcome?.kind === "missing") return resourceNotFound;
      if (outcome?.kind !== "removed") return undefined;
      await this.#uploads.removeUnused(current.parts, undefined);
      return "removed";
    });
    return removed === "removed" ? undefined : removed;
  }

  #load(collection: string, id: string): Promise<[Rules | undefined, Resource | undefined]> {
    return Promise.all([this.#store.rules(collection), this.#store.find(collection, id)]);
  }

  #writeContext(caller: Caller, collection: string, rules: Rules | undefined): WriteContext {
    return { caller, collection, rules, base: this.#base };
  }

  /** Removes files of the former state that the new state does not have. */
  async #finish(
    outcome: Outcome,
    rules: Rules | undefined,
    before: Resource | undefined,
  ): Promise<Written | Problem | undefined> {
    const result = writeResultOf(outcome, rules);
    if (result !== undefined && !(result instanceof Problem))
      await this.#uploads.removeUnused(before?.parts, result.resource.parts);
    return result;
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
    const version = rulesVersionOf(rules);
    return { kind: "put", collection, id, ...accepted, at, expect, ...owner, ...version };
  }

  /** Commits, and first creates a missing collection when the caller is an admin. */
  async #commit(caller: Caller, put: Put, once?: IdempotencyKey): Promise<Outcome> {
    const change = once === undefined ? put : ({ kind: "all", changes: [put], once } as const);
    const [outcome] = await this.#store.commit([change]);
    const mayCreateCollection = caller !== undefined && isAdmin(caller);
    if (!mayCreateCollection || !isCollectionMissing(outcome, [put]))
      return outcome ?? { kind: "missing" };
    const creation = { kind: "create-collection", collection: put.collection, at: put.at } as const;
    const [, second] = await this.#store.commit([creation, change]);
    return second ?? { kind: "missing" };
  }
}

function requireAccess(
  caller: Caller,
  verb: Verb,
  rules: Rules | undefined,
  current: Resource,
): Problem | undefined {
  return canAccess(caller, verb, rules, current) ? undefined : resourceNotFound;
}

export const rulesVersionOf = (rules: Rules | undefined): { rules?: number } =>
  rules === undefined ? {} : { rules: rules.version };
