// Tracks which resource has which value of a unique field while a batch is applied.

import { entriesOf, type IndexEntry, type IndexPlan } from "../../model/query/index-plan.ts";
import type { Candidate } from "../../model/query/query.ts";
import { minKey } from "../../model/query/sort-key.ts";
import type { Resource } from "../../model/resource.ts";

/** The values of a resource in unique fields, and its seq. */
export interface UniqueClaim {
  readonly seq: number;
  readonly entries: readonly IndexEntry[];
}

export const noClaim: UniqueClaim = { seq: 0, entries: [] };

/** Returns only the unique indexes of a plan. */
const uniqueOf = ({ indexes }: IndexPlan): IndexPlan => {
  return { indexes: indexes.filter(({ isUnique }) => isUnique), searchable: [] };
};

/** Returns the entries of a resource in unique indexes. Missing values are not unique. */
export function claimsOf(plan: IndexPlan, resource: Resource): readonly IndexEntry[] {
  return entriesOf(uniqueOf(plan), resource).filter(({ key }) => key !== minKey);
}

export class UniqueValues {
  readonly #plan: IndexPlan;
  /** The seq of the resource that has a value, by field and key. */
  readonly #holders = new Map<string, Map<string, number>>();

  constructor(plan: IndexPlan) {
    this.#plan = uniqueOf(plan);
  }

  /** Adds a value that is stored in the database. */
  add({ field, key }: IndexEntry, seq: number): void {
    this.#of(field).set(key, seq);
  }

  /** Whether the collection has unique fields. */
  get areAny(): boolean {
    return this.#plan.indexes.length > 0;
  }

  claimOf({ seq, resource }: Candidate): UniqueClaim {
    return this.areAny ? { seq, entries: claimsOf(this.#plan, resource) } : noClaim;
  }

  /** Returns the field in which another resource has the same value. */
  conflictOf({ seq, entries }: UniqueClaim): string | undefined {
    const isHeld = ({ field, key }: IndexEntry) => (this.#of(field).get(key) ?? seq) !== seq;
    return entries.find(isHeld)?.field;
  }

  /** Replaces one claim by another, and returns a function that undoes it. */
  move(before: UniqueClaim, after: UniqueClaim): () => void {
    const undoes = [
      ...before.entries.map((entry) => this.#set(entry, undefined)),
      ...after.entries.map((entry) => this.#set(entry, after.seq)),
    ];
    return () => {
      for (const undo of undoes.reverse()) undo();
    };
  }

  #set({ field, key }: IndexEntry, seq: number | undefined): () => void {
    const held = this.#of(field);
    const before = held.get(key);
    assign(held, key, seq);
    return () => assign(held, key, before);
  }

  #of(field: string): Map<string, number> {
    const held = this.#holders.get(field) ?? new Map<string, number>();
    this.#holders.set(field, held);
    return held;
  }
}

function assign(held: Map<string, number>, key: string, seq: number | undefined): void {
  if (seq === undefined) held.delete(key);
  else held.set(key, seq);
}
