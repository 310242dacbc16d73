// A collection while a batch is judged: its counters and resources move here first, and are written once.

import type { IndexEntry, IndexPlan } from "../../model/query/index-plan.ts";
import type { Candidate } from "../../model/query/query.ts";
import { checksumOf } from "../checksum.ts";
import type { Expectation, Outcome, Put, Remove } from "../store.ts";
import { notBefore, sharesSecond } from "../times.ts";
import { collectFileReferences } from "./file-references.ts";
import { collectIndexChanges } from "./index-diff.ts";
import { isPlain } from "./plans.ts";
import { resourceIn } from "./row.ts";
import { noClaim, type UniqueClaim, UniqueValues } from "./unique-values.ts";
import type { ResourceWrite, Writes } from "./writes.ts";

/** The last revision and seq given, how many resources are alive, when the last write happened. */
interface Counters {
  readonly revision: number;
  readonly seq: number;
  readonly total: number;
  readonly updated: number;
}

export interface LockedCollection extends Counters {
  readonly key: number;
  readonly name: string;
  /** The version of its definition. */
  readonly defined: number;
  readonly plan: IndexPlan;
  /** The epoch of its last write (see ../epochs.ts). */
  readonly epoch: number;
  /** The last epoch that any writer has begun. */
  readonly latestEpoch: number;
}

/** A resource that is there, as far as judging needs it. */
export interface Standing {
  readonly seq: number;
  readonly revision: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly owner: string | null;
  readonly parts: string | null;
  /** None where the collection has no plan that asks for them. */
  readonly fields: string | null;
}

export class OpenCollection {
  readonly #key: number;
  #defined: number;
  readonly #known = new Map<string, Standing>();
  /** When what was at an id before was removed. */
  readonly #removals = new Map<string, number>();
  /** What the batch has made of them. */
  readonly #written = new Map<string, ResourceWrite>();
  readonly #holes: number[] = [];
  readonly #plan: IndexPlan;
  readonly #claims: UniqueValues;
  readonly #before: Counters;
  readonly #epoch: number;
  readonly #latestEpoch: number;
  #counters: Counters;
  #definition: string | null = null;
  /** The way back to where the unit under way began. */
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

  /** What the database holds at this id. */
  learn(id: string, standing: Standing): void {
    this.#known.set(id, standing);
  }

  learnRemoval(id: string, removedAt: number): void {
    this.#removals.set(id, removedAt);
  }

  /** Who has a value that is unique. */
  learnHolder(entry: IndexEntry, seq: number): void {
    this.#claims.learn(entry, seq);
  }

  /** When the resource that is at this id now was created. */
  createdAtOf(id: string): number | undefined {
    return this.#stateOf(id)?.createdAt;
  }

  get isFounded(): boolean {
    return this.#counters.revision > 0;
  }

  get total(): number {
    return this.#counters.total;
  }

  found(at: number): void {
    if (!this.isFounded) this.#touch(at, 0);
  }

  define(definition: string, at: number): void {
    this.#touch(at, 0);
    // By the clock, so that it does not come again in a collection that takes the place of a dropped one.
    this.#defined = Math.max(this.#defined + 1, at);
    this.#definition = definition;
  }

  isJudgedBy(version: number | undefined): boolean {
    return version === undefined || version === this.#defined;
  }

  put({ id, fields, at, expect, owner: creator, parts: text }: Put): Outcome {
    const state = this.#stateOf(id);
    const refusal = refuse(state, expect);
    if (refusal) return refusal;
    const parts = text ?? null;
    const { revision, seq: lastSeq } = this.#counters;
    const before = this.#changedAt(id);
    const time = before === undefined ? at : notBefore(before, at);
    const sharesDate = before === undefined ? 0 : sharesSecond(before, time);
    const fresh = { seq: lastSeq + 1, createdAt: time, owner: creator ?? null };
    const { seq, createdAt, owner } = state ?? fresh;
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
    this.#holes.push(state.seq - 1);
    this.#undoes.push(() => this.#holes.pop());
    return { kind: "removed", revision };
  }

  /** From here on, all that happens to resources can be undone. */
  begin(): void {
    this.#undoes = [];
  }

  undo(): void {
    for (const undo of this.#undoes.reverse()) undo();
  }

  /** Adds what the batch has moved. */
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
      if (!isPlain(this.#plan)) this.#collectIndexChanges(writes, resource);
    }
    for (const position of this.#holes) writes.holes.push({ collection, position });
  }

  /** The epoch that it has from now on; where that is another one, the last one has ended. */
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

  /** When what is or was at an id was last changed. */
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

  #stateOf(id: string): Standing | undefined {
    const written = this.#written.get(id);
    if (!written) return this.#known.get(id);
    return isThere(written) ? written : undefined;
  }

  /** What it had of unique values before, others may have from now on. */
  #claim(id: string, state: Standing | undefined, claim: UniqueClaim): void {
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

  /** Takes the next revision. */
  #touch(at: number, growth: -1 | 0 | 1): Counters {
    const before = this.#counters;
    this.#undoes.push(() => {
      this.#counters = before;
    });
    this.#counters = {
      revision: before.revision + 1,
      seq: before.seq + (growth === 1 ? 1 : 0),
      total: before.total + growth,
      // A clock that was set back must not make the collection look older than it did.
      updated: notBefore(before.updated, at),
    };
    return this.#counters;
  }
}

/** What the row of a removed resource has in its columns. */
const nothingStored = {
  ...{ seq: null, fields: null, owner: null, parts: null },
  ...{ storedSharesDate: 0, checksum: null },
};

/** Why a change cannot happen to a resource in this state. */
function refuse(state: Standing | undefined, expect: Expectation): Outcome | undefined {
  if (expect === "nothing") return state && { kind: "taken" };
  if (expect === "anything" || expect === state?.revision) return undefined;
  return { kind: state ? "stale" : "missing" };
}

const isThere = (written: ResourceWrite): written is ResourceWrite & Standing =>
  written.seq !== null;

function candidateOf(id: string, standing: Standing): Candidate {
  const { seq, revision, createdAt, updatedAt, fields, owner } = standing;
  const times = [createdAt, updatedAt] as const;
  const resource = resourceIn([id, revision, ...times, fields ?? "{}", owner, null, 0]);
  return { seq, resource };
}
