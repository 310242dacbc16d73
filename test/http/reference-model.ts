// A simple model of the API: plain maps, one request after another.

import assert from "node:assert/strict";
import type { ProblemKind } from "../../src/model/problem.ts";
import {
  applyOperations,
  isPlain,
  type Json,
  mergePatch,
  type Operation,
} from "../model/reference-patch.ts";

export type Fields = { [name: string]: Json };

export interface Caller {
  readonly name: string;
  readonly isAdmin: boolean;
  /** On every collection. */
  readonly verbs: readonly string[];
}

/** What a change says of the state it means, in the words of the header fields. */
export interface Condition {
  readonly ifMatch?: string;
  readonly ifNoneMatch?: string;
  readonly ifUnmodifiedSince?: string;
}

interface Target {
  readonly collection: string;
  readonly id: string;
  readonly condition: Condition;
}

export type Change =
  | { readonly kind: "post"; readonly collection: string; readonly body: Json }
  | (Target & { readonly kind: "put"; readonly body: Json })
  | (Target & { readonly kind: "merge"; readonly body: Json })
  | (Target & { readonly kind: "json"; readonly body: readonly Operation[] })
  | (Target & { readonly kind: "delete" });

export type ModelRequest =
  | (Change & { readonly key?: string })
  | { readonly kind: "batch"; readonly changes: readonly Change[]; readonly key?: string }
  | { readonly kind: "define"; readonly collection: string; readonly rules: Json };

/** What became of one change. */
export interface Result {
  readonly status: 200 | 201 | 204;
  readonly collection: string;
  readonly id: string;
  /** The client's own members; undefined of what was deleted. */
  readonly fields?: Fields;
  /** When the resource was created, as the model counts time. */
  readonly born?: number;
}

export type ModelResponse =
  | { readonly problem: ProblemKind }
  | { readonly results: readonly Result[]; readonly isReplay: boolean };

interface ModelResource {
  readonly revision: number;
  readonly fields: Fields;
  readonly born: number;
  /** As the server returned it; undefined until then. */
  tag?: string;
  createdAt?: string;
}

interface Rules {
  readonly preconditions: string;
  readonly idempotencyKey: string;
}

interface ModelCollection {
  revision: number;
  rules: Rules;
  /** In the order of creation. */
  readonly resources: Map<string, ModelResource>;
  readonly removals: Map<string, number>;
}

class Rejected {
  readonly problem: ProblemKind;

  constructor(problem: ProblemKind) {
    this.problem = problem;
  }
}

function demand(isGiven: boolean, problem: ProblemKind): asserts isGiven {
  if (!isGiven) throw new Rejected(problem);
}

export class ReferenceModel {
  #collections = new Map<string, ModelCollection>();
  readonly #keys = new Map<
    string,
    { readonly print: string; readonly results: readonly Result[] }
  >();
  readonly #tags = new Set<string>();
  /** Counts the requests that change something. All that one of them creates has the same time of creation. */
  #time = 0;

  /** Checks a request and executes it if it is valid. `newIds` are those that the server has chosen. */
  respond(caller: Caller, ask: ModelRequest, newIds: readonly string[]): ModelResponse {
    const before = structuredClone(this.#collections);
    try {
      return this.#respond(caller, ask, newIds);
    } catch (thrown) {
      if (!(thrown instanceof Rejected)) throw thrown;
      this.#collections = before;
      return { problem: thrown.problem };
    }
  }

  #respond(caller: Caller, ask: ModelRequest, newIds: readonly string[]): ModelResponse {
    if (ask.kind === "define") {
      this.#define(caller, ask.collection, ask.rules);
      return { results: [], isReplay: false };
    }
    const changes = ask.kind === "batch" ? ask.changes : [ask];
    const isBatch = ask.kind === "batch";
    // A batch is parsed as a whole before any operation is checked.
    if (isBatch) for (const change of changes) demand(isReadable(change), "invalid-body");
    else this.#precheck(caller, ask);
    const key = ask.kind === "batch" || ask.kind === "post" ? ask.key : undefined;
    // A key belongs to a collection; the requests of this test with a key write to one only.
    const name = `${caller.name} ${changes[0]?.collection} ${key}`;
    const print = JSON.stringify(ask);
    const kept = key === undefined ? undefined : this.#keys.get(name);
    if (kept !== undefined) {
      demand(kept.print === print, "key-reused");
      demand(!kept.results.some((result) => this.#isDeleted(result)), "gone");
      return { results: kept.results, isReplay: true };
    }
    this.#time++;
    const ids = [...newIds];
    const results = changes.map((change) => {
      const id = change.kind === "post" ? (ids.shift() ?? "?") : change.id;
      return this.#do(caller, change, id, key);
    });
    if (key !== undefined) this.#keys.set(name, { print, results });
    return { results, isReplay: false };
  }

  /** The errors of a single request before its body is read. */
  #precheck(caller: Caller, change: Change): void {
    this.#mayTry(caller, change);
    if (change.kind === "post") {
      const collectionState = this.#target(caller, change.collection);
      const isDemanded = collectionState?.rules.idempotencyKey === "required";
      demand(!isDemanded || "key" in change, "key-required");
    } else {
      const collectionState =
        change.kind === "put"
          ? this.#target(caller, change.collection)
          : this.#collections.get(change.collection);
      const isThere = collectionState?.resources.has(change.id) ?? false;
      demand(change.kind === "put" || isThere, "not-found");
      demandCondition(collectionState, change.condition);
    }
    demand(isReadable(change), "invalid-body");
  }

  #mayTry({ verbs }: Caller, { kind }: Change): void {
    const needed = {
      post: ["create"],
      put: ["create", "update"],
      merge: ["update"],
      json: ["update"],
      delete: ["delete"],
    }[kind];
    demand(
      needed.some((verb) => verbs.includes(verb)),
      "insufficient-scope",
    );
  }

