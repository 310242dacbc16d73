// Tracks which resources of a collection refer to others while a batch is applied.

import {
  type Index,
  type IndexEntry,
  IndexedContent,
  type IndexPlan,
  keysIn,
} from "../../model/query/index-plan.ts";
import type { Candidate } from "../../model/query/query.ts";
import { keyOf } from "../../model/query/sort-key.ts";
import { type Reference, type ResourceAddress, targetsIn } from "../../model/reference.ts";
import { nameOf } from "./unique-values.ts";

/** Returns the entries that resources have which refer to the target. */
export function entriesTo({ references = [], indexes }: IndexPlan, target: ResourceAddress) {
  return references
    .filter(({ collection }) => collection === target.collection)
    .flatMap(({ field }): readonly IndexEntry[] => {
      const kind = indexes.find(({ name }) => name === field)?.fields[0]?.kind;
      return kind === undefined ? [] : [{ field, key: keyOf(kind, target.id) }];
    });
}

/** Returns the resources that the new fields refer to and the former ones do not. */
export function newTargets(
  references: readonly Reference[],
  before: string,
  after: string,
): readonly ResourceAddress[] {
  const former = targetsIn(references, JSON.parse(before));
  const isFormer = ({ collection, id }: ResourceAddress) =>
    former.some((target) => target.collection === collection && target.id === id);
  return targetsIn(references, JSON.parse(after)).filter((target) => !isFormer(target));
}

export class ReferenceEntries {
  readonly #indexes: readonly Index[];
  readonly #storedHolders: (entry: IndexEntry, most: number) => readonly number[];
  /** The seqs of resources that got or lost an entry in the batch. */
  readonly #added = new Map<string, Set<number>>();
  readonly #removed = new Map<string, Set<number>>();

  /** `storedHolders` returns the seqs of the first resources that have the entry in the database. */
  constructor(
    { references = [], indexes }: IndexPlan,
    storedHolders: (entry: IndexEntry, most: number) => readonly number[],
  ) {
    const fields = new Set(references.map(({ field }) => field));
    this.#indexes = indexes.filter(({ name }) => fields.has(name));
    this.#storedHolders = storedHolders;
  }

  /** Whether a resource has the entry. */
  isHeld(entry: IndexEntry): boolean {
    const name = nameOf(entry);
    if (this.#added.get(name)?.size) return true;
    const removed = this.#removed.get(name) ?? new Set();
    return this.#storedHolders(entry, removed.size + 1).some((seq) => !removed.has(seq));
  }

  /** Replaces the former state of a resource by the new one, and returns a function that undoes it. */
  move(before: Candidate | undefined, after: Candidate | undefined): () => void {
    const lost = before ? this.#namesOf(before) : [];
    const got = after ? this.#namesOf(after) : [];
    const undoes = [
      ...lost.map((name) => this.#put(name, before?.seq ?? 0, this.#added, this.#removed)),
      ...got.map((name) => this.#put(name, after?.seq ?? 0, this.#removed, this.#added)),
    ];
    return () => {
      for (const undo of undoes.reverse()) undo();
    };
  }

  #namesOf({ resource }: Candidate): readonly string[] {
    if (this.#indexes.length === 0) return [];
    const content = new IndexedContent(resource);
    return this.#indexes.flatMap((index) =>
      keysIn(index, content).map((key) => nameOf({ field: index.name, key })),
    );
  }

  /** Takes the seq out of the one set, or puts it into the other. */
  #put(
    name: string,
    seq: number,
    from: Map<string, Set<number>>,
    to: Map<string, Set<number>>,
  ): () => void {
    if (from.get(name)?.delete(seq)) return () => addTo(from, name, seq);
    addTo(to, name, seq);
    return () => to.get(name)?.delete(seq);
  }
}

function addTo(sets: Map<string, Set<number>>, name: string, seq: number): void {
  const set = sets.get(name);
  if (set) set.add(seq);
  else sets.set(name, new Set([seq]));
}
