// Token buckets: what is in one may pass now, and it fills again with time.

/** More than come to a busy form at once; the one not used for longest is forgotten. */
const maxBuckets = 10_000;
const minuteMs = 60_000;

interface Bucket {
  /** How many may pass now. */
  readonly level: number;
  readonly at: number;
}

export interface Spent {
  /** 0 when one has passed; else after how many seconds the next may. */
  readonly waitSeconds: number;
  /** How many more may pass now. */
  readonly left: number;
  readonly fullInSeconds: number;
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
    return this.spend(key, perMinute).waitSeconds;
  }

  /** Lets one pass if there is one left, and tells what is left then. */
  spend(key: string, perMinute: number): Spent {
    const at = this.#now();
    const before = this.#buckets.get(key) ?? { level: perMinute, at };
    const filled = before.level + ((at - before.at) * perMinute) / minuteMs;
    const full = Math.min(perMinute, filled);
    const mayPass = full >= 1;
    const level = mayPass ? full - 1 : full;
    this.#keep(key, { level, at });
    const secondsFor = (count: number) => Math.ceil((count * minuteMs) / perMinute / 1000);
    return {
      waitSeconds: mayPass ? 0 : secondsFor(1 - level),
      left: Math.floor(level),
      fullInSeconds: secondsFor(perMinute - level),
    };
  }

  /** Last in the row, because it was seen last. */
  #keep(key: string, bucket: Bucket): void {
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    const [first] = this.#buckets.size > maxBuckets ? this.#buckets.keys() : [];
    if (first !== undefined) this.#buckets.delete(first);
  }
}