  #target({ isAdmin }: Caller, collection: string): ModelCollection | undefined {
    const collectionState = this.#collections.get(collection);
    demand(collectionState !== undefined || isAdmin, "not-found");
    return collectionState;
  }

  #do(caller: Caller, change: Change, id: string, key: string | undefined): Result {
    const { collection } = change;
    this.#mayTry(caller, change);
    const collectionState = this.#target(caller, collection);
    if (change.kind === "post") {
      const isDemanded = collectionState?.rules.idempotencyKey === "required";
      demand(!isDemanded || key !== undefined, "key-required");
      return this.#write(collection, id, ownFields(change.body));
    }
    const current = collectionState?.resources.get(id);
    if (change.kind === "put") {
      const verb = current === undefined ? "create" : "update";
      demand(caller.verbs.includes(verb), "insufficient-scope");
    } else {
      demand(current !== undefined, "not-found");
    }
    demandCondition(collectionState, change.condition);
    demand(holds(change.condition, current), "precondition-failed");
    if (change.kind === "delete") return this.#remove(collection, id);
    const isTesting = change.kind === "json" && change.body.some(({ op }) => op === "test");
    demand(!isTesting || caller.verbs.includes("read"), "insufficient-scope");
    return this.#write(collection, id, fieldsAfter(change, current));
  }

  #write(collection: string, id: string, fields: Fields): Result {
    const collectionState = this.#collections.get(collection) ?? this.#create(collection);
    const before = collectionState.resources.get(id);
    const revision = ++collectionState.revision;
    const { createdAt, born = this.#time } = before ?? {};
    collectionState.resources.set(id, {
      ...{ revision, fields, born },
      ...(createdAt === undefined ? {} : { createdAt }),
    });
    collectionState.removals.delete(id);
    return { status: before === undefined ? 201 : 200, collection, id, fields, born };
  }

  /** Whether what was written was deleted since. What has the id now may be another resource. */
  #isDeleted({ collection, id, fields, born }: Result): boolean {
    return fields !== undefined && this.find(collection, id)?.born !== born;
  }

  #remove(collection: string, id: string): Result {
    const collectionState = this.#collections.get(collection);
    assert.ok(collectionState !== undefined);
    collectionState.resources.delete(id);
    collectionState.removals.set(id, ++collectionState.revision);
    return { status: 204, collection, id };
  }

  /** Founding takes the first revision. */
  #create(collection: string): ModelCollection {
    const rules = { preconditions: "optional", idempotencyKey: "optional" };
    const collectionState = { revision: 1, rules, resources: new Map(), removals: new Map() };
    this.#collections.set(collection, collectionState);
    return collectionState;
  }

  #define(caller: Caller, collection: string, rules: Json): void {
    demand(caller.isAdmin, "insufficient-scope");
    demand(isPlain(rules), "invalid-body");
    const known = ["preconditions", "idempotencyKey"];
    for (const [name, rule] of Object.entries(rules))
      demand(known.includes(name) && (rule === "optional" || rule === "required"), "invalid-body");
    const collectionState = this.#collections.get(collection);
    if (collectionState !== undefined) collectionState.revision++;
    const open = { preconditions: "optional", idempotencyKey: "optional" };
    (collectionState ?? this.#create(collection)).rules = { ...open, ...rules } as Rules;
  }

  find(collection: string, id: string): ModelResource | undefined {
    return this.#collections.get(collection)?.resources.get(id);
  }

  /** What the server says of a state: a tag that no state had before, and the time of its creation. */
  recordMetadata(collection: string, id: string, tag: string, createdAt: string): void {
    const kept = this.find(collection, id);
    assert.ok(kept !== undefined);
    const name = `${collection}/${id} ${tag}`;
    assert.ok(kept.tag === undefined ? !this.#tags.has(name) : kept.tag === tag, name);
    assert.equal(createdAt, kept.createdAt ?? createdAt);
    kept.tag = tag;
    kept.createdAt = createdAt;
    this.#tags.add(name);
  }

  /** All of a collection in order; undefined when there is none. */
  list(collection: string, order: "createdAt" | "-createdAt"): readonly Fields[] | undefined {
    const collectionState = this.#collections.get(collection);
    if (collectionState === undefined) return undefined;
    const all = [...collectionState.resources].map(([id, { fields }]) => ({ id, ...fields }));
    return order === "createdAt" ? all : all.reverse();
  }

  revision(collection: string): number | undefined {
    return this.#collections.get(collection)?.revision;
  }

  since(collection: string, since: number, limit: number) {
    const collectionState = this.#collections.get(collection);
    assert.ok(collectionState !== undefined);
    const written = [...collectionState.resources].map(([id, { revision, fields }]) => ({
      revision,
      resource: { id, ...fields },
    }));
    const removed = [...collectionState.removals].map(([id, revision]) => ({
      revision,
      removed: id,
    }));
    const all = [...written, ...removed]
      .filter(({ revision }) => revision > since)
      .sort((one, other) => one.revision - other.revision);
    const changes = all.slice(0, limit);
    const next =
      changes.length < limit ? collectionState.revision : (changes.at(-1)?.revision ?? 0);
    return { changes, since, next, more: next < collectionState.revision };
  }
}

