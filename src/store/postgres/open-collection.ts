// Holds the state of a collection while a batch is applied, and collects the rows to write at the end.

import type { IndexEntry, IndexPlan } from "../../model/query/index-plan.ts";
import type { Candidate } from "../../model/query/query.ts";
import { checksumOf } from "../core/checksum.ts";
import { notBefore, sharesSecond } from "../core/times.ts";
import type { Expectation, Outcome, Put, Remove } from "../store.ts";
import { collectFileReferences } from "./file-references.ts";
import { collectIndexChanges } from "./index-diff.ts";
import { hasNoIndexes } from "./plans.ts";
import { resourceIn } from "./row.ts";
import { noClaim, type UniqueClaim, UniqueValues } from "./unique-values.ts";
import type { ResourceWrite, Writes } from "./writes.ts";

/** The last revision and seq, the number of resources, and the time of the last write. */
interface Counters {
  readonly revision: number;
  readonly seq: number;
  readonly total: number;
  readonly updated: number;
}

export interface LockedCollection extends Counters {
  readonly key: number;
  readonly name: string;
  /** The version of the definition. */
  readonly defined: number;
  readonly plan: IndexPlan;
  /** The epoch of the last write (see ../epochs.ts). */
  readonly epoch: number;
  /** The newest epoch of any writer. */
  readonly latestEpoch: number;
}

/** The columns of an existing resource that a change needs. */
export interface ExistingResource {
  readonly seq: number;
  readonly revision: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly owner: string | null;
  readonly parts: string | null;
  /** Null when the collection has no indexes. */
  readonly fields: string | null;
}

export class OpenCollection {
  readonly #key: number;
  #defined: number;
  readonly #known = new Map<string, ExistingResource>();
  /** The time when the last resource with an id was removed. */
  readonly #removals = new Map<string, number>();
  /** The resources that the batch has written or removed. */
  readonly #written = new Map<string, ResourceWrite>();
  readonly #removedPositions: number[] = [];
  readonly #plan: IndexPlan;
  readonly #claims: UniqueValues;
  readonly #before: Counters;
  readonly #epoch: number;
  readonly #latestEpoch: number;
  #counters: Counters;
  #definition: string | null = null;
  /** Functions that undo the changes of the current `all`. */
  #undoes: (() => void)[] = [];

  constructor({ key, revision, seq, total, updated, ...locked }: LockedCollection) {
    const { defined, plan, epoch, latestEpoch } = locked;
    this.#key = key;
    this.#epoch = epoch;
    this.#latestEpoch = latestEpoch;
    this.#defined = defined;
    this.#plan = plan;
    this.#claims = new UniqueValues(plan);
    this.#before = { revision, seq, total, updated };
    this.#counters = this.#before;
  }

  /** Adds a resource that exists in the database. */
  add(id: string, existing: ExistingResource): void {
    this.#known.set(id, existing);
  }

  addRemoval(id: string, removedAt: number): void {
    this.#removals.set(id, removedAt);
  }

  /** Adds the resource that has a unique value. */
  addHolder(entry: IndexEntry, seq: number): void {
    this.#claims.add(entry, seq);
  }

  /** Returns the creation time of the resource with this id, if it exists. */
  createdAtOf(id: string): number | undefined {
    return this.#stateOf(id)?.createdAt;
  }

  get exists(): boolean {
    return this.#counters.revision > 0;
  }

  get total(): number {
    return this.#counters.total;
  }

  create(at: number): void {
    if (!this.exists) this.#touch(at, 0);
  }

  define(definition: string, at: number): void {
    this.#touch(at, 0);
    // Includes the time, so that a collection that is dropped and created again gets another version.
    this.#defined = Math.max(this.#defined + 1, at);
    this.#definition = definition;
  }

  matchesRules(version: number | undefined): boolean {
    return version === undefined || version === this.#defined;
  }

