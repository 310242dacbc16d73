// What can be done with resources: the rules over a store, for any caller.

import type { Collection, Rules } from "../model/collection.ts";
import { type Draft, draftOf } from "../model/draft.ts";
import { isCollectionName, newId } from "../model/id.ts";
import { type Window, windowOffset } from "../model/page.ts";
import { applyPatch, type PatchKind } from "../model/patch.ts";
import { type Fault, Problem } from "../model/problem.ts";
import { type Resource, represent, serverMembers } from "../model/resource.ts";
import { type Soon, then } from "../model/soon.ts";
import { allows, isAdmin, type Token } from "../model/token.ts";
import { isObject, textOf, writeTree } from "../model/tree.ts";
import {
  type Expectation,
  type Feed,
  type Once,
  Outage,
  type Outcome,
  type Put,
  type Remove,
  type Slice,
  type Store,
} from "../store/store.ts";
import { lacks } from "./access.ts";
import {
  anotherId,
  type Condition,
  keyReused,
  noCollection,
  noResource,
  preconditionFailed,
  refuseKeyless,
  refusePutDraft,
  refuseUnconditional,
} from "./refusals.ts";

export interface Written {
  readonly resource: Resource;
  readonly isNew: boolean;
  /** The answer to the same request, which came before. */
  readonly isReplay: boolean;
}

export class Resources {
  readonly #store: Store;
  readonly #clock: () => number;
  readonly #maxBytes: number;

  /** No patch may make a resource larger than `maxBytes`, which is what a body may be. */
  constructor(store: Store, clock: () => number, maxBytes: number) {
    this.#store = store;
    this.#clock = clock;
    this.#maxBytes = maxBytes;
  }

