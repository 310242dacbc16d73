// Holds a collection as it was last read: its counters, its rules, and what is derived from them.

import type { Collection, Rules } from "../../model/collection.ts";
import { type IndexPlan, indexPlanOf } from "../../model/query/index-plan.ts";
import type { Head } from "../core/rows.ts";
import type { CollectionRow } from "./collections.ts";

export class CachedCollection {
  readonly name: string;
  readonly part: number;
  /** The revision up to which the cached resources of the part are known to be current. */
  cachedRevision: number;
  readonly #createdAt: number;
  #head: Head;
  #rules: Rules;
  #collection: Collection;
  #plan: IndexPlan | undefined;

  constructor(row: CollectionRow, head: Head) {
    this.name = row.name;
    this.part = row.part;
    this.cachedRevision = head.revision;
    this.#createdAt = row.createdAt;
    this.#head = head;
    this.#rules = rulesIn(row);
    this.#collection = toCollection(row, head);
  }

  get head(): Head {
    return this.#head;
  }

  /** The same object until the definition changes. */
  get rules(): Rules {
    return this.#rules;
  }

  /** The same object until the collection changes. */
  get collection(): Collection {
    return this.#collection;
  }

  get plan(): IndexPlan {
    this.#plan ??= indexPlanOf(this.#rules.definition);
    return this.#plan;
  }

  redefine(row: CollectionRow): void {
    this.#rules = rulesIn(row);
    this.#plan = undefined;
  }

  update(head: Head): void {
    if (head.revision === this.#head.revision) return;
    this.#head = head;
    const { name } = this;
    const { definition } = this.#rules;
    this.#collection = toCollection({ name, definition, createdAt: this.#createdAt }, head);
  }
}

const rulesIn = ({ version, definition }: CollectionRow): Rules => ({ version, definition });

export function toCollection(
  { name, definition, createdAt }: Pick<CollectionRow, "name" | "definition" | "createdAt">,
  { revision, total, updatedAt, sharesDate }: Head,
): Collection {
  const collection = { name, revision, total, definition, createdAt, updatedAt };
  return sharesDate === 1 ? { ...collection, sharesDate: true } : collection;
}
