// The interface in its simplest form: plain maps, one request after another, and no thought of speed.

import assert from "node:assert/strict";
import type { ProblemKind } from "../../src/model/problem.ts";
import { isPlain, type Json, merge, type Operation, operate } from "../model/reference.ts";

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

interface Place {
  readonly collection: string;
  readonly id: string;
  readonly condition: Condition;
}

export type Change =
  | { readonly kind: "post"; readonly collection: string; readonly body: Json }
  | (Place & { readonly kind: "put"; readonly body: Json })
  | (Place & { readonly kind: "merge"; readonly body: Json })
  | (Place & { readonly kind: "json"; readonly body: readonly Operation[] })
  | (Place & { readonly kind: "delete" });

export type Ask =
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

export type Verdict =
  | { readonly problem: ProblemKind }
  | { readonly results: readonly Result[]; readonly isReplay: boolean };

interface Kept {
  readonly revision: number;
  readonly fields: Fields;
  readonly born: number;
  /** As the server told it; undefined until it has. */
  tag?: string;
  createdAt?: string;
}

interface Rules {
  readonly preconditions: string;
  readonly idempotencyKey: string;
}

interface Shelf {
  revision: number;
  rules: Rules;
  /** In the order of creation. */
  readonly resources: Map<string, Kept>;
  readonly removals: Map<string, number>;
}

class Refused {
  readonly problem: ProblemKind;

  constructor(problem: ProblemKind) {
    this.problem = problem;
  }
}

function demand(isGiven: boolean, problem: ProblemKind): asserts isGiven {
  if (!isGiven) throw new Refused(problem);
}

export class Model {
  #shelves = new Map<string, Shelf>();
  readonly #keys = new Map<
    string,
    { readonly print: string; readonly results: readonly Result[] }
  >();
  readonly #tags = new Set<string>();
  /** Counts the requests that change something. All that one of them creates has the same time of creation. */
  #time = 0;

  /** Judges a request, and does it if it can be. `newIds` are those that the server has chosen. */
  judge(caller: Caller, ask: Ask, newIds: readonly string[]): Verdict {
    const before = structuredClone(this.#shelves);
    try {
      return this.#judge(caller, ask, newIds);
    } catch (thrown) {
      if (!(thrown instanceof Refused)) throw thrown;
      this.#shelves = before;
      return { problem: thrown.problem };
    }
  }

  #judge(caller: Caller, ask: Ask, newIds: readonly string[]): Verdict {
    if (ask.kind === "define") {
      this.#define(caller, ask.collection, ask.rules);
      return { results: [], isReplay: false };
    }
    const changes = ask.kind === "batch" ? ask.changes : [ask];
    const isBatch = ask.kind === "batch";
    // A batch is read as a whole before anything in it is judged.
    if (isBatch) for (const change of changes) demand(isReadable(change), "invalid-body");
    else this.#precheck(caller, ask);
    const key = ask.kind === "batch" || ask.kind === "post" ? ask.key : undefined;
    const name = `${caller.name} ${key}`;
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

  /** What a single request is refused for before its body is read. */
  #precheck(caller: Caller, change: Change): void {
    this.#mayTry(caller, change);
    if (change.kind === "post") {
      const shelf = this.#target(caller, change.collection);
      const isDemanded = shelf?.rules.idempotencyKey === "required";
      demand(!isDemanded || "key" in change, "key-required");
    } else {
      const shelf =
        change.kind === "put"
          ? this.#target(caller, change.collection)
          : this.#shelves.get(change.collection);
      const isThere = shelf?.resources.has(change.id) ?? false;
      demand(change.kind === "put" || isThere, "not-found");
      demandCondition(shelf, change.condition);
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

  #target({ isAdmin }: Caller, collection: string): Shelf | undefined {
    const shelf = this.#shelves.get(collection);
    demand(shelf !== undefined || isAdmin, "not-found");
    return shelf;
  }

  #do(caller: Caller, change: Change, id: string, key: string | undefined): Result {
    const { collection } = change;
    this.#mayTry(caller, change);
    const shelf = this.#target(caller, collection);
    if (change.kind === "post") {
      const isDemanded = shelf?.rules.idempotencyKey === "required";
      demand(!isDemanded || key !== undefined, "key-required");
      return this.#write(collection, id, ownFields(change.body));
    }
    const current = shelf?.resources.get(id);
    if (change.kind === "put") {
      const verb = current === undefined ? "create" : "update";
      demand(caller.verbs.includes(verb), "insufficient-scope");
    } else {
      demand(current !== undefined, "not-found");
    }
    demandCondition(shelf, change.condition);
    demand(holds(change.condition, current), "precondition-failed");
    if (change.kind === "delete") return this.#remove(collection, id);
    const isTesting = change.kind === "json" && change.body.some(({ op }) => op === "test");
    demand(!isTesting || caller.verbs.includes("read"), "insufficient-scope");
    return this.#write(collection, id, fieldsAfter(change, current));
  }