  find(collection: string, id: string): Soon<Resource | Problem> {
    return then(this.#store.find(collection, id), (resource) => resource ?? noResource);
  }

  collection(name: string): Soon<Collection | Problem> {
    return then(this.#store.collection(name), (collection) => collection ?? noCollection(name));
  }

  list(collection: string, window: Window): Soon<Slice | Problem> {
    const { limit, order } = window;
    return then(
      this.#store.slice(collection, { offset: windowOffset(window), limit, order }),
      (slice) => slice ?? noCollection(collection),
    );
  }

  /** What changed after a revision, so that a client can keep a copy in step. */
  since(collection: string, revision: number, limit: number): Soon<Feed | Problem> {
    return then(
      this.#store.since(collection, revision, limit),
      (feed) => feed ?? noCollection(collection),
    );
  }

  /** The rules of the collection to write to; none when an admin is about to bring it into being. */
  target(caller: Token, name: string): Soon<Rules | undefined | Problem> {
    if (!isCollectionName(name)) return noCollection(name);
    return then(this.#store.rules(name), (rules) =>
      rules === undefined && !isAdmin(caller) ? noCollection(name) : rules,
    );
  }

  /** The rules over a resource that is there to be changed. */
  async existing(name: string, id: string): Promise<Rules | Problem> {
    const [rules, resource] = await Promise.all([
      this.#store.rules(name),
      this.#store.find(name, id),
    ]);
    return resource === undefined || rules === undefined ? noResource : rules;
  }

  /** Resolves when the resource is on disk. An admin's first POST brings the collection into being. */
  async create(
    caller: Token,
    collection: string,
    draft: Draft,
    once?: Once,
  ): Promise<Written | Problem> {
    const id = newId();
    return untilSettled(async () => {
      const rules = await this.#store.rules(collection);
      const refused = refuseKeyless(rules, once?.key);
      if (refused !== undefined) return refused;
      const put = this.#put(collection, id, draft.fields, "nothing", rules);
      const outcome = await this.#commit(caller, put, once);
      if (outcome.kind === "reused") return keyReused;
      return writtenBy(outcome) ?? (isOutdated(outcome) ? undefined : noCollection(collection));
    });
  }

  /** Creates or replaces at an address that the client chose; never merges. */
  async put(
    caller: Token,
    collection: string,
    id: string,
    draft: Draft,
    condition?: Condition,
  ): Promise<Written | Problem> {
    const isPlain =
      condition === undefined &&
      allows(caller, collection, "create") &&
      allows(caller, collection, "update");
    return untilSettled(async () => {
      const [rules, current] = await Promise.all([
        this.#store.rules(collection),
        isPlain ? undefined : this.#store.find(collection, id),
      ]);
      const verb = current === undefined ? "create" : "update";
      // First, because a precondition counts only where the request would be done without it (RFC 9110 §13.2.1).
      if (!isPlain && !allows(caller, collection, verb)) return lacks(`${collection}:${verb}`);
      if (condition?.(current) === false) return preconditionFailed;
      const refused = refuseUnconditional(rules, condition) ?? refusePutDraft(id, draft);
      if (refused !== undefined) return refused;
      const expect = isPlain ? "anything" : (current?.revision ?? "nothing");
      const put = this.#put(collection, id, draft.fields, expect, rules);
      const outcome = await this.#commit(caller, put);
      const isGone = outcome.kind === "missing" && current === undefined;
      return writtenBy(outcome) ?? (isGone ? noCollection(collection) : undefined);
    });
  }

  /** Applies a patch to the state as it is; all of it or nothing. */
  async patch(
    collection: string,
    id: string,
    kind: PatchKind,
    patch: string,
    condition?: Condition,
  ): Promise<Written | Problem> {
    return untilSettled(async () => {
      const [rules, current] = await Promise.all([
        this.#store.rules(collection),
        this.#store.find(collection, id),
      ]);
      if (current === undefined) return noResource;
      const refused = refuseUnconditional(rules, condition);
      if (refused !== undefined) return refused;
      if (condition?.(current) === false) return preconditionFailed;
      const draft = patched(current, kind, patch, this.#maxBytes);
      if (draft instanceof Problem) return draft;
      const put = this.#put(collection, id, draft.fields, current.revision, rules);
      const [outcome] = await this.#store.commit([put]);
      return outcome && writtenBy(outcome);
    });
  }

  async remove(
    collection: string,
    id: string,
    condition?: Condition,
  ): Promise<Problem | undefined> {
    const removed = await untilSettled(async () => {
      const [rules, current] = await Promise.all([
        this.#store.rules(collection),
        condition && this.#store.find(collection, id),
      ]);
      if (condition !== undefined && current === undefined) return noResource;
      const refused = refuseUnconditional(rules, condition);
      if (refused !== undefined) return refused;
      if (condition?.(current) === false) return preconditionFailed;
      const expect = current?.revision ?? "anything";
      const at = this.#clock();
      const change: Remove = { kind: "remove", collection, id, at, expect, ...judgedBy(rules) };
      const [outcome] = await this.#store.commit([change]);
      if (outcome?.kind === "missing") return noResource;
      return outcome?.kind === "removed" ? "removed" : undefined;
    });
    return removed === "removed" ? undefined : removed;
  }

  #put(
    collection: string,
    id: string,
    fields: string,
    expect: Expectation,
    rules: Rules | undefined,
  ): Put {
    const at = this.#clock();
    return { kind: "put", collection, id, fields, at, expect, ...judgedBy(rules) };
  }

  /** Commits; when the collection is not there and the caller is an admin, brings it into being. */
  async #commit(caller: Token, put: Put, once?: Once): Promise<Outcome> {
    const change = once === undefined ? put : ({ kind: "all", changes: [put], once } as const);
    const [outcome] = await this.#store.commit([change]);
    if (!isAdmin(caller) || !lacksCollection(outcome, [put])) return outcome ?? { kind: "missing" };
    const found = { kind: "found", collection: put.collection, at: put.at } as const;
    const [, second] = await this.#store.commit([found, change]);
    return second ?? { kind: "missing" };
  }
}

export const judgedBy = (rules: Rules | undefined): { rules?: number } =>
  rules === undefined ? {} : { rules: rules.version };

const isOutdated = (outcome: Outcome): boolean =>
  (outcome.kind === "none" ? outcome.outcome : outcome).kind === "outdated";

/** Whether the changes failed for want of a collection: only then is a put missing what it did not expect. */
export function lacksCollection(
  outcome: Outcome | undefined,
  changes: readonly (Put | Remove)[],
): boolean {
  const failed = outcome?.kind === "none" ? outcome : { index: 0, outcome };
  const change = changes[failed.index];
  return (
    failed.outcome?.kind === "missing" &&
    change?.kind === "put" &&
    typeof change.expect !== "number"
  );
}

/** Each new attempt means that another's write got through, so this many are hardly ever needed. */
const maxAttempts = 1_000;

/** Between reading and writing somebody else may write; then it is read and judged again. */
export async function untilSettled<T>(attempt: () => Promise<T | undefined>): Promise<T> {
  for (let count = 0; count < maxAttempts; count++) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw new Outage("busy", "others keep changing the same resource");
}

/** Undefined when it was not written. */
export function writtenBy(outcome: Outcome): Written | undefined {
  if (outcome.kind === "all") {
    const [first] = outcome.outcomes;
    const written = first && writtenBy(first);
    return written && { ...written, isReplay: outcome.isReplay };
  }
  if (outcome.kind !== "created" && outcome.kind !== "replaced") return undefined;
  return { resource: outcome.resource, isNew: outcome.kind === "created", isReplay: false };
}

/** The patched document is judged like any other that comes in. */
export function patched(
  current: Resource,
  kind: PatchKind,
  patch: string,
  maxBytes: number,
): Draft | Problem {
  const tree = applyPatch(kind, represent(current), patch, maxBytes);
  if (tree instanceof Problem) return tree;
  if (isObject(tree)) {
    if (tree.members.has("id") && textOf(tree, "id") !== current.id) return anotherId;
    // Ours, so they do not count as members of the client's.
    for (const name of serverMembers) tree.members.delete(name);
  }
  const draft = draftOf(writeTree(tree));
  if (!("fields" in draft)) return invalidResult(draft);
  const isTooLarge = Buffer.byteLength(draft.fields) > maxBytes;
  const detail = `it would be over ${maxBytes} bytes`;
  return isTooLarge ? invalidResult([{ pointer: "", detail }]) : draft;
}

const invalidResult = (errors: readonly Fault[]): Problem =>
  new Problem(
    "invalid-body",
    "The patched resource would not be valid; `errors` names each fault.",
    { errors },
  );
