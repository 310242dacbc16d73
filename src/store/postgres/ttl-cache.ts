// Caches values that every request needs for a short time, and loads missing ones in batches.

import type { MaybePromise } from "../../lib/maybe-promise.ts";
import { BatchLoader, type Load } from "./batch-loader.ts";

interface CacheEntry<V> {
  readonly value: V;
  readonly readAt: number;
}

/** When the cache is full it is cleared, which bounds the memory use. */
const maxEntries = 10_000;

/** An entry expires after `maxAgeMs`, and at once when a node notifies a change. */
export class TtlCache<V extends object> {
  readonly #maxAgeMs: number;
  readonly #loader: BatchLoader<string, V | undefined>;
  readonly #entries = new Map<string, CacheEntry<V>>();
  #invalidatedAt = 0;

  constructor(
    load: Load<string, V | undefined>,
    { size, maxAgeMs }: { readonly size: number; readonly maxAgeMs: number },
  ) {
    this.#maxAgeMs = maxAgeMs;
    this.#loader = new BatchLoader((names) => this.#load(load, names), size);
  }

  find(name: string): MaybePromise<V | undefined> {
    const entry = this.#entries.get(name);
    return entry && this.#isFresh(entry) ? entry.value : this.#loader.get(name);
  }

  /** Values that are being loaded now are invalidated too. */
  invalidate(): void {
    this.#invalidatedAt = performance.now();
  }

  #isFresh({ readAt }: CacheEntry<V>): boolean {
    return readAt > this.#invalidatedAt && performance.now() - readAt < this.#maxAgeMs;
  }

  async #load(
    load: Load<string, V | undefined>,
    names: readonly string[],
  ): Promise<readonly (V | undefined)[]> {
    const readAt = performance.now();
    const values = await load(names);
    if (this.#entries.size + names.length > maxEntries) this.#entries.clear();
    return names.map((name, index) => this.#save(name, values[index], readAt));
  }

  /** Missing values are not cached, so that a new one is found at once. */
  #save(name: string, read: V | undefined, readAt: number): V | undefined {
    if (!read) {
      this.#entries.delete(name);
      return undefined;
    }
    this.#entries.set(name, { value: read, readAt });
    return read;
  }
}
