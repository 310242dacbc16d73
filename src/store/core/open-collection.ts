// Applies changes to one collection in memory, and collects the rows to write at the end of the batch.

import { RecentMap } from "../../lib/recent-map.ts";
import type { Rules } from "../../model/collection.ts";
import { emptyIndexPlan, type IndexPlan } from "../../model/query/index-plan.ts";
import type { Candidate } from "../../model/query/query.ts";
import type { ResourceAddress } from "../../model/reference.ts";
import { operateOn } from "../../model/write/operate.ts";
import type { Operate, Outcome, Put, Remove, ResourceChange } from "../store.ts";
import { candidateOf, collectResource, isRemoval, type WrittenRow } from "./collect-resource.ts";
import { failedExpectation } from "./expectation.ts";
import type { FileUse } from "./file-use.ts";
import { hasNoIndexes, needsFields } from "./index-rows.ts";
import type { KeyClock } from "./key-clock.ts";
import { OpenHead } from "./open-head.ts";
import { OpenRules } from "./open-rules.ts";
import { newPart } from "./part.ts";
import { ResourceStates } from "./resource-states.ts";
import { type Head, noHead } from "./rows.ts";
import type { ResourceState, StateBefore, StoredCollection } from "./state.ts";
import { columnsOf, isIntact, resourceIn, rowOf } from "./stored-resource.ts";
import { notBefore, sharesSecond } from "./times.ts";
import { type Holders, TrackedValues } from "./tracked-values.ts";
import { type CollectionWrite, noPartWrites, type PartWrites } from "./writes.ts";

export class OpenCollection {
  readonly name: string;
  readonly part: number;
  /** Whether the batch creates the collection. */
  readonly isNew: boolean;
  readonly #state: StateBefore;
  readonly #resources: ResourceStates;
  readonly #rules: OpenRules;
  readonly #head: OpenHead;
  #values: TrackedValues;
  readonly #removedPositions: number[] = [];
  /** Functions that undo the changes of the current `all`; undefined outside of one. */
  #undoes: (() => void)[] | undefined;

