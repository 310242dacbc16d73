// A map with a limit: it forgets what was not used for the longest time, roughly.

interface RecentEntry<Value> {
  value: Value;
  weight: number;
  /** Whether it was read since it was added or last spared. */
  isUsed: boolean;
}

/**
 * When it is full, the oldest entries are looked at: one that was read since is spared and becomes the
 * newest, another is discarded. So a hit costs one lookup and changes no map, while a strict LRU costs
 * three operations.
 */
export class RecentMap<Key, Value> {
  readonly #limit: number;
  readonly #weigh: (value: Value, key: Key) => number;
  /** The oldest entry comes first. */
  #entries = new Map<Key, RecentEntry<Value>>();
  /** Stays at the oldest entry. A new iterator would pass all that was deleted before it. */
  #oldest: MapIterator<[Key, RecentEntry<Value>]> | undefined;
  #weight = 0;

  /** The limit is the sum of all weights; without weights it is the number of entries. */
  constructor(limit: number, weigh: (value: Value, key: Key) => number = () => 1) {
    this.#limit = limit;
    this.#weigh = weigh;
  }

  get(key: Key): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    entry.isUsed = true;
    return entry.value;
  }

  /** Returns the value of the key, which is made when it is not there. */
  getOrAdd(key: Key, make: (key: Key) => Value & {}): Value {
    const known = this.get(key);
    if (known !== undefined) return known;
    const made = make(key);
    this.set(key, made);
    return made;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** A value that is heavier than the limit is not kept. */
  set(key: Key, value: Value): void {
    const weight = this.#weigh(value, key);
    const known = this.#entries.get(key);
    if (weight > this.#limit) {
      if (known !== undefined) this.#delete(key, known);
      return;
    }
    this.#weight += weight - (known?.weight ?? 0);
    // Changed in place: while the iterator does not move, it keeps what deletions leave in memory.
    if (known !== undefined) Object.assign(known, { value, weight, isUsed: true });
    while (this.#weight > this.#limit) this.#discardOldest();
    if (known === undefined) this.#entries.set(key, { value, weight, isUsed: false });
  }

  clear(): void {
    this.#entries = new Map();
    this.#oldest = undefined;
    this.#weight = 0;
  }

  #discardOldest(): void {
    this.#oldest ??= this.#entries.entries();
    const { value: oldest } = this.#oldest.next();
    if (oldest === undefined) {
      this.#oldest = undefined;
      return;
    }
    const [key, entry] = oldest;
    this.#delete(key, entry);
    if (!entry.isUsed) return;
    entry.isUsed = false;
    this.#entries.set(key, entry);
    this.#weight += entry.weight;
  }

  #delete(key: Key, { weight }: RecentEntry<Value>): void {
    this.#entries.delete(key);
    this.#weight -= weight;
  }
}