/** Whether the body is what its kind of change takes. */
function isReadable(change: Change): boolean {
  if (change.kind === "post") return isPlain(change.body) && !("id" in change.body);
  return change.kind !== "put" || isPlain(change.body);
}

function demandCondition(collectionState: ModelCollection | undefined, condition: Condition): void {
  const isDemanded = collectionState?.rules.preconditions === "required";
  const isByTag = condition.ifMatch !== undefined || condition.ifNoneMatch !== undefined;
  demand(!isDemanded || isByTag, "precondition-required");
}

/** RFC 9110 §13.2.2. Only what is there and known by its tag can match. */
function holds(
  { ifMatch, ifNoneMatch, ifUnmodifiedSince }: Condition,
  current?: ModelResource,
): boolean {
  const isThere = current !== undefined;
  const tags = (field: string) => field.split(", ");
  const tag = current?.tag ?? "unknown";
  if (ifMatch !== undefined) {
    if (ifMatch === "*" ? !isThere : !tags(ifMatch).includes(tag)) return false;
  } else if (ifUnmodifiedSince !== undefined) {
    if (isThere && Date.parse(ifUnmodifiedSince) < Date.now() - 600_000) return false;
  }
  if (ifNoneMatch === undefined) return true;
  if (ifNoneMatch === "*") return !isThere;
  return !tags(ifNoneMatch).some((each) => each.replace(/^W\//, "") === tag);
}

function fieldsAfter(
  change: Extract<Change, { kind: "put" | "merge" | "json" }>,
  current: ModelResource | undefined,
): Fields {
  const document = { id: change.id, ...current?.fields, createdAt: "then", updatedAt: "now" };
  const after = documentAfter(document, change);
  demand(after !== undefined, "conflict");
  demand(isPlain(after), "invalid-body");
  demand(!("id" in after) || after.id === change.id, "conflict");
  return ownFields(after);
}

function documentAfter(
  document: Json,
  change: Extract<Change, { kind: "put" | "merge" | "json" }>,
): Json | undefined {
  switch (change.kind) {
    case "put":
      return change.body;
    case "merge":
      return mergePatch(document, change.body);
    case "json":
      return applyOperations(document, change.body);
  }
}

/** Without the members that only the server sets. */
function ownFields(document: Json): Fields {
  assert.ok(isPlain(document));
  const { id, createdAt, updatedAt, ...fields } = document;
  return fields;
}
