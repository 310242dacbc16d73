// Remembers the heads that this process has written, so that new resources can be inserted without loading state.

import type { Head } from "../core/rows.ts";
import type { CollectionRow } from "./collections.ts";

export interface KnownHead {
  readonly row: CollectionRow;
  readonly head: Head;
}

interface HeadEntry extends KnownHead {
  /** Whether the last two writes came from this process, so that the next one is likely to find the same head. */
  readonly isLikely: boolean;
  readonly writtenAt: number;
}

/** When the cache is full it is cleared, which bounds the memory use. */
const maxEntries = 10_000;

export class KnownHeads {
  readonly #maxAgeMs: number;
  readonly #entries = new Map<string, HeadEntry>();

  /** After a pause the head is loaded again: another process may have written, and the connection may be lost. */
  constructor(maxAgeMs: number) {
    this.#maxAgeMs = maxAgeMs;
  }

  /** Returns the head when it is likely to be the current one. */
  find(name: string): KnownHead | undefined {
    const entry = this.#entries.get(name);
    return entry?.isLikely && performance.now() - entry.writtenAt < this.#maxAgeMs
      ? entry
      : undefined;
  }

  /** `before` is the head that was found, `head` the one that was written. */
  set(row: CollectionRow, before: Head, head: Head): void {
    const last = this.#entries.get(row.name)?.head;
    const isLikely = last?.revision === before.revision && last.epoch === before.epoch;
    if (this.#entries.size >= maxEntries) this.#entries.clear();
    this.#entries.set(row.name, { row, head, isLikely, writtenAt: performance.now() });
  }

  delete(name: string): void {
    this.#entries.delete(name);
  }
}
