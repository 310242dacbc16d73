// What rules ask about the resources that a resource refers to. It is read once for each request.

import { Lookup, then } from "../lib/maybe-promise.ts";
import { isResourceId } from "../model/id.ts";
import { IndexedContent } from "../model/query/index-plan.ts";
import { holds, type Related, type RelatedFacts } from "../model/query/predicate.ts";
import type { Resource } from "../model/resource.ts";
import type { ReadState, Store } from "../store/store.ts";

/** Nothing matches that is not read yet: then the rules must be evaluated again after `loading`. */
export class RuleFacts implements RelatedFacts {
  readonly #resources: Lookup<Resource | null>;

  constructor(store: Store) {
    this.#resources = new Lookup((address) => {
      const [collection = "", id = ""] = address.split("/");
      return then(store.find(collection, id), (resource) => resource ?? null);
    });
  }

  matches({ collection, related }: Related, id: string): boolean {
    // No resource has another id.
    const found = isResourceId(id) && this.#resources.find(`${collection}/${id}`);
    return found ? holds(related, new IndexedContent(found, this)) : false;
  }

  /** Whether no resource was asked about. */
  get isUnused(): boolean {
    return this.#resources.isUnused;
  }

  get loading(): Promise<unknown> | undefined {
    return this.#resources.loading;
  }

  /** The resources that were read, as they were then. */
  get reads(): readonly ReadState[] {
    return [...this.#resources.found].map(([address, resource]) => {
      const [collection = "", id = ""] = address.split("/");
      return { collection, id, revision: resource?.revision ?? -1 };
    });
  }
}
