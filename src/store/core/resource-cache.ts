// Caches frequently read resources within a memory limit.

import type { Resource } from "../../model/resource.ts";

type ResourceMap = Map<string, Resource>;
type Generation = Map<number, ResourceMap>;

/** The approximate memory use of a resource without its fields. */
const overheadBytes = 256;

/**
 * Resources are added to the young generation. When that is full it becomes the old one, and the old one
 * is discarded. So a hit costs one lookup, while a strict LRU costs three operations.
 */
export class ResourceCache {
  readonly #generationBytes: number;
  #young: Generation = new Map();
  #old: Generation = new Map();
  #youngBytes = 0;

  constructor(limitBytes: number) {
    this.#generationBytes = limitBytes / 2;
  }

  find(collectionKey: number, id: string): Resource | undefined {
    const young = this.#young.get(collectionKey)?.get(id);
    if (young) return young;
    const old = this.#old.get(collectionKey)?.get(id);
    if (old) this.add(collectionKey, old);
    return old;
  }

  add(collectionKey: number, resource: Resource): void {
    const bytes = resource.fields.length + (resource.files?.length ?? 0) + overheadBytes;
    if (bytes > this.#generationBytes) return;
    if (this.#youngBytes + bytes > this.#generationBytes) this.#age();
    this.#youngBytes += bytes;
    const collectionReader = this.#young.get(collectionKey) ?? new Map<string, Resource>();
    collectionReader.set(resource.id, resource);
    this.#young.set(collectionKey, collectionReader);
  }

  hasAnyOf(collectionKey: number): boolean {
    return this.#young.has(collectionKey) || this.#old.has(collectionKey);
  }

  delete(collectionKey: number, id: string): void {
    this.#young.get(collectionKey)?.delete(id);
    this.#old.get(collectionKey)?.delete(id);
  }

  deleteAllOf(collectionKey: number): void {
    this.#young.delete(collectionKey);
    this.#old.delete(collectionKey);
  }

  clear(): void {
    this.#young = new Map();
    this.#old = new Map();
    this.#youngBytes = 0;
  }

  #age(): void {
    this.#old = this.#young;
    this.#young = new Map();
    this.#youngBytes = 0;
  }
}
