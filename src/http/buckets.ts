// Token buckets: what is in one may pass now, and it fills again with time.

/** More than come to a busy form at once; the one not used for longest is forgotten. */
const maxBuckets = 10_000;
const minuteMs = 60_000;

interface Bucket {
  /** How many may pass now. */
  readonly level: number;
  readonly at: number;
}

export class Buckets {
  readonly #buckets = new Map<string, Bucket>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  get size(): number {
    return this.#buckets.size;
  }

  /** Lets one pass, and says 0; or after how many seconds the next may. */
  take(key: string, perMinute: number): number {
    const at = this.#now();
    const before = this.#buckets.get(key) ?? { level: perMinute, at };
    const filled = before.level + ((at - before.at) * perMinute) / minuteMs;
    const level = Math.min(perMinute, filled);
    const mayPass = level >= 1;
    this.#keep(key, { level: mayPass ? level - 1 : level, at });
    return mayPass ? 0 : Math.ceil(((1 - level) * minuteMs) / perMinute / 1000);
  }

  /** Last in the row, because it was seen last. */
  #keep(key: string, bucket: Bucket): void {
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    const [first] = this.#buckets.size > maxBuckets ? this.#buckets.keys() : [];
    if (first !== undefined) this.#buckets.delete(first);
  }
}
