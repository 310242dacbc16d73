// Collections and their rules, for administrators.

import type { Collection } from "../model/collection.ts";
import { readDefinition } from "../model/definition.ts";
import { isCollectionName } from "../model/id.ts";
import { Problem } from "../model/problem.ts";
import { type Soon, then } from "../model/soon.ts";
import type { Store } from "../store/store.ts";
import { noCollection } from "./refusals.ts";

export class Collections {
  readonly #store: Store;
  readonly #clock: () => number;

  constructor(store: Store, clock: () => number) {
    this.#store = store;
    this.#clock = clock;
  }

  list(): Soon<readonly Collection[]> {
    return this.#store.collections();
  }

  find(name: string): Soon<Collection | Problem> {
    return then(this.#store.collection(name), (collection) => collection ?? noCollection(name));
  }

  /** Gives a collection its rules, and brings it into being if need be; says whether it did. */
  async define(name: string, text: string): Promise<{ isNew: boolean } | Problem> {
    if (!isCollectionName(name)) return noCollection(name);
    const definition = readDefinition(text);
    if (!("preconditions" in definition)) {
      const detail = "The definition is not valid; `errors` names each fault.";
      return new Problem("invalid-body", detail, { errors: definition });
    }
    const before = await this.#store.collection(name);
    const change = {
      kind: "define",
      collection: name,
      definition: JSON.stringify(definition),
    } as const;
    await this.#store.commit([{ ...change, at: this.#clock() }]);
    return { isNew: before === undefined };
  }
}
