// Holds the token buckets of one process for each kind of rate limit.

import { type BucketState, TokenBuckets } from "./token-buckets.ts";

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
