// Who has which value of the fields that are unique, while a batch is judged.

import { entriesOf, type IndexEntry, type IndexPlan } from "../../model/query/index-plan.ts";
import type { Candidate } from "../../model/query/query.ts";
import { minKey } from "../../model/query/sort-key.ts";
import type { Resource } from "../../model/resource.ts";

/** The values that a resource has of unique fields, and where it is. */
export interface UniqueClaim {
  readonly seq: number;
  readonly entries: readonly IndexEntry[];
}

/** Nothing is claimed where nothing is unique. */
export const noClaim: UniqueClaim = { seq: 0, entries: [] };

/** The unique indexes alone. */
const uniqueOf = ({ indexes }: IndexPlan): IndexPlan => {
  return { indexes: indexes.filter(({ isUnique }) => isUnique), searchable: [] };
};

/** What a resource would have for itself alone. */
export function claimsOf(plan: IndexPlan, resource: Resource): readonly IndexEntry[] {
  return entriesOf(uniqueOf(plan), resource).filter(({ key }) => key !== minKey);
}

export class UniqueValues {
  readonly #plan: IndexPlan;
  /** By field and key, the seq of the resource that has it. */
  readonly #holders = new Map<string, Map<string, number>>();

  constructor(plan: IndexPlan) {
    this.#plan = uniqueOf(plan);
  }

  /** What the database holds. */
  learn({ field, key }: IndexEntry, seq: number): void {
    this.#of(field).set(key, seq);
  }

  /** Whether anything is unique. */
  get areAny(): boolean {
    return this.#plan.indexes.length > 0;
  }

  claimOf({ seq, resource }: Candidate): UniqueClaim {
    return this.areAny ? { seq, entries: claimsOf(this.#plan, resource) } : noClaim;
  }

  /** The field in which another resource has the same value. */
  conflictOf({ seq, entries }: UniqueClaim): string | undefined {
    const isHeld = ({ field, key }: IndexEntry) => (this.#of(field).get(key) ?? seq) !== seq;
    return entries.find(isHeld)?.field;
  }

  /** Puts one claim in the place of another; the way back. */
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
