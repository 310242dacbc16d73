// A simple model of the store: plain maps, one change after another.

import type { Collection } from "../../../src/model/collection.ts";
import type { Feed, Removal } from "../../../src/model/feed.ts";
import { readFiles } from "../../../src/model/file.ts";
import type { IdempotencyKey } from "../../../src/model/idempotency-key.ts";
import {
  IndexedContent,
  indexPlanOf,
  searchTextsOf,
  uniqueKeysIn,
} from "../../../src/model/query/index-plan.ts";
import type { Query, Word } from "../../../src/model/query/query.ts";
import type { Resource } from "../../../src/model/resource.ts";
import type {
  Change,
  Expectation,
  Outcome,
  Put,
  Range,
  Remove,
  Slice,
} from "../../../src/store/store.ts";
import { type Selection, select } from "./select.ts";

interface CollectionState {
  collection: Collection;
  /** In the order of creation. */
  readonly resources: Map<string, Resource>;
  readonly removals: Map<string, Removal>;
}

interface Kept {
  readonly fingerprint: string;
  readonly expiresAt: number;
  readonly unit: Unit;
  readonly outcomes: readonly Outcome[];
}

type Unit = Extract<Change, { kind: "all" }>;

export class ReferenceModel {
  #collections = new Map<string, CollectionState>();
  readonly #kept = new Map<string, Kept>();
  /** By which keys expire, and as the batch under way moves it. */
  #keyClock = 0;
  #movedKeyClock = 0;
  #isKeyKept = false;

  collections(): readonly Collection[] {
    const all = [...this.#collections.values()].map(({ collection }) => collection);
    return all.sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  collection(name: string): Collection | undefined {
    return this.#collections.get(name)?.collection;
  }

  find(collection: string, id: string): Resource | undefined {
    return this.#collections.get(collection)?.resources.get(id);
  }

  slice(name: string, { offset, limit, order }: Range): Slice | undefined {
    const collectionState = this.#collections.get(name);
    if (!collectionState) return undefined;
    const all = [...collectionState.resources.values()];
    const ordered = order === "created" ? all : all.reverse();
    return {
      collection: collectionState.collection,
      resources: ordered.slice(offset, offset + limit),
    };
  }

  since(name: string, revision: number, limit: number): Feed | undefined {
    const collectionState = this.#collections.get(name);
    if (!collectionState) return undefined;
    const entries = [...collectionState.resources.values(), ...collectionState.removals.values()]
      .filter((entry) => entry.revision > revision)
      .sort((one, other) => one.revision - other.revision);
    return { collection: collectionState.collection, epoch: "", entries: entries.slice(0, limit) };
  }

  /** The keys of all files. */
  named(): ReadonlySet<string> {
    const all = [...this.#collections.values()].flatMap(({ resources }) => [...resources.values()]);
    return new Set(
      all.flatMap(({ files: parts = "[]" }) => readFiles(parts).map(({ key }) => key)),
    );
  }

  /** Where the best come first, they come in no particular order. */
  query(name: string, query: Query): Selection | undefined {
    const collectionState = this.#collections.get(name);
    if (!collectionState) return undefined;
    const plan = indexPlanOf(collectionState.collection.definition);
    const candidates = [...collectionState.resources.values()].map((resource, seq) => ({
      seq,
      resource,
    }));
    const spoken = candidates.filter(({ resource }) =>
      has(
        searchTextsOf(plan, resource)
          .map(({ text }) => text)
          .join(" "),
        query.words,
      ),
    );
    return select(spoken, query);
  }

  commit(changes: readonly Change[]): readonly Outcome[] {
    this.#movedKeyClock = this.#keyClock;
    this.#isKeyKept = false;
    const outcomes = changes.map((change) => this.#apply(change));
    const [before, after] = [this.#keyClock, this.#movedKeyClock];
    if (this.#isKeyKept && (before === 0 || after - before >= 1_000)) this.#keyClock = after;
    return outcomes;
  }

  #apply(change: Change): Outcome {
    switch (change.kind) {
      case "put":
        return this.#put(change);
      case "remove":
        return this.#remove(change);
      case "all":
        return change.once ? this.#doOnce(change, change.once) : this.#doAll(change);
      case "create-collection":
        if (!this.#collections.has(change.collection)) this.#found(change.collection, change.at);
        return { kind: "done" };
      case "define":
        return this.#define(change.collection, change.definition, change.at);
      case "drop":
        return this.#drop(change.collection, change.isEmptyOnly);
      default:
        throw new TypeError(`${change.kind} is not modelled`);
    }
  }

  #put({ collection, id, fields, at, expect, owner, setOwner, files: parts }: Put): Outcome {
    const collectionState = this.#collections.get(collection);
    const state = collectionState?.resources.get(id);
    if (!collectionState) return { kind: "missing" };
    if (expect === "nothing" && state) return { kind: "taken" };
    if (typeof expect === "number" && state?.revision !== expect) return unexpected(state);
    const before = state?.updatedAt ?? collectionState.removals.get(id)?.removedAt;
    const time = before === undefined ? at : Math.max(before, at);
    const times = { createdAt: state?.createdAt ?? time, updatedAt: time };
    const isShared = before !== undefined && secondOf(before) === secondOf(time);
    const dated = isShared ? { sharesDate: true as const } : {};
    const creator = state ? state.owner : owner;
    const newOwner = setOwner === undefined ? creator : (setOwner ?? undefined);
    const owned = newOwner === undefined ? {} : { owner: newOwner };
    const attached = parts === undefined ? {} : { files: parts };
    const revision = collectionState.collection.revision + 1;
    const resource: Resource = { id, revision, ...times, fields, ...owned, ...attached, ...dated };
    const others = [...collectionState.resources.values()].filter((other) => other !== state);
    const field = sharedField(collectionState.collection.definition, [...others, resource]);
    if (field !== undefined) return { kind: "conflict", field };
    touch(collectionState, time, state ? 0 : 1);
    collectionState.resources.set(id, resource);
    collectionState.removals.delete(id);
    return { kind: state ? "replaced" : "created", resource };
  }

  #remove({ collection, id, at, expect }: Remove): Outcome {
    const collectionState = this.#collections.get(collection);
    const state = collectionState?.resources.get(id);
    if (!collectionState || !state || !fits(state, expect)) return unexpected(state);
    const removedAt = Math.max(state.updatedAt, at);
    const revision = touch(collectionState, removedAt, -1);
    collectionState.resources.delete(id);
    collectionState.removals.set(id, { kind: "removal", id, revision, removedAt });
    return { kind: "removed", revision };
  }

  #doAll({ changes }: Unit): Outcome {
    const before = structuredClone(this.#collections);
    const outcomes: Outcome[] = [];
    for (const [index, change] of changes.entries()) {
      const outcome = this.#apply(change);
      if (!doneKinds.has(outcome.kind)) {
        this.#collections = before;
        return { kind: "none", index, outcome };
      }
      outcomes.push(outcome);
    }
    return { kind: "all", outcomes, isReplay: false };
  }

  #doOnce(unit: Unit, { owner, key, fingerprint, at, expiresAt }: IdempotencyKey): Outcome {
    const name = JSON.stringify([owner, key]);
    const kept = this.#kept.get(name);
    // Steps of the clock are small here, and it does not go backwards.
    this.#movedKeyClock = Math.max(this.#movedKeyClock, at);
    const now = this.#movedKeyClock;
    if (kept && kept.expiresAt > now)
      return kept.fingerprint === fingerprint ? this.#replay(kept) : { kind: "reused" };
    const outcome = this.#doAll(unit);
    if (outcome.kind === "all") {
      this.#isKeyKept = true;
      const until = now + (expiresAt - at);
      this.#kept.set(name, { fingerprint, expiresAt: until, unit, outcomes: outcome.outcomes });
    }
    return outcome;
  }

  #replay({ unit, outcomes }: Kept): Outcome {
    const isGone = outcomes.some((outcome, index) => {
      if (!("resource" in outcome)) return false;
      const collectionState = this.#collections.get(unit.changes[index]?.collection ?? "");
      return (
        collectionState?.resources.get(outcome.resource.id)?.createdAt !==
        outcome.resource.createdAt
      );
    });
    return isGone ? { kind: "gone" } : { kind: "all", outcomes, isReplay: true };
  }

  /** Founding takes the first revision, and each write the next: none is left out. */
  #found(name: string, at: number, definition = "{}", version = 0): void {
    const times = { createdAt: at, updatedAt: at };
    const collection = { name, revision: 1, total: 0, bytes: 0, version, definition, ...times };
    this.#collections.set(name, { collection, resources: new Map(), removals: new Map() });
  }

  #define(name: string, definition: string, at: number): Outcome {
    const collectionState = this.#collections.get(name);
    const field =
      collectionState && sharedField(definition, [...collectionState.resources.values()]);
    if (field !== undefined) return { kind: "conflict", field };
    if (collectionState) touch(collectionState, at, 0);
    const former = collectionState?.collection.version ?? 0;
    // The first one is within the second, the others are the next full second.
    const version =
      former === 0
        ? 1_000 * Math.floor(at / 1_000) + Math.floor((at % 1_000) / 2) + 1
        : 1_000 * (1 + Math.floor(Math.max(former, at) / 1_000));
    if (collectionState)
      collectionState.collection = { ...collectionState.collection, definition, version };
    else this.#found(name, at, definition, version);
    return { kind: "done" };
  }

