// A map with a limit: it forgets what was not used for the longest time, roughly.

/**
 * Entries are added to the young generation. When that is full it becomes the old one, and the old one is
 * discarded. So a hit costs one lookup, while a strict LRU costs three operations.
 */
export class RecentMap<Key, Value> {
  readonly #generationWeight: number;
  readonly #weigh: (value: Value, key: Key) => number;
  #young = new Map<Key, Value>();
  #old = new Map<Key, Value>();
  #youngWeight = 0;

  /** The limit is the sum of all weights; without weights it is the number of entries. */
  constructor(limit: number, weigh: (value: Value, key: Key) => number = () => 1) {
    this.#generationWeight = limit / 2;
    this.#weigh = weigh;
  }

  get(key: Key): Value | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  /** A value that replaces another counts in addition to it. */
  set(key: Key, value: Value): void {
    const weight = this.#weigh(value, key);
    if (weight > this.#generationWeight) return;
    if (this.#youngWeight + weight > this.#generationWeight) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#youngWeight = 0;
    }
    this.#youngWeight += weight;
    this.#young.set(key, value);
  }

  clear(): void {
    this.#young = new Map();
    this.#old = new Map();
    this.#youngWeight = 0;
  }
}
