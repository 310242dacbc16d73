// Decides what a batch of changes does to the stored state: the outcomes, and the rows to write.

import type { IdempotencyKey } from "../../model/idempotency-key.ts";
import type { AtomicChange } from "../change.ts";
import type { ReadState } from "../read-state.ts";
import { type Change, failureOf, isFailure, type Outcome, type ResourceChange } from "../store.ts";
import { FileUse } from "./file-use.ts";
import { advanceClock, isWorthSaving } from "./key-clock.ts";
import { OpenCollection } from "./open-collection.ts";
import { OpenTokens } from "./open-tokens.ts";
import type { KeyRow } from "./rows.ts";
import type { StateBefore, StoredKey } from "./state.ts";
import { decodeOutcomes, encodeOutcomes, isAnyDeleted } from "./stored-outcomes.ts";
import type { DeletedCollection, EngineWrites, PartWrites } from "./writes.ts";

export interface AppliedChanges {
  readonly outcomes: readonly Outcome[];
  readonly writes: EngineWrites;
}

type Define = Extract<Change, { kind: "define" }>;
type Drop = Extract<Change, { kind: "drop" }>;

const missing: Outcome = { kind: "missing" };
const outdated: Outcome = { kind: "outdated" };
const stale: Outcome = { kind: "stale" };
const revoked: Outcome = { kind: "revoked" };
const done: Outcome = { kind: "done" };

/** A definition must be the only change of its batch; `stepsOf` divides a batch accordingly. */
export function applyChanges(changes: readonly Change[], state: StateBefore): AppliedChanges {
  const batch = new Batch(state);
  const outcomes = changes.map((change) => batch.apply(change));
  return { outcomes, writes: batch.writes() };
}

/**
 * Divides a batch into steps that are applied and written one after another, in one transaction: each
 * definition is a step of its own, because the index rows of existing resources must follow it.
 */
export function stepsOf(changes: readonly Change[]): readonly (readonly Change[])[] {
  if (!changes.some(isDefinition)) return [changes];
  const steps: Change[][] = [];
  for (const change of changes) {
    const last = steps.at(-1);
    if (last && !isDefinition(change) && !last.some(isDefinition)) last.push(change);
    else steps.push([change]);
  }
  return steps;
}

/** Steps of which all are applied or none: definitions that are set together. Any other step stands alone. */
export function unitsOf(changes: readonly Change[]): readonly (readonly (readonly Change[])[])[] {
  const units: (readonly Change[])[][] = [];
  for (const step of stepsOf(changes)) {
    const last = units.at(-1);
    if (last && togetherOf(step) !== undefined && togetherOf(step) === togetherOf(last[0] ?? []))
      last.push(step);
    else units.push([step]);
  }
  return units;
}

const togetherOf = ([change]: readonly Change[]): string | undefined =>
  change?.kind === "define" ? change.together : undefined;

/** Returns the outcomes of a unit that is undone because one of its changes failed; undefined if none did. */
export function undoneOutcomes(outcomes: readonly Outcome[]): readonly Outcome[] | undefined {
  const index = outcomes.findIndex(isFailure);
  const outcome = outcomes[index];
  return outcome && outcomes.map(() => ({ kind: "none", index, outcome }));
}

const isDefinition = ({ kind }: Change): boolean => kind === "define";

class Batch {
  readonly #state: StateBefore;
  readonly #tokens: OpenTokens;
  readonly #fileUse: FileUse;
  readonly #collections = new Map<string, OpenCollection | undefined>();
  readonly #deleted: DeletedCollection[] = [];
  readonly #newKeys = new Map<string, { readonly owner: OpenCollection; readonly row: KeyRow }>();

  constructor(state: StateBefore) {
    this.#state = state;
    this.#tokens = new OpenTokens(state);
    this.#fileUse = new FileUse(state.fileUse);
  }

