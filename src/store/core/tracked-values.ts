// Tracks the unique values and the references of a collection while a batch is applied.

import type { IndexEntry, IndexPlan } from "../../model/query/index-plan.ts";
import type { Candidate } from "../../model/query/query.ts";
import type { Reference, ResourceAddress } from "../../model/reference.ts";
import { candidateOf } from "./collect-resource.ts";
import { entriesTo, newTargets, ReferenceEntries } from "./reference-entries.ts";
import type { ResourceState } from "./state.ts";
import { noClaim, UniqueValues } from "./unique-values.ts";

/** Returns the seqs of the first resources that have an index entry before the batch. */
export type Holders = (entry: IndexEntry, most: number) => readonly number[];

const nothing = () => undefined;

export class TrackedValues {
  readonly #plan: IndexPlan;
  readonly #unique: UniqueValues;
  readonly #references: ReferenceEntries;
  /** The fields of resources before the current `all`, if the collection has references. */
  readonly #formerFields = new Map<string, string>();

  constructor(plan: IndexPlan, holders: Holders) {
    this.#plan = plan;
    this.#unique = new UniqueValues(plan, holders);
    this.#references = new ReferenceEntries(plan, holders);
  }

  get references(): readonly Reference[] {
    return this.#plan.references ?? [];
  }

  /** Starts an `all`. */
  begin(): void {
    this.#formerFields.clear();
  }

  /**
   * Replaces the former values of a resource by the new ones. Returns a function that undoes it, or the
   * name of a unique index in which another resource has the same values.
   */
  replace(
    id: string,
    before: ResourceState | undefined,
    after: Candidate | undefined,
  ): (() => void) | string {
    const hasReferences = this.references.length > 0;
    if (!this.#unique.areAny && !hasReferences) return nothing;
    const former = before && candidateOf(id, before);
    const claim = after ? this.#unique.claimOf(after) : noClaim;
    const conflict = this.#unique.conflictOf(claim);
    if (conflict !== undefined) return conflict;
    const undoClaim = this.#unique.move(former ? this.#unique.claimOf(former) : noClaim, claim);
    if (!hasReferences) return undoClaim;
    if (!this.#formerFields.has(id)) this.#formerFields.set(id, before?.fields ?? "{}");
    const undoReferences = this.#references.move(former, after);
    return () => {
      undoReferences();
      undoClaim();
    };
  }

  /** Whether a resource keeps its unique values and gets no new references. */
  areSame(before: Candidate, after: Candidate): boolean {
    return (
      this.#unique.areSame(before, after) &&
      newTargets(this.references, before.resource.fields, after.resource.fields).length === 0
    );
  }

  /** Returns the resources that this one refers to and did not before the current `all`. */
  newTargets(id: string, fields: string): readonly ResourceAddress[] {
    if (this.references.length === 0) return [];
    return newTargets(this.references, this.#formerFields.get(id) ?? "{}", fields);
  }

  /** The entries of resources that refer to the target. */
  entriesTo(target: ResourceAddress): readonly IndexEntry[] {
    return entriesTo(this.#plan, target);
  }

  isHeld(entry: IndexEntry): boolean {
    return this.#references.isHeld(entry);
  }
}
