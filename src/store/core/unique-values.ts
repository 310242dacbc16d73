// Tracks which resource has which value of a unique field while a batch is applied.

import {
  type Index,
  type IndexEntry,
  IndexedContent,
  type IndexPlan,
  uniqueKeysIn,
} from "../../model/query/index-plan.ts";
import type { Candidate } from "../../model/query/query.ts";
import type { Resource } from "../../model/resource.ts";

/** The values of a resource in unique fields, and its seq. */
export interface UniqueClaim {
  readonly seq: number;
  readonly entries: readonly IndexEntry[];
}

export const noClaim: UniqueClaim = { seq: 0, entries: [] };

/** Returns only the unique indexes of a plan. */
const uniqueOf = ({ indexes }: IndexPlan): readonly Index[] =>
  indexes.filter(({ isUnique }) => isUnique);

/** Returns the entries of a resource in unique indexes. Missing values are not unique. */
export const claimsOf = (plan: IndexPlan, resource: Resource): readonly IndexEntry[] =>
  claimsIn(uniqueOf(plan), resource);

function claimsIn(indexes: readonly Index[], resource: Resource): readonly IndexEntry[] {
  const content = new IndexedContent(resource);
  return indexes.flatMap((index) =>
    uniqueKeysIn(index, content).map((key) => ({ field: index.name, key })),
  );
}

export class UniqueValues {
  readonly #indexes: readonly Index[];
  readonly #storedHolders: (entry: IndexEntry, most: number) => readonly number[];
  /** The values that the batch has claimed (the seq of the resource) or released (undefined). */
  readonly #moved = new Map<string, number | undefined>();

  /** `storedHolders` returns the seqs of the first resources that have the value in the database. */
  constructor(
    plan: IndexPlan,
    storedHolders: (entry: IndexEntry, most: number) => readonly number[],
  ) {
    this.#indexes = uniqueOf(plan);
    this.#storedHolders = storedHolders;
  }

  /** Whether the collection has unique fields. */
  get areAny(): boolean {
    return this.#indexes.length > 0;
  }

  claimOf({ seq, resource }: Candidate): UniqueClaim {
    return this.areAny ? { seq, entries: claimsIn(this.#indexes, resource) } : noClaim;
  }

  /** Whether both states of a resource have the same values. */
  areSame(one: Candidate, other: Candidate): boolean {
    const names = [one, other].map((each) => this.claimOf(each).entries.map(nameOf).join("\n"));
    return names[0] === names[1];
  }

  /** Returns the name of the index in which another resource has the same values. */
  conflictOf({ seq, entries }: UniqueClaim): string | undefined {
    return entries.find((entry) => (this.#holderOf(entry) ?? seq) !== seq)?.field;
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

  #holderOf(entry: IndexEntry): number | undefined {
    const name = nameOf(entry);
    return this.#moved.has(name) ? this.#moved.get(name) : this.#storedHolders(entry, 1)[0];
  }

  #set(entry: IndexEntry, seq: number | undefined): () => void {
    const name = nameOf(entry);
    const wasMoved = this.#moved.has(name);
    const before = this.#moved.get(name);
    this.#moved.set(name, seq);
    return () => {
      if (wasMoved) this.#moved.set(name, before);
      else this.#moved.delete(name);
    };
  }
}

/** Keys contain no NUL, so the name of an entry is unique. */
export const nameOf = ({ field, key }: IndexEntry): string => `${field}\0${key}`;