  apply(change: Change): Outcome {
    if (change.kind === "all")
      return change.once ? this.#applyOnce(change, change.once) : this.#applyAll(change);
    if (this.#tokens.isRevoked(change.callerToken)) return revoked;
    switch (change.kind) {
      case "put":
      case "remove":
      case "operate":
        return this.#applyAlone(change);
      case "create-collection":
        this.#create(change.collection, change.at);
        return done;
      case "define":
        return this.#define(change);
      case "drop":
        return this.#drop(change);
      default:
        return this.#tokens.apply(change);
    }
  }

  writes(): EngineWrites {
    const open = [...this.#collections.values()].filter((each) => each !== undefined);
    const parts = new Map<number, PartWrites>();
    for (const collection of open) {
      const writes = collection.collect();
      if (writes) parts.set(collection.part, writes);
    }
    for (const { owner, row } of this.#newKeys.values()) parts.get(owner.part)?.keys.push(row);
    return {
      parts: [...parts.values()],
      collections: open.flatMap((collection) => collection.collectionWrite() ?? []),
      deletedCollections: this.#deleted,
      ...this.#tokens.collect(),
    };
  }

  #collection(name: string): OpenCollection | undefined {
    if (this.#collections.has(name)) return this.#collections.get(name);
    const collection = OpenCollection.open(this.#state, name, this.#fileUse);
    this.#collections.set(name, collection);
    return collection;
  }

  #create(name: string, at: number): OpenCollection {
    const known = this.#collection(name);
    if (known) return known;
    const collection = OpenCollection.create(this.#state, name, at, this.#fileUse);
    this.#collections.set(name, collection);
    return collection;
  }

  #define({ collection, definition, replaces, at }: Define): Outcome {
    const current = this.#state.collection(collection)?.definition ?? null;
    if (replaces !== undefined && replaces !== current) return outdated;
    const defined = this.#create(collection, at);
    const before = defined.targets;
    defined.define(definition, at);
    this.#moveReferrer(collection, before, defined.targets, at);
    return done;
  }

  /** Each target lists the collections that refer to it. A target that does not exist is created. */
  #moveReferrer(
    name: string,
    before: ReadonlySet<string>,
    after: ReadonlySet<string>,
    at: number,
  ): void {
    for (const target of before.difference(after))
      this.#collection(target)?.setReferrer(name, false, at);
    for (const target of after.difference(before))
      this.#create(target, at).setReferrer(name, true, at);
  }

  #drop({ collection: name, isEmptyOnly, revision }: Drop): Outcome {
    const collection = this.#collection(name);
    if (!collection) return missing;
    if (revision !== undefined && revision !== collection.head.revision) return outdated;
    if (isEmptyOnly && collection.head.total > 0) return { kind: "taken" };
    const by = collection.referrers.find((referrer) => referrer !== name);
    if (by !== undefined) return { kind: "referenced", by, isKnown: true };
    const { targets } = collection;
    this.#moveReferrer(name, targets, new Set(), collection.head.updatedAt);
    this.#collections.set(name, undefined);
    if (!collection.isNew) this.#deleted.push({ name, part: collection.part });
    return done;
  }

  #applyAlone(change: ResourceChange): Outcome {
    return this.#differing(change) ?? this.#applyDecided(change);
  }

