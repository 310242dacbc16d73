// The plans of collections with rules: remembered by version, and not read again with every batch.

import { emptyIndexPlan, type IndexPlan, indexPlanOf } from "../../model/query/index-plan.ts";

/** A collection's key is never given again, so that both together are one definition for ever. */
export interface Version {
  readonly key: number;
  /** The revision with which the definition came; 0 when there was none. */
  readonly defined: number;
}

/** A collection, and what is kept beside its resources. */
export interface Planned extends Version {
  readonly name: string;
  readonly plan: IndexPlan;
}

/** Beyond this, all is forgotten and learnt anew: memory must have an end. */
const maxRemembered = 10_000;

export class Plans {
  readonly #known = new Map<string, Planned>();

  /** What was true of the collection of this name when it was last looked at. */
  of(name: string): Planned | undefined {
    return this.#known.get(name);
  }

  /** The plan of this version; the definition is needed only where the version is new. */
  learn(name: string, version: Version, definition: string | null): IndexPlan {
    const before = this.#known.get(name);
    if (before && isSame(before, version)) return before.plan;
    if (version.defined === 0) {
      this.#known.delete(name);
      return emptyIndexPlan;
    }
    if (definition === null) throw new Error(`the definition of ${name} was not read`);
    const plan = indexPlanOf(definition);
    this.#known.set(name, { name, ...version, plan });
    return plan;
  }

  /** Not while a look-up counts on what is known. */
  forgetIfMany(): void {
    if (this.#known.size >= maxRemembered) this.forget();
  }

  forget(): void {
    this.#known.clear();
  }
}

export const isSame = (one: Version, other: Version): boolean =>
  one.key === other.key && one.defined === other.defined;

/** Whether there is anything to keep beside the resources. */
export const isPlain = ({ indexes, searchable }: IndexPlan): boolean =>
  indexes.length === 0 && searchable.length === 0;
