// What rules ask about the resources that a resource refers to. It is read once for each request.

import type { Collection } from "../model/collection.ts";
import { IndexedContent } from "../model/query/index-plan.ts";
import { holds, type Related, type RelatedFacts } from "../model/query/predicate.ts";
import type { Resource } from "../model/resource.ts";
import type { Store } from "../store/store.ts";

/**
 * On a store that answers at once, facts are known at once. Otherwise `matches` is false for what is not
 * read yet, and `loading` is set: then the rules must be evaluated again after it.
 */
export class RuleFacts implements RelatedFacts {
  readonly #store: Store;
  readonly #found = new Map<string, Resource | null>();
  /** The state of each collection, from before anything in it was read. */
  readonly #collections = new Map<string, Collection | null>();
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

  /** What must be awaited before the rules are evaluated again. */
  get loading(): Promise<unknown> | undefined {
    return this.#loading.length === 0 ? undefined : Promise.all(this.#loading.splice(0));
  }

  /** The collections that were read, and their revisions; -1 for one that did not exist. */
  get reads(): readonly { readonly collection: string; readonly revision: number }[] {
    return [...this.#collections].map(([collection, state]) => ({
      collection,
      revision: state?.revision ?? -1,
    }));
  }

  #read(collection: string, id: string, address: string): void {
    const state = this.#collections.has(collection)
      ? undefined
      : this.#store.collection(collection);
    const keepState = (read: Collection | undefined) => {
      if (!this.#collections.has(collection)) this.#collections.set(collection, read ?? null);
    };
    if (state instanceof Promise) {
      this.#loading.push(
        state.then(async (read) => {
          keepState(read);
          this.#found.set(address, (await this.#store.find(collection, id)) ?? null);
        }),
      );
      return;
    }
    if (!this.#collections.has(collection)) keepState(state);
    const found = this.#store.find(collection, id);
    if (found instanceof Promise)
      this.#loading.push(found.then((read) => void this.#found.set(address, read ?? null)));
    else this.#found.set(address, found ?? null);
  }
}
