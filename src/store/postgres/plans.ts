// Caches the index plans of collections by version, so that definitions are not read with every batch.

import { emptyIndexPlan, type IndexPlan, indexPlanOf } from "../../model/query/index-plan.ts";

/** Identifies one definition: the key of a collection is never reused. */
export interface Version {
  readonly key: number;
  /** The version of the definition; 0 when the collection has none. */
  readonly defined: number;
}

/** A collection with its index plan. */
export interface CollectionPlan extends Version {
  readonly name: string;
  readonly plan: IndexPlan;
}

/** When the cache is full it is cleared, which bounds the memory use. */
const maxEntries = 10_000;

export class Plans {
  readonly #cache = new Map<string, CollectionPlan>();

  /** Returns the cached plan of the collection, which can be outdated. */
  of(name: string): CollectionPlan | undefined {
    return this.#cache.get(name);
  }

  /** Returns the plan of this version. The definition is needed only when the version is not cached. */
  update(name: string, version: Version, definition: string | null): IndexPlan {
    const before = this.#cache.get(name);
    if (before && isSameVersion(before, version)) return before.plan;
    if (version.defined === 0) {
      this.#cache.delete(name);
      return emptyIndexPlan;
    }
    if (definition === null) throw new Error(`the definition of ${name} was not read`);
    const plan = indexPlanOf(definition);
    this.#cache.set(name, { name, ...version, plan });
    return plan;
  }

  /** Must not be called while a batch is being loaded. */
  clearIfFull(): void {
    if (this.#cache.size >= maxEntries) this.clear();
  }

  clear(): void {
    this.#cache.clear();
  }
}

export const isSameVersion = (one: Version, other: Version): boolean =>
  one.key === other.key && one.defined === other.defined;

/** Whether the plan has neither indexes nor searchable fields. */
export const hasNoIndexes = ({ indexes, searchable }: IndexPlan): boolean =>
  indexes.length === 0 && searchable.length === 0;
