// The rules of a collection with the values of one caller: a view for each verb.

import type { Resource } from "../model/resource.ts";
import type { Verb } from "../model/token.ts";
import type { ReadState } from "../store/store.ts";
import type { RuleFacts } from "./rule-facts.ts";
import { type BoundGrant, View } from "./view.ts";

export type Views = Readonly<Partial<Record<Verb, View>>>;

let count = 0;

/** The same object for the same caller while neither the rules nor the values change. */
export class BoundRules {
  /** Different for each object. */
  readonly id = ++count;
  readonly #views: Views;
  readonly #sets: { readonly reads: readonly ReadState[] };
  /** What the boundary names, which cannot change after creation. */
  readonly boundaryFields: readonly string[];
  /** Whether they depend on the time: then they hold for one request. */
  readonly isTimed: boolean;
  /** Reads what a resource refers to. */
  readonly newFacts: () => RuleFacts;

  constructor(
    views: Views,
    sets: { readonly reads: readonly ReadState[] },
    boundaryFields: readonly string[],
    isTimed: boolean,
    newFacts: () => RuleFacts,
  ) {
    this.#views = views;
    this.#sets = sets;
    this.boundaryFields = boundaryFields;
    this.isTimed = isTimed;
    this.newFacts = newFacts;
  }

  /** The collections of the sets that the views depend on. */
  get setReads(): readonly ReadState[] {
    return this.#sets.reads;
  }

  /** Returns undefined when no grant applies to the caller. */
  view(verb: Verb): View | undefined {
    return this.#views[verb];
  }

  /**
   * Reads another resource for one that the caller does not see, unless the rules have asked for one: the
   * time of the response must not tell whether it is hidden or missing.
   */
  askForUnseen(verb: Verb, id: string, facts: RuleFacts): void {
    const [related] = (this.view("read") ?? this.view(verb))?.related ?? [];
    if (related !== undefined && facts.isUnused) facts.matches(related, id);
  }

  /** The same rules with only this grant for a verb. */
  only(verb: Verb, grant: BoundGrant): BoundRules {
    const views = { ...this.#views, [verb]: new View([grant]) };
    const { boundaryFields, isTimed, newFacts } = this;
    return new BoundRules(views, this.#sets, boundaryFields, isTimed, newFacts);
  }

  /**
   * Whether the caller sees the resource. For one who reads nothing in the collection, the resources that
   * it may change are there, and no others.
   */
  includes(verb: Verb, resource: Resource, facts: RuleFacts): boolean {
    const view = this.view("read") ?? this.view(verb);
    return view?.includes(resource, facts) === true;
  }
}
