// A collection while a batch is judged: its counters and places move here first, and are written at the end.

import type { Expectation, Outcome, Put, Remove } from "../store.ts";
import type { Writes } from "./writes.ts";

/** The last revision and seq given, how many resources are alive, when the last write happened. */
export interface Counters {
  readonly revision: number;
  readonly seq: number;
  readonly total: number;
  readonly updated: number;
}

export interface LockedCollection extends Counters {
  readonly key: number;
  readonly name: string;
}

/** A resource as it is in the database, as far as judging needs it. */
export interface Standing {
  readonly seq: number;
  readonly revision: number;
  readonly createdAt: number;
}

interface State extends Standing {
  readonly updatedAt: number;
  readonly fields: string;
}

/** What was at an id before the batch, what is there now, and its removal if it is gone by this batch. */
interface Place {
  readonly before: Standing | undefined;
  readonly now: Standing | State | undefined;
  readonly removal: { readonly revision: number; readonly at: number } | undefined;
}

const emptyPlace: Place = { before: undefined, now: undefined, removal: undefined };

export class OpenCollection {
  readonly #key: number;
  /** In a collection where nothing was ever removed there are no tombstones to look for. */
  readonly #hadRemovals: boolean;
  readonly #before: Counters;
  readonly #places = new Map<string, Place>();
  #counters: Counters;
  #definition: string | undefined;
  #holes: number[] = [];
  /** The way back to where the unit under way began. */
  #steps: (() => void)[] = [];

  constructor({ key, revision, seq, total, updated }: LockedCollection) {
    this.#key = key;
    this.#hadRemovals = total < seq;
    this.#before = { revision, seq, total, updated };
    this.#counters = this.#before;
  }

  /** What the database holds at this id. */
  learn(id: string, standing: Standing): void {
    this.#places.set(id, { before: standing, now: standing, removal: undefined });
  }

  get isFounded(): boolean {
    return this.#counters.revision > 0;
  }

  found(at: number): void {
    if (!this.isFounded) this.#touch(at, 0);
  }

  define(definition: string, at: number): void {
    this.#touch(at, 0);
    this.#definition = definition;
  }

  put({ id, fields, at, expect }: Put): Outcome {
    const { before, now: state } = this.#places.get(id) ?? emptyPlace;
    const refusal = refuse(state, expect);
    if (refusal) return refusal;
    const { revision, seq } = this.#touch(at, state ? 0 : 1);
    const createdAt = state?.createdAt ?? at;
    const now = { seq: state?.seq ?? seq, revision, createdAt, updatedAt: at, fields };
    this.#place(id, { before, now, removal: undefined });
    const resource = { id, revision, createdAt, updatedAt: at, fields };
    return { kind: state ? "replaced" : "created", resource };
  }

  remove({ id, at, expect }: Remove): Outcome {
    const { before, now: state } = this.#places.get(id) ?? emptyPlace;
    if (!state) return { kind: "missing" };
    const refusal = refuse(state, expect);
    if (refusal) return refusal;
    const { revision } = this.#touch(at, -1);
    this.#place(id, { before, now: undefined, removal: { revision, at } });
    this.#holes.push(state.seq - 1);
    this.#steps.push(() => this.#holes.pop());
    return { kind: "removed", revision };
  }

  /** From here on, all that happens can be undone. */
  begin(): void {
    this.#steps = [];
  }

  undo(): void {
    for (const step of this.#steps.reverse()) step();
  }

  /** Takes the next revision. */
  #touch(at: number, growth: -1 | 0 | 1): Counters {
    const before = this.#counters;
    this.#steps.push(() => {
      this.#counters = before;
    });
    const { revision, seq, total, updated } = before;
    this.#counters = {
      revision: revision + 1,
      seq: growth === 1 ? seq + 1 : seq,
      total: total + growth,
      // A clock that was set back must not make the collection look older than it did.
      updated: Math.max(updated, at),
    };
    return this.#counters;
  }

  #place(id: string, place: Place): void {
    const before = this.#places.get(id);
    this.#steps.push(() => (before ? this.#places.set(id, before) : this.#places.delete(id)));
    this.#places.set(id, place);
  }

  /** Adds what the batch has moved. */
  write(writes: Writes): void {
    if (this.#counters === this.#before) return;
    const collection = this.#key;
    writes.collections.push({
      key: collection,
      ...this.#counters,
      definition: this.#definition ?? null,
    });
    for (const position of this.#holes) writes.holes.push({ collection, position });
    for (const [id, place] of this.#places) this.#writePlace(id, place, writes);
  }

  #writePlace(id: string, { before, now, removal }: Place, writes: Writes): void {
    const collection = this.#key;
    const isSame = before !== undefined && before.seq === now?.seq;
    if (before && !isSame) writes.gone.push({ collection, seq: before.seq });
    if (removal) writes.removals.push({ collection, id, ...removal });
    if (!now || !("fields" in now)) return;
    const write = { collection, id, ...now };
    if (isSame) writes.replaced.push(write);
    else writes.made.push(write);
    if (!isSame && this.#hadRemovals) writes.revived.push({ collection, id });
  }
}

/** Why a change cannot happen to a resource in this state. */
function refuse(state: Standing | undefined, expect: Expectation): Outcome | undefined {
  if (expect === "nothing") return state && { kind: "taken" };
  if (expect === "anything" || expect === state?.revision) return undefined;
  return { kind: state ? "stale" : "missing" };
}
