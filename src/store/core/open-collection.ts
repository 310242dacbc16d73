// Applies changes to one collection in memory, and collects the rows to write at the end of the batch.

import { emptyIndexPlan, type IndexPlan } from "../../model/query/index-plan.ts";
import type { Operate, Outcome, Put, Remove, ResourceChange } from "../store.ts";
import { candidateOf, collectResource, type Written } from "./collect-resource.ts";
import { failedExpectation } from "./expectation.ts";
import { planBuild, plansOf, type StoredBuild } from "./index-build.ts";
import { hasNoIndexes } from "./index-rows.ts";
import type { KeyClock } from "./key-clock.ts";
import { putOf } from "./operate.ts";
import { newPart } from "./part.ts";
import { ResourceStates } from "./resource-states.ts";
import { type Head, noHead } from "./rows.ts";
import type { ResourceState, State, StoredCollection } from "./state.ts";
import { resourceIn, rowOf } from "./stored-resource.ts";
import { notBefore, sharesSecond } from "./times.ts";
import { noClaim, type UniqueClaim, UniqueValues } from "./unique-values.ts";
import { type CollectionWrite, noPartWrites, type PartWrites } from "./writes.ts";

export class OpenCollection {
  readonly name: string;
  readonly part: number;
  /** Whether the batch creates the collection. */
  readonly isNew: boolean;
  readonly #state: State;
  readonly #before: Head;
  readonly #stored: StoredCollection;
  #head: Head;
  #plan: IndexPlan;
  #uniqueValues: UniqueValues;
  #definition: string | undefined;
  #build: StoredBuild | undefined;
  #createdAt = 0;
  readonly #resources: ResourceStates;
  readonly #removedPositions: number[] = [];
  /** Functions that undo the changes of the current `all`; undefined outside of one. */
  #undoes: (() => void)[] | undefined;

  private constructor(state: State, stored: StoredCollection, isNew: boolean) {
    this.name = stored.name;
    this.part = stored.part;
    this.#state = state;
    this.isNew = isNew;
    this.#before = stored.head;
    this.#head = stored.head;
    this.#stored = stored;
    const needsFields = () => !hasNoIndexes(this.#plan);
    this.#resources = new ResourceStates(state, { part: this.part, isNew, needsFields });
    this.#plan = stored.plan;
    this.#uniqueValues = this.#uniqueValuesOf(stored.plan);
  }

  static open(state: State, name: string): OpenCollection | undefined {
    const stored = state.collection(name);
    return stored && new OpenCollection(state, stored, false);
  }

  /** Creates a collection that does not exist, with its first revision. */
  static create(state: State, name: string, at: number): OpenCollection {
    const rules = { definition: "{}", build: undefined, plan: emptyIndexPlan };
    const stored = { name, part: newPart(), head: noHead, ...rules };
    const collection = new OpenCollection(state, stored, true);
    collection.#createdAt = at;
    collection.#touch(at, 0, 0);
    return collection;
  }

  get total(): number {
    return this.#head.total;
  }

  get keyClock(): KeyClock {
    return this.#head.keyClock;
  }

  set keyClock(keyClock: KeyClock) {
    this.#head = { ...this.#head, keyClock };
  }

  /** Must be the only change of its batch to this collection, because existing index rows must follow it. */
  define(definition: string, at: number): void {
    // A new collection has got its revision already.
    if (!this.isNew) this.#touch(at, 0, 0);
    // Includes the time, so that a collection that is deleted and created again gets another version.
    this.#head = { ...this.#head, version: Math.max(this.#head.version + 1, at) };
    this.#definition = definition;
    this.#build = this.isNew ? undefined : planBuild(this.#stored, definition, this.total);
    this.#plan = plansOf(definition, this.#build).write;
    this.#uniqueValues = this.#uniqueValuesOf(this.#plan);
  }

  matchesRules(version: number | undefined): boolean {
    return version === undefined || version === this.#head.version;
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
    const put = putOf(change, state, this.#stored.definition);
    if (put.kind !== "put") return put;
    const [before, after] = [state, { ...state, fields: put.fields }] as const;
    // The holders of unique values are loaded for puts only, so such operations come as a put.
    const isSame = this.#uniqueValues.areSame(
      candidateOf(put.id, before),
      candidateOf(put.id, after),
    );
    return isSame ? this.#put(put) : { kind: "stale" };
  }

  #remove({ id, at, expect }: Remove): Outcome {
    const state = this.#resources.find(id);
    if (!state) return { kind: "missing" };
    const failure = failedExpectation(state, expect);
    if (failure) return failure;
    this.#claim(id, state, noClaim);
    const removedAt = notBefore(state.updatedAt, at);
    const { revision } = this.#touch(removedAt, -1, -state.bytes);
    this.#write({ id, revision, removedAt, owner: state.owner });
    this.#removedPositions.push(state.seq - 1);
    this.#undoes?.push(() => this.#removedPositions.pop());
    return { kind: "removed", revision };
  }