  #drop(name: string, isEmptyOnly: boolean): Outcome {
    const collectionState = this.#collections.get(name);
    if (!collectionState) return { kind: "missing" };
    if (isEmptyOnly && collectionState.collection.total > 0) return { kind: "taken" };
    this.#collections.delete(name);
    return { kind: "done" };
  }
}

const secondOf = (ms: number): number => Math.floor(ms / 1000);

const doneKinds: ReadonlySet<Outcome["kind"]> = new Set(["created", "replaced", "removed"]);

/** The name of the first unique index in which two of the resources have the same values. */
function sharedField(definition: string, resources: readonly Resource[]): string | undefined {
  const plan = indexPlanOf(definition);
  const shared = plan.indexes.find((index) => {
    if (!index.isUnique) return false;
    const keys = resources.flatMap((each) => uniqueKeysIn(index, new IndexedContent(each)));
    return new Set(keys).size < keys.length;
  });
  return shared?.name;
}

const has = (text: string, words: readonly Word[]): boolean =>
  words.every(({ text: wanted, isPrefix }) =>
    text.split(" ").some((word) => (isPrefix ? word.startsWith(wanted) : word === wanted)),
  );

const fits = (state: Resource, expect: Expectation): boolean =>
  expect === "anything" || expect === state.revision || (expect === "no-files" && !state.files);

const unexpected = (state: Resource | undefined): Outcome => ({
  kind: state ? "stale" : "missing",
});

/** Takes the next revision. */
function touch(collectionState: CollectionState, at: number, growth: number): number {
  const { revision, total, updatedAt } = collectionState.collection;
  collectionState.collection = {
    ...collectionState.collection,
    revision: revision + 1,
    total: total + growth,
    updatedAt: Math.max(updatedAt, at),
  };
  return revision + 1;
}
