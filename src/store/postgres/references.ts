// Collects what the changes of a batch refer to, so that it can be loaded before they are applied.

import type { IdempotencyKey } from "../../model/idempotency-key.ts";
import { indexPlanOf } from "../../model/query/index-plan.ts";
import { type ResourceAddress, targetsIn } from "../../model/reference.ts";
import { decodeOutcomes } from "../core/stored-outcomes.ts";
import type { Change, Put } from "../store.ts";
import type { CollectionRow } from "./collections.ts";

/** What a batch refers to in one collection. */
export interface Referenced {
  readonly ids: Set<string>;
  /** Ids that no resource has or had, so that nothing is loaded for them. */
  readonly newIds: Set<string>;
  readonly puts: Put[];
  readonly keys: IdempotencyKey[];
  /** Whether it is only compared with what was read. */
  isOnlyCompared: boolean;
  /** Whether more of it is compared than resources that exist. */
  isHeadCompared: boolean;
  /** Operations need the fields of their resources. */
  hasOperations?: boolean;
  /** Resources that are deleted, to which resources of this collection may refer. */
  readonly targets: Map<string, ResourceAddress>;
}

export const noneReferenced = (): Referenced => ({
  isOnlyCompared: false,
  isHeadCompared: false,
  ids: new Set(),
  newIds: new Set(),
  puts: [],
  keys: [],
  targets: new Map(),
});

export class References {
  readonly collections = new Map<string, Referenced>();
  readonly tokenIds = new Set<string>();
  readonly tokenHashes = new Set<string>();
  /** The tokens of callers, which must not be revoked. */
  readonly callers = new Set<string>();
  /** Whether tokens are revoked or removed. */
  endsTokens = false;

  readonly #changes: readonly Change[];

  constructor(changes: readonly Change[]) {
    this.#changes = changes.flatMap((change): readonly Change[] =>
      change.kind === "all" ? change.changes : [change],
    );
    for (const change of changes) this.#add(change);
  }

  /**
   * Adds what the changes refer to by the references of their collections, and returns whether some of it
   * is new. The rows are those of the collections that are known.
   */
  follow(rows: ReadonlyMap<string, CollectionRow>): boolean {
    return this.#changes.map((change) => this.#follow(change, rows)).includes(true);
  }

  #follow(change: Change, rows: ReadonlyMap<string, CollectionRow>): boolean {
    if (!("collection" in change)) return false;
    const { collection: name } = change;
    const { rules, writePlan } = rows.get(name) ?? {};
    const references = writePlan?.references ?? [];
    switch (change.kind) {
      case "put":
        if (references.length === 0) return false;
        return targetsIn(references, JSON.parse(change.fields))
          .map(({ collection, id }) => this.#addId(collection, id))
          .includes(true);
      case "remove":
        return (rules?.referrers ?? [])
          .map((referrer) => this.#addTarget(referrer, { collection: name, id: change.id }))
          .includes(true);
      case "define":
        return [...references, ...(indexPlanOf(change.definition).references ?? [])]
          .map(({ collection }) => this.#addCollection(collection))
          .includes(true);
      case "drop":
        return references.map(({ collection }) => this.#addCollection(collection)).includes(true);
      default:
        return false;
    }
  }

  #addCollection(name: string): boolean {
    const isNew = !this.collections.has(name);
    this.#in(name);
    return isNew;
  }

  #addId(collection: string, id: string): boolean {
    const { ids } = this.#in(collection);
    const isNew = !ids.has(id);
    ids.add(id);
    return isNew;
  }

  #addTarget(referrer: string, target: ResourceAddress): boolean {
    const { targets } = this.#in(referrer);
    const name = `${target.collection}/${target.id}`;
    const isNew = !targets.has(name);
    targets.set(name, target);
    return isNew;
  }

  /** Adds the resources in stored outcomes, and returns whether some of them are new. */
  addOutcomes(outcomes: string): boolean {
    let isNew = false;
    for (const { collection, id } of decodeOutcomes(outcomes)?.resources ?? []) {
      if (this.#addId(collection, id)) isNew = true;
    }
    return isNew;
  }

  #add(change: Change): void {
    if (change.kind !== "all" && change.callerToken !== undefined)
      this.callers.add(change.callerToken);
    switch (change.kind) {
      case "put":
      case "remove":
      case "operate": {
        for (const read of change.unchanged ?? []) {
          const compared = this.#at(read.collection);
          const id = "id" in read ? read.id : undefined;
          if (id !== undefined) compared.ids.add(id);
          compared.isHeadCompared ||= !(
            "revision" in read &&
            id !== undefined &&
            read.revision > 0
          );
        }
        const referenced = this.#in(change.collection);
        const isNewId = change.kind === "put" && change.isNewId === true;
        (isNewId ? referenced.newIds : referenced.ids).add(change.id);
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
        if (change.code !== undefined) this.tokenIds.add(change.code);
        break;
      default:
        this.tokenIds.add(change.id);
        this.endsTokens ||= change.kind !== "touch-token";
    }
  }

  #in(name: string): Referenced {
    const referenced = this.#at(name);
    referenced.isOnlyCompared = false;
    return referenced;
  }

  #at(name: string): Referenced {
    const known = this.collections.get(name);
    if (known) return known;
    const referenced = { ...noneReferenced(), isOnlyCompared: true };
    this.collections.set(name, referenced);
    return referenced;
  }
}
