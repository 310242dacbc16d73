// Implements token buckets: each limits the rate of one key and refills over time.

import { ownText } from "../../lib/own-text.ts";

/** More than a busy form needs at once; the least recently used bucket is removed. */
const maxBuckets = 10_000;
const minuteMs = 60_000;

interface Bucket {
  /** How many requests may pass now. */
  readonly level: number;
  readonly at: number;
}

export interface BucketState {
  /** 0 when the request may pass; else the seconds until the next one may. */
  readonly waitSeconds: number;
  /** How many more requests may pass now. */
  readonly remaining: number;
  readonly fullInSeconds: number;
}

export class TokenBuckets {
  readonly #buckets = new Map<string, Bucket>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  get size(): number {
    return this.#buckets.size;
  }

  /** Counts a request. Returns 0 when it may pass, else the seconds to wait. */
  take(key: string, perMinute: number): number {
    return this.spend(key, perMinute).waitSeconds;
  }

  /** Counts a request if it may pass, and returns the state after it. */
  spend(key: string, perMinute: number): BucketState {
    const at = this.#now();
    const before = this.#buckets.get(key) ?? { level: perMinute, at };
    const filled = before.level + ((at - before.at) * perMinute) / minuteMs;
    const full = Math.min(perMinute, filled);
    const mayPass = full >= 1;
    const level = mayPass ? full - 1 : full;
    this.#store(key, { level, at });
    const secondsFor = (count: number) => Math.ceil((count * minuteMs) / perMinute / 1000);
    return {
      waitSeconds: mayPass ? 0 : secondsFor(1 - level),
      remaining: Math.floor(level),
      fullInSeconds: secondsFor(perMinute - level),
    };
  }

  /** Moves the bucket to the end, because a Map keeps insertion order. */
  #store(key: string, bucket: Bucket): void {
    this.#buckets.delete(key);
    this.#buckets.set(ownText(key), bucket);
    const [first] = this.#buckets.size > maxBuckets ? this.#buckets.keys() : [];
    if (first !== undefined) this.#buckets.delete(first);
  }
}

/** A quota that a request was counted against; shown in the RateLimit fields of its response. */
export interface Quota extends BucketState {
  readonly policy: "address" | "token" | "create";
  readonly perMinute: number;
}

/** Each purpose has its own buckets, so that none can evict those of another. */
export class RateLimitBuckets {
  readonly addresses = new TokenBuckets();
  readonly tokens = new TokenBuckets();
  readonly creations = new TokenBuckets();
  readonly wrongTokens = new TokenBuckets();
}
