// Judges a batch: from what is there and what is asked follow the outcomes, and what is to be written.

import { isAnyGone, keptResources, keptTextOf, readKeptText } from "../kept-outcomes.ts";
import { advanced, isWorthKeeping, type KeyClock } from "../key-clock.ts";
import type { Change, IdempotencyKey, Outcome, Put, Remove } from "../store.ts";
import type { LoadedState } from "./load-state.ts";
import { type LockedCollection, OpenCollection } from "./open-collection.ts";
import { type KnownToken, OpenTokens } from "./open-tokens.ts";
import { type KeptWrite, noWrites, type Writes } from "./writes.ts";

/** What the database holds of all that the batch names. */
export interface Known extends LoadedState {
  readonly collections: readonly LockedCollection[];
  readonly tokens: readonly KnownToken[];
  readonly kept: readonly KeptKey[];
  /** The clock of keys; none where the batch names no key. */
  readonly keyClock: KeyClock | undefined;
}

/** A key under which something was done. */
export interface KeptKey {
  /** As `nameOf` tells it. */
  readonly name: string;
  readonly fingerprint: string;
  /** As JSON. */
  readonly outcomes: string;
  readonly keptUntil: number;
}

export interface Judgement {
  readonly outcomes: readonly Outcome[];
  readonly writes: Writes;
}

type Unit = Extract<Change, { kind: "all" }>;
type Drop = Extract<Change, { kind: "drop" }>;

const missing: Outcome = { kind: "missing" };
const done: Outcome = { kind: "done" };

export function judge(changes: readonly Change[], known: Known): Judgement {
  const bench = new Bench(known);
  const outcomes = changes.map((change) => bench.judge(change));
  return { outcomes, writes: bench.writes() };
}

class Bench {
  readonly #collections: ReadonlyMap<string, OpenCollection>;
  readonly #tokens: OpenTokens;
  readonly #kept: ReadonlyMap<string, KeptKey>;
  readonly #newlyKept = new Map<string, KeptWrite>();
  readonly #keyClock: KeyClock;
  #movedKeyClock: KeyClock;

  constructor({ collections, resources, removals, holders, tokens, kept, keyClock }: Known) {
    this.#keyClock = keyClock ?? { now: 0, seen: 0 };
    this.#movedKeyClock = this.#keyClock;
    this.#collections = new Map(collections.map((each) => [each.name, new OpenCollection(each)]));
    for (const { collection, id, ...standing } of resources)
      this.#collections.get(collection)?.learn(id, standing);
    for (const { collection, id, removedAt } of removals)
      this.#collections.get(collection)?.learnRemoval(id, removedAt);
    for (const { collection, seq, ...entry } of holders)
      this.#collections.get(collection)?.learnHolder(entry, seq);
    this.#tokens = new OpenTokens(tokens);
    this.#kept = new Map(kept.map((each) => [each.name, each]));
  }

  judge(change: Change): Outcome {
    switch (change.kind) {
      case "put":
      case "remove":
        return this.#judgeOne(change);
      case "all":
        return change.once ? this.#doOnce(change, change.once) : this.#doAll(change);
      case "found":
        this.#collections.get(change.collection)?.found(change.at);
        return done;
      case "define":
        this.#collections.get(change.collection)?.define(change.definition, change.at);
        return done;
      case "drop":
        return this.#judgeDrop(change);
      default:
        return this.#tokens.judge(change);
    }
  }

  writes(): Writes {
    const writes = noWrites();
    for (const collection of this.#collections.values()) collection.collect(writes);
    this.#tokens.collect(writes);
    for (const [name, kept] of this.#newlyKept) {
      writes.kept.push(kept);
      if (this.#kept.has(name)) writes.overNames.push(name);
    }
    const [before, after] = [this.#keyClock, this.#movedKeyClock];
    if (writes.kept.length > 0 && isWorthKeeping(before, after))
      writes.keyClocks.push({ ...after, before: before.seen });
    return writes;
  }

  /** Whether it may go: what is in it is beyond a batch. */
  #judgeDrop({ collection: name, isEmptyOnly }: Drop): Outcome {
    const collection = this.#collections.get(name);
    if (!collection?.isFounded) return missing;
    return isEmptyOnly && collection.total > 0 ? { kind: "taken" } : done;
  }

  #judgeOne(change: Put | Remove): Outcome {
    const collection = this.#collections.get(change.collection);
    if (!collection?.isFounded) return missing;
    if (!collection.isJudgedBy(change.rules)) return { kind: "outdated" };
    return change.kind === "put" ? collection.put(change) : collection.remove(change);
  }

  #doAll({ changes }: Unit): Outcome {
    const touched = new Set(changes.map(({ collection }) => this.#collections.get(collection)));
    for (const collection of touched) collection?.begin();
    const outcomes: Outcome[] = [];
    for (const [index, change] of changes.entries()) {
      const outcome = this.#judgeOne(change);
      if (isRefusal(outcome)) {
        for (const collection of touched) collection?.undo();
        return { kind: "none", index, outcome };
      }
      outcomes.push(outcome);
    }
    return { kind: "all", outcomes, isReplay: false };
  }

  #doOnce(unit: Unit, once: IdempotencyKey): Outcome {
    const { fingerprint, at } = once;
    const name = nameOf(once);
    this.#movedKeyClock = advanced(this.#movedKeyClock, at);
    const { now } = this.#movedKeyClock;
    const kept = this.#newlyKept.get(name) ?? this.#kept.get(name);
    if (kept && kept.keptUntil > now) {
      if (kept.fingerprint !== fingerprint) return { kind: "reused" };
      if (this.#isAnyGone(kept.outcomes, unit)) return { kind: "gone" };
      const { outcomes = [] } = readKeptText(kept.outcomes) ?? {};
      return { kind: "all", outcomes, isReplay: true };
    }
    const outcome = this.#doAll(unit);
    if (outcome.kind === "all") {
      const outcomes = keptTextOf(unit.changes, outcome.outcomes);
      const keptUntil = now + (once.keptUntil - at);
      this.#newlyKept.set(name, { name, fingerprint, outcomes, at: now, keptUntil });
    }
    return outcome;
  }

  #isAnyGone(outcomes: string, { changes }: Unit): boolean {
    return isAnyGone(keptResources(outcomes, changes), (collection, id) =>
      this.#collections.get(collection)?.createdAtOf(id),
    );
  }
}

const refusals: ReadonlySet<Outcome["kind"]> = new Set([
  ...(["taken", "stale", "missing", "outdated", "conflict"] as const),
]);
const isRefusal = ({ kind }: Outcome): boolean => refusals.has(kind);

/** An owner's key as one text, which no other owner or key has. */
export const nameOf = ({ owner, key }: IdempotencyKey): string => JSON.stringify([owner, key]);
