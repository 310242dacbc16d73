// Keeps the resources that are asked for again and again, within a number of bytes.

import type { Resource } from "../../model/resource.ts";

type Shelf = Map<string, Resource>;
type Generation = Map<number, Shelf>;

/** About what a resource weighs in memory beside its fields. */
const overheadBytes = 256;

/**
 * What is asked for is kept in the young generation. When that is full it becomes the old one, and
 * the old one is forgotten. So a hit costs one look-up, where a strict order of use costs three.
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
    if (old) this.keep(collectionKey, old);
    return old;
  }

  keep(collectionKey: number, resource: Resource): void {
    const bytes = resource.fields.length + (resource.parts?.length ?? 0) + overheadBytes;
    if (bytes > this.#generationBytes) return;
    if (this.#youngBytes + bytes > this.#generationBytes) this.#age();
    this.#youngBytes += bytes;
    const collectionReader = this.#young.get(collectionKey) ?? new Map<string, Resource>();
    collectionReader.set(resource.id, resource);
    this.#young.set(collectionKey, collectionReader);
  }

  holdsAnyOf(collectionKey: number): boolean {
    return this.#young.has(collectionKey) || this.#old.has(collectionKey);
  }

  forget(collectionKey: number, id: string): void {
    this.#young.get(collectionKey)?.delete(id);
    this.#old.get(collectionKey)?.delete(id);
  }

  forgetAllOf(collectionKey: number): void {
    this.#young.delete(collectionKey);
    this.#old.delete(collectionKey);
  }

  forgetAll(): void {
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