  #write(collection: string, id: string, fields: Fields): Result {
    const shelf = this.#shelves.get(collection) ?? this.#found(collection);
    const before = shelf.resources.get(id);
    const revision = ++shelf.revision;
    const { createdAt, born = this.#time } = before ?? {};
    shelf.resources.set(id, {
      ...{ revision, fields, born },
      ...(createdAt === undefined ? {} : { createdAt }),
    });
    shelf.removals.delete(id);
    return { status: before === undefined ? 201 : 200, collection, id, fields, born };
  }

  /** Whether what was written was deleted since. What has the id now may be another resource. */
  #isDeleted({ collection, id, fields, born }: Result): boolean {
    return fields !== undefined && this.find(collection, id)?.born !== born;
  }

  #remove(collection: string, id: string): Result {
    const shelf = this.#shelves.get(collection);
    assert.ok(shelf !== undefined);
    shelf.resources.delete(id);
    shelf.removals.set(id, ++shelf.revision);
    return { status: 204, collection, id };
  }

  /** Founding takes the first revision. */
  #found(collection: string): Shelf {
    const rules = { preconditions: "optional", idempotencyKey: "optional" };
    const shelf = { revision: 1, rules, resources: new Map(), removals: new Map() };
    this.#shelves.set(collection, shelf);
    return shelf;
  }

  #define(caller: Caller, collection: string, rules: Json): void {
    demand(caller.isAdmin, "insufficient-scope");
    demand(isPlain(rules), "invalid-body");
    const known = ["preconditions", "idempotencyKey"];
    for (const [name, rule] of Object.entries(rules))
      demand(known.includes(name) && (rule === "optional" || rule === "required"), "invalid-body");
    const shelf = this.#shelves.get(collection);
    if (shelf !== undefined) shelf.revision++;
    const open = { preconditions: "optional", idempotencyKey: "optional" };
    (shelf ?? this.#found(collection)).rules = { ...open, ...rules } as Rules;
  }

  find(collection: string, id: string): Kept | undefined {
    return this.#shelves.get(collection)?.resources.get(id);
  }

  /** What the server says of a state: a tag that no state had before, and the time of its creation. */
  told(collection: string, id: string, tag: string, createdAt: string): void {
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
    const shelf = this.#shelves.get(collection);
    if (shelf === undefined) return undefined;
    const all = [...shelf.resources].map(([id, { fields }]) => ({ id, ...fields }));
    return order === "createdAt" ? all : all.reverse();
  }

  revision(collection: string): number | undefined {
    return this.#shelves.get(collection)?.revision;
  }

  since(collection: string, since: number, limit: number) {
    const shelf = this.#shelves.get(collection);
    assert.ok(shelf !== undefined);
    const written = [...shelf.resources].map(([id, { revision, fields }]) => ({
      revision,
      resource: { id, ...fields },
    }));
    const removed = [...shelf.removals].map(([id, revision]) => ({ revision, removed: id }));
    const all = [...written, ...removed]
      .filter(({ revision }) => revision > since)
      .sort((one, other) => one.revision - other.revision);
    const changes = all.slice(0, limit);
    const next = changes.length < limit ? shelf.revision : (changes.at(-1)?.revision ?? 0);
    return { changes, since, next, more: next < shelf.revision };
  }
}

/** Whether the body is what its kind of change takes. */
function isReadable(change: Change): boolean {
  if (change.kind === "post") return isPlain(change.body) && !("id" in change.body);
  return change.kind !== "put" || isPlain(change.body);
}

function demandCondition(shelf: Shelf | undefined, condition: Condition): void {
  const isDemanded = shelf?.rules.preconditions === "required";
  const isByTag = condition.ifMatch !== undefined || condition.ifNoneMatch !== undefined;
  demand(!isDemanded || isByTag, "precondition-required");
}

/** RFC 9110 §13.2.2. Only what is there and known by its tag can match. */
function holds({ ifMatch, ifNoneMatch, ifUnmodifiedSince }: Condition, current?: Kept): boolean {
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
  current: Kept | undefined,
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
      return merge(document, change.body);
    case "json":
      return operate(document, change.body);
  }
}

/** Without the members that only the server sets. */
function ownFields(document: Json): Fields {
  assert.ok(isPlain(document));
  const { id, createdAt, updatedAt, ...fields } = document;
  return fields;
}