  /** References are checked after the change, which is undone when they do not hold. */
  #applyDecided(change: ResourceChange): Outcome {
    const collection = this.#collection(change.collection);
    if (!collection) return createsCollection(change) ? this.#applyAsGroup(change) : missing;
    const isChecked =
      change.kind === "remove" ? collection.referrers.length > 0 : collection.hasReferences;
    return isChecked ? this.#applyAsGroup(change) : applyTo(collection, change);
  }

  /** Undoes what the change has done when it fails. */
  #applyAsGroup(change: ResourceChange): Outcome {
    const outcome = this.#applyTogether([change], false);
    return outcome.kind === "all" ? (outcome.outcomes[0] ?? missing) : failureOf(outcome);
  }

  /** What the changes were decided by is compared before the first, because they can change it themselves. */
  #applyAll({ changes, isTrial, isEach }: AtomicChange): Outcome {
    for (const [index, change] of changes.entries()) {
      const outcome = this.#tokens.isRevoked(change.callerToken)
        ? revoked
        : this.#differing(change);
      if (outcome && (isTrial || isEach))
        return { kind: "all", outcomes: changes.map(() => outcome), isReplay: false };
      if (outcome) return { kind: "none", index, outcome };
    }
    if (isEach) {
      const outcomes = changes.map((change) => this.#applyDecided(change));
      return { kind: "all", outcomes, isReplay: false };
    }
    return this.#applyTogether(changes, isTrial === true);
  }

  #applyTogether(changes: AtomicChange["changes"], isTrial: boolean): Outcome {
    const created = new Set<string>();
    for (const change of changes) {
      if (!createsCollection(change) || this.#collection(change.collection)) continue;
      created.add(change.collection);
      this.#create(change.collection, change.at);
    }
    const touched = new Set(changes.map(({ collection }) => this.#collection(collection)));
    for (const collection of touched) collection?.begin();
    const outcome = isTrial ? this.#applyTrial(changes) : this.#applyEach(changes);
    const isUndone = isTrial || outcome.kind === "none";
    for (const collection of touched) {
      if (isUndone) collection?.undo();
      collection?.end();
    }
    if (isUndone) for (const name of created) this.#collections.set(name, undefined);
    return outcome;
  }

  #differing({ unchanged }: ResourceChange): Outcome | undefined {
    return unchanged && differenceIn(unchanged, (name) => this.#collection(name));
  }

  #applyTrial(changes: AtomicChange["changes"]): Outcome {
    const outcomes = changes.map((change) => {
      const outcome = this.#applyOne(change);
      return isFailure(outcome) ? outcome : (this.#brokenReference(change) ?? outcome);
    });
    return { kind: "all", outcomes, isReplay: false };
  }

  #applyEach(changes: AtomicChange["changes"]): Outcome {
    const outcomes: Outcome[] = [];
    for (const [index, change] of changes.entries()) {
      const outcome = this.#applyOne(change);
      if (isFailure(outcome)) return { kind: "none", index, outcome };
      outcomes.push(outcome);
    }
    for (const [index, change] of changes.entries()) {
      const outcome = this.#brokenReference(change);
      if (outcome) return { kind: "none", index, outcome };
    }
    return { kind: "all", outcomes, isReplay: false };
  }

  #applyOne(change: ResourceChange): Outcome {
    const collection = this.#collection(change.collection);
    return collection ? applyTo(collection, change) : missing;
  }

  /** Checks the references from and to a resource, after all changes of its group. */
  #brokenReference({ collection: name, id }: ResourceChange): Outcome | undefined {
    const collection = this.#collection(name);
    if (collection?.has(id)) {
      const target = collection
        .newTargets(id)
        .find(({ collection, id }) => !this.#collection(collection)?.has(id));
      return target && { kind: "dangling", target };
    }
    for (const by of collection?.referrers ?? []) {
      const isReferring = this.#collection(by)?.refersTo({ collection: name, id });
      if (isReferring) return { kind: "referenced", by, isKnown: isReferring === true };
    }
    return undefined;
  }

  /** The key belongs to the collection of the request with the lowest part, and commits with it. */
  #applyOnce(atomic: AtomicChange, once: IdempotencyKey): Outcome {
    const own = atomic.changes.slice(0, once.ownChanges);
    const known = this.#keyOwner(own);
    const stored = known && this.#storedKey(known, once);
    if (stored && stored.expiresAt > advanceClock(known.keyClock, once.at).now) {
      if (stored.fingerprint !== once.fingerprint) return { kind: "reused" };
      if (this.#isAnyDeleted(stored.outcomes)) return { kind: "gone" };
      const { outcomes = [] } = decodeOutcomes(stored.outcomes) ?? {};
      return { kind: "all", outcomes, isReplay: true };
    }
    const outcome = this.#applyAll(atomic);
    // The changes may have created the collection.
    const owner = this.#keyOwner(own);
    if (outcome.kind !== "all" || !owner) return outcome;
    const clock = advanceClock(owner.keyClock, once.at);
    if (isWorthSaving(owner.keyClock, clock)) owner.keyClock = clock;
    const { key, fingerprint } = once;
    const outcomes = encodeOutcomes(atomic.changes, outcome.outcomes);
    const expiresAt = clock.now + (once.expiresAt - once.at);
    const row = { owner: once.owner, key, fingerprint, outcomes, expiresAt };
    this.#newKeys.set(nameOf(owner, once), { owner, row });
    return outcome;
  }

  #keyOwner(changes: readonly ResourceChange[]): OpenCollection | undefined {
    return changes
      .flatMap(({ collection }) => this.#collection(collection) ?? [])
      .reduce<OpenCollection | undefined>(
        (lowest, each) => (lowest && lowest.part <= each.part ? lowest : each),
        undefined,
      );
  }

  #storedKey(owner: OpenCollection, once: IdempotencyKey): StoredKey | undefined {
    return this.#newKeys.get(nameOf(owner, once))?.row ?? this.#state.key(owner.part, once);
  }

  #isAnyDeleted(outcomes: string): boolean {
    return isAnyDeleted(decodeOutcomes(outcomes)?.resources, (collection, id) =>
      this.#collection(collection)?.createdAtOf(id),
    );
  }
}

const createsCollection = (change: ResourceChange): boolean =>
  change.kind === "put" && change.createsCollection === true;

function applyTo(collection: OpenCollection, change: ResourceChange): Outcome {
  if (!collection.matchesRules(change.rules)) return outdated;
  return collection.apply(change);
}

const nameOf = ({ part }: OpenCollection, { owner, key }: IdempotencyKey): string =>
  JSON.stringify([part, owner, key]);

/** Returns the outcome of a change when something that it was decided by has changed since. */
function differenceIn(
  unchanged: readonly ReadState[],
  find: (name: string) => OpenCollection | undefined,
): Outcome | undefined {
  for (const read of unchanged) {
    const collection = find(read.collection);
    if ("version" in read) {
      if ((collection?.head.version ?? 0) !== read.version) return outdated;
      continue;
    }
    const { id, revision } = read;
    const current = id === undefined ? collection?.head.revision : collection?.revisionOf(id);
    if ((current ?? -1) !== revision) return stale;
  }
  return undefined;
}
