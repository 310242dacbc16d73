// What rules ask about the resources that a resource refers to. It is read once for each request.

import { isResourceId } from "../model/id.ts";
import { IndexedContent } from "../model/query/index-plan.ts";
import { holds, type Related, type RelatedFacts } from "../model/query/predicate.ts";
import type { Resource } from "../model/resource.ts";
import type { ReadState, Store } from "../store/store.ts";

/**
 * On a store that answers at once, facts are known at once. Otherwise `matches` is false for what is not
 * read yet, and `loading` is set: then the rules must be evaluated again after it.
 */
export class RuleFacts implements RelatedFacts {
  readonly #store: Store;
  /** The addresses of the resources that are read, or were. */
  readonly #asked = new Set<string>();
  readonly #found = new Map<string, Resource | null>();
  readonly #loading: Promise<unknown>[] = [];

  constructor(store: Store) {
    this.#store = store;
  }

  matches({ collection, related }: Related, id: string): boolean {
    const address = `${collection}/${id}`;
    const found = this.#found.get(address);
    if (found === undefined) {
      this.#read(collection, id, address);
      const loaded = this.#found.get(address);
      return loaded ? holds(related, new IndexedContent(loaded, this)) : false;
    }
    return found !== null && holds(related, new IndexedContent(found, this));
  }

  /** Whether no resource was asked about. */
  get isUnused(): boolean {
    return this.#asked.size === 0;
  }

  /** What must be awaited before the rules are evaluated again. */
  get loading(): Promise<unknown> | undefined {
    return this.#loading.length === 0 ? undefined : Promise.all(this.#loading.splice(0));
  }

  /** The resources that were read, as they were then. */
  get reads(): readonly ReadState[] {
    return [...this.#found].map(([address, resource]) => {
      const [collection = "", id = ""] = address.split("/");
      return { collection, id, revision: resource?.revision ?? -1 };
    });
  }

  #read(collection: string, id: string, address: string): void {
    // No resource has another id.
    if (!isResourceId(id) || this.#asked.has(address)) return;
    this.#asked.add(address);
    const found = this.#store.find(collection, id);
    if (found instanceof Promise)
      this.#loading.push(found.then((read) => void this.#found.set(address, read ?? null)));
    else this.#found.set(address, found ?? null);
  }
}