  /** `createdAt` is set when the batch creates the collection. */
  private constructor(
    state: StateBefore,
    stored: StoredCollection,
    fileUse: FileUse,
    createdAt?: number,
  ) {
    this.name = stored.name;
    this.part = stored.part;
    this.#state = state;
    this.isNew = createdAt !== undefined;
    this.#head = new OpenHead(stored.head);
    this.#rules = new OpenRules(stored, createdAt);
    const { part, isNew } = this;
    const needs = () => needsFields(this.#plan);
    this.#resources = new ResourceStates(state, { part, isNew, needsFields: needs, fileUse });
    this.#values = new TrackedValues(stored.plan, this.#holders);
  }

  static open(state: StateBefore, name: string, fileUse: FileUse): OpenCollection | undefined {
    const stored = state.collection(name);
    return stored && new OpenCollection(state, stored, fileUse);
  }

  /** Creates a collection that does not exist, with its first revision. */
  static create(state: StateBefore, name: string, at: number, fileUse: FileUse): OpenCollection {
    const rules = { definition: "{}", build: undefined, plan: emptyIndexPlan, referrers: [] };
    const stored = { name, part: newPart(), head: noHead, ...rules };
    const collection = new OpenCollection(state, stored, fileUse, at);
    collection.#touch(at, 0, 0);
    return collection;
  }

  get head(): Head {
    return this.#head.current;
  }

  get keyClock(): KeyClock {
    return this.#head.current.keyClock;
  }

  set keyClock(keyClock: KeyClock) {
    this.#head.keyClock = keyClock;
  }

  /** Must be the only change of its batch to this collection, because existing index rows must follow it. */
  define(definition: string, at: number): void {
    this.#rules.define(definition, this.head.total);
    this.#touchRules(at);
    this.#head.define(at);
    this.#values = new TrackedValues(this.#plan, this.#holders);
  }

  get hasReferences(): boolean {
    return this.#rules.references.length > 0;
  }

  /** The names of the collections that this one refers to. */
  get targets(): ReadonlySet<string> {
    return new Set(this.#rules.references.map(({ collection }) => collection));
  }

  /** The names of the collections that refer to this one. */
  get referrers(): readonly string[] {
    return this.#rules.referrers;
  }

  /** Notes whether another collection refers to this one. */
  setReferrer(name: string, isReferring: boolean, at: number): void {
    const others = this.referrers.filter((other) => other !== name);
    this.#rules.referrers = isReferring ? [...others, name].sort() : others;
    this.#touchRules(at);
    this.#head.renewVersion(this.isNew ? at : 0);
  }

  has(id: string): boolean {
    return this.#resources.find(id) !== undefined;
  }

  /** Returns the resources that this one refers to and did not before the current `all`. */
  newTargets(id: string): readonly ResourceAddress[] {
    const written = this.#resources.written.get(id);
    return written && !isRemoval(written) ? this.#values.newTargets(id, written.fields) : [];
  }

  /** Whether a resource refers to the target; "unknown" while the index of the reference is built. */
  refersTo(target: ResourceAddress): boolean | "unknown" {
    const entries = this.#values.entriesTo(target);
    if (entries.some(({ field }) => this.#rules.isIncomplete(field))) return "unknown";
    return entries.some((entry) => this.#values.isHeld(entry));
  }

  matchesRules(version: number | undefined): boolean {
    return version === undefined || version === this.#head.current.version;
  }

  revisionOf(id: string): number | undefined {
    return this.#resources.find(id)?.revision;
  }

  /** Returns the creation time of the resource with this id, if it exists. */
  createdAtOf(id: string): number | undefined {
    return this.#resources.find(id)?.createdAt;
  }

  apply(change: ResourceChange): Outcome {
    switch (change.kind) {
      case "put":
        return this.#insertDirectly(change) ?? this.#put(change);
      case "remove":
        return this.#remove(change);
      case "operate":
        return this.#operate(change);
    }
  }

  #operate(change: Operate): Outcome {
    const state = this.#resources.find(change.id, true);
    if (!state) return { kind: "missing" };
    const put = putOf(change, state, this.#rules.definition);
    if (put.kind !== "put") return put;
    const [before, after] = [state, { ...state, fields: put.fields }] as const;
    // What other resources have is loaded for puts only, so such operations come as a put.
    const isSame = this.#values.areSame(candidateOf(put.id, before), candidateOf(put.id, after));
    return isSame ? this.#put(put) : { kind: "stale" };
  }

  #remove({ id, at, expect }: Remove): Outcome {
    const state = this.#resources.find(id);
    if (!state) return { kind: "missing" };
    const failure = failedExpectation(state, expect);
    if (failure) return failure;
    this.#replaceValues(id, state, undefined);
    const removedAt = notBefore(state.updatedAt, at);
    this.#touch(removedAt, -1, -state.bytes);
    const { revision } = this.#head.current;
    this.#write({ id, revision, removedAt, owner: state.owner });
    this.#removedPositions.push(state.seq - 1);
    this.#undoes?.push(() => this.#removedPositions.pop());
    return { kind: "removed", revision };
  }

  /** Starts an `all`, which can be undone. */
  begin(): void {
    this.#undoes = [];
    this.#values.begin();
  }

  undo(): void {
    for (const undo of this.#undoes?.reverse() ?? []) undo();
  }

  end(): void {
    this.#undoes = undefined;
  }

  /** Returns the rows that the batch has changed, or undefined when there are none. */
  collect(): PartWrites | undefined {
    if (!this.#head.isChanged) return undefined;
    const { epoch, revision } = this.#head.before;
    const head = this.#head.written(this.#state.writerEpoch());
    const writes = noPartWrites(this.part, head, this.isNew);
    if (head.epoch !== epoch && revision > 0) writes.endedEpoch = { epoch, last: revision };
    for (const [id, written] of this.#resources.written) {
      const stored = this.#resources.stored(id);
      const removal = stored ? undefined : this.#state.removal(this.part, id);
      collectResource(writes, this.#plan, { id, stored, written, removal });
    }
    writes.removedPositions.push(...this.#removedPositions);
    return writes;
  }

  /** Returns the row of a new or redefined collection. */
  collectionWrite(): CollectionWrite | undefined {
    return this.#rules.write(this.#head.current.version);
  }

  get #plan(): IndexPlan {
    return this.#rules.plan;
  }

  readonly #holders: Holders = (entry, most) =>
    this.isNew ? [] : this.#state.holders(this.part, entry, most);

  #touchRules(at: number): void {
    // A new collection has got its revision already.
    if (!this.isNew) this.#touch(at, 0, 0);
  }

  /** Returns undefined when the state has to be looked up. */
  #insertDirectly(put: Put): Outcome | undefined {
    const { id, at, fields, expect, isNewId = false } = put;
    const { directInsert } = this.#state;
    if (!directInsert || expect !== "nothing" || this.isNew || !hasNoIndexes(this.#plan))
      return undefined;
    // The time must not be before the removal of a former resource, so that one is looked up.
    if (!isNewId && (this.#resources.isKnown(id) || this.#state.removal(this.part, id)))
      return undefined;
    const { owner: creator = null, setOwner: owner = creator, files = null } = columnsOf(put);
    if (files !== null) return undefined;
    const seq = this.#head.current.seq + 1;
    const revision = this.#head.current.revision + 1;
    const stored = [id, revision, at, at, fields, owner, files, 0] as const;
    const row = rowOf(seq, stored);
    if (isNewId) directInsert.insertNew(this.part, row);
    else if (!directInsert.insert(this.part, row)) return { kind: "taken" };
    this.#undoes?.push(() => {
      directInsert.undo(this.part, seq);
      this.#resources.forget(id);
    });
    this.#touch(at, 1, row.bytes);
    return { kind: "created", resource: resourceIn(stored) };
  }

  #put({ id, fields, at, expect, ...put }: Put): Outcome {
    const state = this.#resources.find(id);
    const failure = failedExpectation(state, expect);
    if (failure) return failure;
    const { owner: creator = null, setOwner, files = null } = columnsOf(put);
    const before = this.#resources.changedAt(id);
    const time = before === undefined ? at : notBefore(before, at);
    const sharesDate = before === undefined ? 0 : sharesSecond(before, time);
    const fresh = { seq: this.#head.current.seq + 1, createdAt: time, owner: creator };
    const { seq, createdAt, owner: unchanged } = state ?? fresh;
    const owner = setOwner === undefined ? unchanged : setOwner;
    const revision = this.#head.current.revision + 1;
    const stored = [id, revision, createdAt, time, fields, owner, files, sharesDate] as const;
    const exceeded = this.#resources.exceeding(id, { owner, files });
    if (exceeded) return exceeded;
    const resource = resourceIn(stored);
    const field = this.#replaceValues(id, state, { seq, resource });
    if (field !== undefined) return { kind: "conflict", field };
    const row = rowOf(seq, stored);
    this.#touch(time, state ? 0 : 1, row.bytes - (state?.bytes ?? 0));
    this.#write(row);
    return { kind: state ? "replaced" : "created", resource };
  }

  /** Returns the name of a unique index in which another resource has the same values. */
  #replaceValues(
    id: string,
    before: ResourceState | undefined,
    after: Candidate | undefined,
  ): string | undefined {
    const replaced = this.#values.replace(id, before, after);
    if (typeof replaced === "string") return replaced;
    this.#undoes?.push(replaced);
    return undefined;
  }

  #write(written: WrittenRow): void {
    const undo = this.#resources.write(written);
    this.#undoes?.push(undo);
  }

  #touch(at: number, growth: -1 | 0 | 1, bytes: number): void {
    const before = this.#head.current;
    this.#head.touch(at, growth, bytes);
    this.#undoes?.push(() => this.#head.restore(before));
  }
}

/** Returns the put that writes the result, or the outcome when nothing is written. */
function putOf(change: Operate, state: ResourceState, definition: string): Put | Outcome {
  const { fields, files } = state;
  if (fields === null) throw new Error("operations need the fields");
  const { collection, id, at, expect, owner } = change;
  const failure = failedExpectation(state, expect);
  if (failure) return failure;
  if (owner !== undefined && owner !== state.owner) return { kind: "stale" };
  if (!isIntactState(id, state, fields)) return { kind: "damaged" };
  const current = files === null ? { fields } : { fields, files };
  const result = operateOn(rulesOf(definition), current, change);
  if ("errors" in result) return result;
  return { kind: "put", collection, id, ...result, at, expect };
}

/** Damaged content would get a new checksum, and nobody would notice the damage. */
function isIntactState(id: string, state: ResourceState, fields: string): boolean {
  const { revision, createdAt, updatedAt, owner, files, sharesDate, checksum } = state;
  const times = [createdAt, updatedAt] as const;
  return isIntact([id, revision, ...times, fields, owner, files, sharesDate], checksum);
}

/** Enough for all collections of a busy server. */
const maxCached = 1_000;
const cache = new RecentMap<string, Rules>(maxCached);

/** The same object for the same text, because a parsed definition and its validator are cached by object. */
const rulesOf = (definition: string): Rules =>
  cache.getOrAdd(definition, () => ({ version: 0, definition }));
