// What every request needs and seldom changes: read in gathered questions, and remembered for a moment.

import type { MaybePromise } from "../../lib/maybe-promise.ts";
import { type Ask, BatchLoader } from "./batch-loader.ts";

interface Memory<V> {
  readonly value: V;
  readonly readAt: number;
}

/** Beyond this, what is known is dropped and learnt anew: memory must have an end. */
const maxRemembered = 10_000;

/**
 * What is remembered is too old after a moment in any case, and at once when a node tells that it has
 * changed something. What is still the same is then handed out as the same object.
 */
export class TtlCache<V extends object> {
  readonly #maxAgeMs: number;
  readonly #isSame: (one: V, other: V) => boolean;
  readonly #asked: BatchLoader<string, V | undefined>;
  readonly #memories = new Map<string, Memory<V>>();
  #forgottenAt = 0;

  constructor(
    ask: Ask<string, V | undefined>,
    { size, maxAgeMs }: { readonly size: number; readonly maxAgeMs: number },
    isSame: (one: V, other: V) => boolean,
  ) {
    this.#maxAgeMs = maxAgeMs;
    this.#isSame = isSame;
    this.#asked = new BatchLoader((names) => this.#ask(ask, names), size);
  }

  find(name: string): MaybePromise<V | undefined> {
    const memory = this.#memories.get(name);
    return memory && this.#isFresh(memory) ? memory.value : this.#asked.get(name);
  }

  /** What is on its way was asked before, and is not trusted either. */
  forget(): void {
    this.#forgottenAt = performance.now();
  }

  #isFresh({ readAt }: Memory<V>): boolean {
    return readAt > this.#forgottenAt && performance.now() - readAt < this.#maxAgeMs;
  }

  async #ask(
    ask: Ask<string, V | undefined>,
    names: readonly string[],
  ): Promise<readonly (V | undefined)[]> {
    const readAt = performance.now();
    const values = await ask(names);
    if (this.#memories.size + names.length > maxRemembered) this.#memories.clear();
    return names.map((name, index) => this.#remember(name, values[index], readAt));
  }

  /** What is not there is not remembered: it must be found from the moment it was made. */
  #remember(name: string, read: V | undefined, readAt: number): V | undefined {
    if (!read) {
      this.#memories.delete(name);
      return undefined;
    }
    const before = this.#memories.get(name)?.value;
    const value = before && this.#isSame(before, read) ? before : read;
    this.#memories.set(name, { value, readAt });
    return value;
  }
}
