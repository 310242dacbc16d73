// The rules of a collection while a batch is applied: its definition, its index plan, and who refers to it.

import type { IndexPlan } from "../../model/query/index-plan.ts";
import type { Reference } from "../../model/reference.ts";
import { type IndexBuild, isIncomplete, planBuild, plansOf } from "./index-build.ts";
import type { StoredCollection } from "./state.ts";
import type { CollectionWrite } from "./writes.ts";

export class OpenRules {
  readonly #stored: StoredCollection;
  /** When the batch creates the collection. */
  readonly #createdAt: number | undefined;
  #plan: IndexPlan;
  #build: IndexBuild | undefined;
  #definition: string | undefined;
  #referrers: readonly string[];

  constructor(stored: StoredCollection, createdAt: number | undefined) {
    this.#stored = stored;
    this.#createdAt = createdAt;
    this.#plan = stored.plan;
    this.#build = stored.build;
    this.#referrers = stored.referrers;
  }

  /** The plan by which rows are written. */
  get plan(): IndexPlan {
    return this.#plan;
  }

  get definition(): string {
    return this.#definition ?? this.#stored.definition;
  }

  get references(): readonly Reference[] {
    return this.#plan.references ?? [];
  }

  /** The names of the collections that refer to this one. */
  get referrers(): readonly string[] {
    return this.#referrers;
  }

  set referrers(names: readonly string[]) {
    this.#referrers = names;
  }

  /** Whether the index does not have all resources yet. */
  isIncomplete(index: string): boolean {
    return this.#build !== undefined && isIncomplete(this.#build, index);
  }

  define(definition: string, total: number): void {
    this.#definition = definition;
    const isNew = this.#createdAt !== undefined;
    this.#build = isNew ? undefined : planBuild(this.#stored, definition, total);
    this.#plan = plansOf(definition, this.#build).write;
  }

  /** Returns the row of a collection that is new, has a new definition or other referrers. */
  write(version: number): CollectionWrite | undefined {
    const { name, part, referrers } = this.#stored;
    const isDefined = this.#definition !== undefined;
    if (this.#createdAt === undefined && !isDefined && referrers === this.#referrers)
      return undefined;
    return {
      name,
      part,
      definition: this.definition,
      version,
      createdAt: this.#createdAt,
      build: this.#build,
      isDefined,
      referrers: this.#referrers,
    };
  }
}
