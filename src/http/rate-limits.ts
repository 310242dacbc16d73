// Holds the rate limits of a process and a token bucket for each address and token.

import { type BucketState, Buckets } from "./token-bucket.ts";

export interface RateSettings {
  /** Requests a minute; 0 for no limit. */
  readonly perAddress: number;
  readonly perToken: number;
}

/** A quota that a request was counted against; shown in the RateLimit fields of its response. */
export interface Quota extends BucketState {
  readonly policy: "address" | "token" | "create";
  readonly perMinute: number;
}

/** Each purpose has its own buckets, so that none can evict those of another. */
export class RateLimits {
  readonly perAddress: number;
  readonly perToken: number;
  readonly addresses = new Buckets();
  readonly tokens = new Buckets();
  readonly creations = new Buckets();
  readonly wrongTokens = new Buckets();

  constructor({ perAddress, perToken }: RateSettings) {
    this.perAddress = perAddress;
    this.perToken = perToken;
  }
}
