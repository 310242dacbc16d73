// Finds resources by id, and caches them until they change.

import type { Resource } from "../../model/resource.ts";
import { ResourceCache } from "../core/resource-cache.ts";
import type { CachedCollection } from "./collections.ts";
import type { ResourceReader } from "./resource-reader.ts";

/** With more new revisions than this, clearing the whole collection is cheaper than reading the changes. */
const maxRevisionsBehind = 1_000;

export class CachedResources {
  readonly #resources: ResourceReader;
  readonly #cache: ResourceCache;

  constructor(resources: ResourceReader, limitBytes: number) {
    this.#resources = resources;
    this.#cache = new ResourceCache(limitBytes);
  }

  /** The changes must be removed before. */
  find({ part }: CachedCollection, id: string): Resource | undefined {
    const cached = this.#cache.find(part, id);
    if (cached) return cached;
    const resource = this.#resources.find(part, id);
    if (resource) this.#cache.add(part, resource);
    return resource;
  }

  /** Removes the resources from the cache that were written since it was last used. */
  removeChanged(known: CachedCollection): void {
    const { part, head, cachedRevision } = known;
    if (head.revision === cachedRevision) return;
    const oldest = Math.max(
      head.revision - maxRevisionsBehind,
      this.#resources.purgedRevision(part),
    );
    if (cachedRevision < oldest) this.#cache.deleteAllOf(part);
    else if (this.#cache.hasAnyOf(part))
      for (const id of this.#resources.changedSince(part, cachedRevision))
        this.#cache.delete(part, id);
    known.cachedRevision = head.revision;
  }

  forget(part: number): void {
    this.#cache.deleteAllOf(part);
  }
}