  put({ id, fields, at, expect, owner: creator, setOwner, parts: text }: Put): Outcome {
    const state = this.#stateOf(id);
    const refusal = refuse(state, expect);
    if (refusal) return refusal;
    const parts = text ?? null;
    const { revision, seq: lastSeq } = this.#counters;
    const before = this.#changedAt(id);
    const time = before === undefined ? at : notBefore(before, at);
    const sharesDate = before === undefined ? 0 : sharesSecond(before, time);
    const fresh = { seq: lastSeq + 1, createdAt: time, owner: creator ?? null };
    const { seq, createdAt, owner: unchanged } = state ?? fresh;
    const owner = setOwner === undefined ? unchanged : setOwner;
    const stored = [
      ...([id, revision + 1, createdAt, time] as const),
      ...([fields, owner, parts, sharesDate] as const),
    ] as const;
    const resource = resourceIn(stored);
    const claim = this.#claims.claimOf({ seq, resource });
    const field = this.#claims.conflictOf(claim);
    if (field !== undefined) return { kind: "conflict", field };
    this.#claim(id, state, claim);
    this.#touch(time, state ? 0 : 1);
    const checksum = checksumOf(stored);
    const collection = this.#key;
    this.#write({
      collection,
      seq,
      ...resource,
      owner,
      parts,
      storedSharesDate: sharesDate,
      checksum,
    });
    return { kind: state ? "replaced" : "created", resource };
  }

  remove({ id, at, expect }: Remove): Outcome {
    const state = this.#stateOf(id);
    if (!state) return { kind: "missing" };
    const refusal = refuse(state, expect);
    if (refusal) return refusal;
    const { createdAt } = state;
    this.#claim(id, state, noClaim);
    const updatedAt = notBefore(state.updatedAt, at);
    const { revision } = this.#touch(updatedAt, -1);
    this.#write({ collection: this.#key, id, revision, createdAt, updatedAt, ...nothingStored });
    this.#removedPositions.push(state.seq - 1);
    this.#undoes.push(() => this.#removedPositions.pop());
    return { kind: "removed", revision };
  }

  /** Starts an `all`, which can be undone. */
  begin(): void {
    this.#undoes = [];
  }

  undo(): void {
    for (const undo of this.#undoes.reverse()) undo();
  }

  /** Adds the rows that the batch has changed. */
  collect(writes: Writes): void {
    if (this.#counters === this.#before) return;
    const collection = this.#key;
    const definition = this.#definition;
    const defined = this.#defined;
    const epoch = this.#collectEpoch(writes);
    const sharesDate = this.#sharesDate();
    const counters = this.#counters;
    writes.collections.push({
      ...{ key: collection, ...counters, definition, defined },
      ...{ epoch, sharesDate },
    });
    for (const resource of this.#written.values()) {
      writes.resources.push(resource);
      collectFileReferences(
        writes,
        collection,
        this.#known.get(resource.id)?.parts ?? null,
        resource.parts,
      );
      if (!hasNoIndexes(this.#plan)) this.#collectIndexChanges(writes, resource);
    }
    for (const position of this.#removedPositions)
      writes.removedPositions.push({ collection, position });
  }

  /** Returns the new epoch; when it differs from the current one, also stores where that one ended. */
  #collectEpoch(writes: Writes): number {
    if (this.#epoch >= this.#latestEpoch) return this.#epoch;
    const { revision: last } = this.#before;
    if (last > 0) writes.epochs.push({ collection: this.#key, epoch: this.#epoch, last });
    return this.#latestEpoch;
  }

  /** 1 when the state before the batch has a time within the same second. */
  #sharesDate(): 0 | 1 {
    const { revision, updated } = this.#before;
    return revision === 0 ? 0 : sharesSecond(updated, this.#counters.updated);
  }

  /** Returns the time of the last change at an id, including a removal. */
  #changedAt(id: string): number | undefined {
    return (this.#written.get(id) ?? this.#known.get(id))?.updatedAt ?? this.#removals.get(id);
  }

  #collectIndexChanges(writes: Writes, written: ResourceWrite): void {
    const { id } = written;
    const known = this.#known.get(id);
    collectIndexChanges(writes, this.#plan, this.#key, {
      ...(known && { before: candidateOf(id, known) }),
      ...(isThere(written) && { after: candidateOf(id, written) }),
    });
  }

  #stateOf(id: string): ExistingResource | undefined {
    const written = this.#written.get(id);
    if (!written) return this.#known.get(id);
    return isThere(written) ? written : undefined;
  }

  /** Releases the former unique values of the resource, and claims the new ones. */
  #claim(id: string, state: ExistingResource | undefined, claim: UniqueClaim): void {
    if (!this.#claims.areAny) return;
    const before = state ? this.#claims.claimOf(candidateOf(id, state)) : noClaim;
    this.#undoes.push(this.#claims.move(before, claim));
  }

  #write(resource: ResourceWrite): void {
    const { id } = resource;
    const before = this.#written.get(id);
    this.#undoes.push(() => (before ? this.#written.set(id, before) : this.#written.delete(id)));
    this.#written.set(id, resource);
  }

  /** Increments the revision. */
  #touch(at: number, growth: -1 | 0 | 1): Counters {
    const before = this.#counters;
    this.#undoes.push(() => {
      this.#counters = before;
    });
    this.#counters = {
      revision: before.revision + 1,
      seq: before.seq + (growth === 1 ? 1 : 0),
      total: before.total + growth,
      // A clock that was set back must not make the collection look older.
      updated: notBefore(before.updated, at),
    };
    return this.#counters;
  }
}

/** The columns of a tombstone. */
const nothingStored = {
  ...{ seq: null, fields: null, owner: null, parts: null },
  ...{ storedSharesDate: 0, checksum: null },
};

/** Returns the outcome when the precondition of a change fails. */
function refuse(state: ExistingResource | undefined, expect: Expectation): Outcome | undefined {
  if (expect === "nothing") return state && { kind: "taken" };
  if (expect === "anything" || expect === state?.revision) return undefined;
  return { kind: state ? "stale" : "missing" };
}

const isThere = (written: ResourceWrite): written is ResourceWrite & ExistingResource =>
  written.seq !== null;

function candidateOf(id: string, existing: ExistingResource): Candidate {
  const { seq, revision, createdAt, updatedAt, fields, owner } = existing;
  const times = [createdAt, updatedAt] as const;
  const resource = resourceIn([id, revision, ...times, fields ?? "{}", owner, null, 0]);
  return { seq, resource };
}
