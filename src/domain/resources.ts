// What can be done with resources: the rules over a store, for any caller.

import type { Collection } from "../model/collection.ts";
import type { Draft } from "../model/draft.ts";
import { isCollectionName, newId } from "../model/id.ts";
import { type Window, windowOffset } from "../model/page.ts";
import { Problem } from "../model/problem.ts";
import type { Resource } from "../model/resource.ts";
import { type Soon, then } from "../model/soon.ts";
import { isAdmin, type Token } from "../model/token.ts";
import type { Change, Slice, Store } from "../store/store.ts";

export class Resources {
  readonly #store: Store;
  readonly #clock: () => number;

  constructor(store: Store, clock: () => number) {
    this.#store = store;
    this.#clock = clock;
  }

  find(collection: string, id: string): Soon<Resource | Problem> {
    return then(this.#store.find(collection, id), (resource) => resource ?? noResource);
  }

  collection(name: string): Soon<Collection | Problem> {
    return then(this.#store.collection(name), (collection) => collection ?? noCollection(name));
  }

  list(collection: string, window: Window): Soon<Slice | Problem> {
    const { limit, order } = window;
    return then(
      this.#store.slice(collection, { offset: windowOffset(window), limit, order }),
      (slice) => slice ?? noCollection(collection),
    );
  }

  /** Why nothing can be made there by this caller, whatever it is; so that its body need not be read. */
  refuseCreate(caller: Token, collection: string): Soon<Problem | undefined> {
    if (!isCollectionName(collection)) return noCollection(collection);
    if (isAdmin(caller)) return undefined;
    return then(this.#store.collection(collection), (found) =>
      found === undefined ? noCollection(collection) : undefined,
    );
  }

  /** Resolves when the resource is on disk. An admin's first POST brings the collection into being. */
  async create(caller: Token, collection: string, draft: Draft): Promise<Resource | Problem> {
    if (!isCollectionName(collection)) return noCollection(collection);
    const put: Change = {
      kind: "put",
      collection,
      id: newId(),
      fields: draft.fields,
      at: this.#clock(),
      expect: "nothing",
    };
    let [outcome] = await this.#store.commit([put]);
    if (outcome?.kind === "missing") {
      if (!isAdmin(caller)) return noCollection(collection);
      [, outcome] = await this.#store.commit([{ kind: "found", collection, at: put.at }, put]);
    }
    if (outcome?.kind !== "created") throw new Error(`a new id cannot be ${outcome?.kind}`);
    return outcome.resource;
  }
}

const noCollection = (name: string): Problem =>
  new Problem(
    "not-found",
    isCollectionName(name)
      ? `There is no collection "${name}". A POST by an admin token brings one into being.`
      : "A collection's name is 1 to 63 of a-z, 0-9, _ and -, and starts with a letter or digit.",
  );

const noResource = new Problem("not-found", "There is no resource at this address.");
