// Applies a batch of changes to the loaded state, and returns the outcomes and the rows to write.

import { advanceClock, isWorthSaving, type KeyClock } from "../core/key-clock.ts";
import {
  decodeOutcomes,
  encodeOutcomes,
  isAnyDeleted,
  storedResources,
} from "../core/stored-outcomes.ts";
import type { Change, IdempotencyKey, Outcome, Put, Remove } from "../store.ts";
import type { LoadedState } from "./load-state.ts";
import { type LockedCollection, OpenCollection } from "./open-collection.ts";
import { type LoadedToken, OpenTokens } from "./open-tokens.ts";
import { noWrites, type StoredKeyWrite, type Writes } from "./writes.ts";

/** The stored state of everything that the batch refers to. */
export interface LoadedBatch extends LoadedState {
  readonly collections: readonly LockedCollection[];
  readonly tokens: readonly LoadedToken[];
  readonly storedKeys: readonly StoredKey[];
  /** The clock of Idempotency-Keys; undefined when the batch has no key. */
  readonly keyClock: KeyClock | undefined;
}

/** A stored Idempotency-Key with the outcomes of its request. */
export interface StoredKey {
  /** The result of `nameOf`. */
  readonly name: string;
  readonly fingerprint: string;
  /** JSON text. */
  readonly outcomes: string;
  readonly expiresAt: number;
}

export interface AppliedChanges {
  readonly outcomes: readonly Outcome[];
  readonly writes: Writes;
}

type AtomicChange = Extract<Change, { kind: "all" }>;
type Drop = Extract<Change, { kind: "drop" }>;

const missing: Outcome = { kind: "missing" };
const done: Outcome = { kind: "done" };

export function applyChanges(changes: readonly Change[], loaded: LoadedBatch): AppliedChanges {
  const state = new BatchState(loaded);
  const outcomes = changes.map((change) => state.apply(change));
  return { outcomes, writes: state.writes() };
}

class BatchState {
  readonly #collections: ReadonlyMap<string, OpenCollection>;
  readonly #tokens: OpenTokens;
  readonly #storedKeys: ReadonlyMap<string, StoredKey>;
  readonly #newKeys = new Map<string, StoredKeyWrite>();
  readonly #keyClock: KeyClock;
  #nextKeyClock: KeyClock;

  constructor({
    collections,
    resources,
    removals,
    holders,
    tokens,
    storedKeys,
    keyClock,
  }: LoadedBatch) {
    this.#keyClock = keyClock ?? { now: 0, seen: 0 };
    this.#nextKeyClock = this.#keyClock;
    this.#collections = new Map(collections.map((each) => [each.name, new OpenCollection(each)]));
    for (const { collection, id, ...existing } of resources)
      this.#collections.get(collection)?.add(id, existing);
    for (const { collection, id, removedAt } of removals)
      this.#collections.get(collection)?.addRemoval(id, removedAt);
    for (const { collection, seq, ...entry } of holders)
      this.#collections.get(collection)?.addHolder(entry, seq);
    this.#tokens = new OpenTokens(tokens);
    this.#storedKeys = new Map(storedKeys.map((each) => [each.name, each]));
  }

  apply(change: Change): Outcome {
    switch (change.kind) {
      case "put":
      case "remove":
        return this.#applyOne(change);
      case "all":
        return change.once ? this.#applyOnce(change, change.once) : this.#applyAll(change);
      case "create-collection":
        this.#collections.get(change.collection)?.create(change.at);
        return done;
      case "define":
        this.#collections.get(change.collection)?.define(change.definition, change.at);
        return done;
      case "drop":
        return this.#checkDrop(change);
      default:
        return this.#tokens.apply(change);
    }
  }

  writes(): Writes {
    const writes = noWrites();
    for (const collection of this.#collections.values()) collection.collect(writes);
    this.#tokens.collect(writes);
    for (const [name, newKey] of this.#newKeys) {
      writes.storedKeys.push(newKey);
      if (this.#storedKeys.has(name)) writes.expiredNames.push(name);
    }
    const [before, after] = [this.#keyClock, this.#nextKeyClock];
    if (writes.storedKeys.length > 0 && isWorthSaving(before, after))
      writes.keyClocks.push({ ...after, before: before.seen });
    return writes;
  }

  /** Only checks whether the collection can be dropped; redefine.ts deletes its rows. */
  #checkDrop({ collection: name, isEmptyOnly }: Drop): Outcome {
    const collection = this.#collections.get(name);
    if (!collection?.exists) return missing;
    return isEmptyOnly && collection.total > 0 ? { kind: "taken" } : done;
  }

  #applyOne(change: Put | Remove): Outcome {
    const collection = this.#collections.get(change.collection);
    if (!collection?.exists) return missing;
    if (!collection.matchesRules(change.rules)) return { kind: "outdated" };
    return change.kind === "put" ? collection.put(change) : collection.remove(change);
  }

  #applyAll({ changes }: AtomicChange): Outcome {
    const touched = new Set(changes.map(({ collection }) => this.#collections.get(collection)));
    for (const collection of touched) collection?.begin();
    const outcomes: Outcome[] = [];
    for (const [index, change] of changes.entries()) {
      const outcome = this.#applyOne(change);
      if (isRefusal(outcome)) {
        for (const collection of touched) collection?.undo();
        return { kind: "none", index, outcome };
      }
      outcomes.push(outcome);
    }
    return { kind: "all", outcomes, isReplay: false };
  }

  #applyOnce(atomic: AtomicChange, once: IdempotencyKey): Outcome {
    const { fingerprint, at } = once;
    const name = nameOf(once);
    this.#nextKeyClock = advanceClock(this.#nextKeyClock, at);
    const { now } = this.#nextKeyClock;
    const stored = this.#newKeys.get(name) ?? this.#storedKeys.get(name);
    if (stored && stored.expiresAt > now) {
      if (stored.fingerprint !== fingerprint) return { kind: "reused" };
      if (this.#isAnyDeleted(stored.outcomes, atomic)) return { kind: "gone" };
      const { outcomes = [] } = decodeOutcomes(stored.outcomes) ?? {};
      return { kind: "all", outcomes, isReplay: true };
    }
    const outcome = this.#applyAll(atomic);
    if (outcome.kind === "all") {
      const outcomes = encodeOutcomes(atomic.changes, outcome.outcomes);
      const expiresAt = now + (once.expiresAt - at);
      this.#newKeys.set(name, { name, fingerprint, outcomes, at: now, expiresAt });
    }
    return outcome;
  }

  #isAnyDeleted(outcomes: string, { changes }: AtomicChange): boolean {
    return isAnyDeleted(storedResources(outcomes, changes), (collection, id) =>
      this.#collections.get(collection)?.createdAtOf(id),
    );
  }
}

const refusals: ReadonlySet<Outcome["kind"]> = new Set([
  ...(["taken", "stale", "missing", "outdated", "conflict"] as const),
]);
const isRefusal = ({ kind }: Outcome): boolean => refusals.has(kind);

/** The owner and the key as one unique text. */
export const nameOf = ({ owner, key }: IdempotencyKey): string => JSON.stringify([owner, key]);