  /** Starts an `all`, which can be undone. */
  begin(): void {
    this.#undoes = [];
  }

  undo(): void {
    for (const undo of this.#undoes?.reverse() ?? []) undo();
  }

  end(): void {
    this.#undoes = undefined;
  }

  /** Returns the rows that the batch has changed, or undefined when there are none. */
  collect(): PartWrites | undefined {
    if (this.#head === this.#before) return undefined;
    const epoch = this.#nextEpoch();
    const head = { ...this.#head, epoch, sharesDate: this.#sharesDate() };
    const writes = noPartWrites(this.part, head, this.isNew);
    if (epoch !== this.#before.epoch && this.#before.revision > 0)
      writes.endedEpoch = { epoch: this.#before.epoch, last: this.#before.revision };
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
    if (!this.isNew && this.#definition === undefined) return undefined;
    return {
      name: this.name,
      part: this.part,
      definition: this.#definition ?? "{}",
      version: this.#head.version,
      createdAt: this.isNew ? this.#createdAt : undefined,
      build: this.#build,
    };
  }

  /** Returns undefined when the state has to be looked up. */
  #insertDirectly(put: Put): Outcome | undefined {
    const { id, at, fields, expect } = put;
    const { directInsert } = this.#state;
    const isKnown = this.#resources.isKnown(id);
    if (!directInsert || expect !== "nothing" || isKnown || !hasNoIndexes(this.#plan))
      return undefined;
    // The time must not be before the removal of a former resource, so that one is looked up.
    if (this.isNew || this.#state.removal(this.part, id)) return undefined;
    const { owner: creator = null, setOwner: owner = creator, files = null } = nullable(put);
    if (files !== null) return undefined;
    const seq = this.#head.seq + 1;
    const revision = this.#head.revision + 1;
    const stored = [id, revision, at, at, fields, owner, files, 0] as const;
    const row = rowOf(seq, stored);
    if (!directInsert.insert(this.part, row)) return { kind: "taken" };
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
    const { owner: creator = null, setOwner, files = null } = nullable(put);
    const before = this.#resources.changedAt(id);
    const time = before === undefined ? at : notBefore(before, at);
    const sharesDate = before === undefined ? 0 : sharesSecond(before, time);
    const fresh = { seq: this.#head.seq + 1, createdAt: time, owner: creator };
    const { seq, createdAt, owner: unchanged } = state ?? fresh;
    const owner = setOwner === undefined ? unchanged : setOwner;
    const revision = this.#head.revision + 1;
    const stored = [
      ...([id, revision, createdAt, time] as const),
      ...([fields, owner, files, sharesDate] as const),
    ] as const;
    const resource = resourceIn(stored);
    const claim = this.#uniqueValues.claimOf({ seq, resource });
    const field = this.#uniqueValues.conflictOf(claim);
    if (field !== undefined) return { kind: "conflict", field };
    this.#claim(id, state, claim);
    const row = rowOf(seq, stored);
    this.#touch(time, state ? 0 : 1, row.bytes - (state?.bytes ?? 0));
    this.#write(row);
    return { kind: state ? "replaced" : "created", resource };
  }

  #nextEpoch(): number {
    return Math.max(this.#before.epoch, this.#state.writerEpoch());
  }

  /** 1 when the state before the batch has a time within the same second. */
  #sharesDate(): 0 | 1 {
    const { revision, updatedAt } = this.#before;
    return revision === 0 ? 0 : sharesSecond(updatedAt, this.#head.updatedAt);
  }

  #uniqueValuesOf(plan: IndexPlan): UniqueValues {
    return new UniqueValues(plan, (entry) =>
      this.isNew ? undefined : this.#state.holder(this.part, entry),
    );
  }

  /** Releases the former unique values of the resource, and claims the new ones. */
  #claim(id: string, state: ResourceState | undefined, claim: UniqueClaim): void {
    if (!this.#uniqueValues.areAny) return;
    const before = state ? this.#uniqueValues.claimOf(candidateOf(id, state)) : noClaim;
    const undo = this.#uniqueValues.move(before, claim);
    this.#undoes?.push(undo);
  }

  #write(written: Written): void {
    const undo = this.#resources.write(written);
    this.#undoes?.push(undo);
  }

  /** Increments the revision. */
  #touch(at: number, growth: -1 | 0 | 1, bytes: number): Head {
    const before = this.#head;
    this.#undoes?.push(() => {
      this.#head = before;
    });
    this.#head = {
      ...before,
      revision: before.revision + 1,
      seq: before.seq + (growth === 1 ? 1 : 0),
      total: before.total + growth,
      bytes: before.bytes + bytes,
      // A clock that was set back must not make the collection look older.
      updatedAt: notBefore(before.updatedAt, at),
    };
    return this.#head;
  }
}

/** The members of a put that can be missing, as columns. */
const nullable = (
  put: Pick<Put, "owner" | "setOwner" | "files">,
): {
  readonly owner?: string | null;
  readonly setOwner?: string | null;
  readonly files?: string | null;
} => put;
