// Collects what the changes of a batch refer to, so that it can be loaded before they are applied.

import type { IdempotencyKey } from "../../model/idempotency-key.ts";
import { decodeOutcomes } from "../core/stored-outcomes.ts";
import type { Change, Put } from "../store.ts";

/** What a batch refers to in one collection. */
export interface Referenced {
  readonly ids: Set<string>;
  readonly puts: Put[];
  readonly keys: IdempotencyKey[];
  /** Operations need the fields of their resources. */
  hasOperations?: boolean;
}

export class References {
  readonly collections = new Map<string, Referenced>();
  readonly tokenIds = new Set<string>();
  readonly tokenHashes = new Set<string>();

  constructor(changes: readonly Change[]) {
    for (const change of changes) this.#add(change);
  }

  /** Adds the resources in stored outcomes, and returns whether some of them are new. */
  addOutcomes(collection: string, outcomes: string): boolean {
    let isNew = false;
    for (const { collection: name = collection, id } of decodeOutcomes(outcomes)?.resources ?? []) {
      const { ids } = this.#in(name);
      isNew ||= !ids.has(id);
      ids.add(id);
    }
    return isNew;
  }

  #add(change: Change): void {
    switch (change.kind) {
      case "put":
      case "remove":
      case "operate": {
        const referenced = this.#in(change.collection);
        referenced.ids.add(change.id);
        if (change.kind === "put") referenced.puts.push(change);
        if (change.kind === "operate") referenced.hasOperations = true;
        break;
      }
      case "all":
        for (const each of change.changes) {
          this.#add(each);
          if (change.once) this.#in(each.collection).keys.push(change.once);
        }
        break;
      case "create-collection":
      case "define":
      case "drop":
        this.#in(change.collection);
        break;
      case "create-token":
        this.tokenIds.add(change.token.id);
        this.tokenHashes.add(change.token.hash);
        break;
      default:
        this.tokenIds.add(change.id);
    }
  }

  #in(name: string): Referenced {
    const known = this.collections.get(name);
    if (known) return known;
    const referenced = { ids: new Set<string>(), puts: [], keys: [] };
    this.collections.set(name, referenced);
    return referenced;
  }
}
