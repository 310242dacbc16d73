// The rate limits of a process: what is allowed, and a bucket for each address and token.

import { Buckets, type Spent } from "./token-bucket.ts";

export interface RateSettings {
  /** Requests a minute; 0 for no limit. */
  readonly perAddress: number;
  readonly perToken: number;
}

/** A quota that a request was counted against; told in the RateLimit fields of its answer. */
export interface Quota extends Spent {
  readonly policy: "address" | "token" | "create";
  readonly perMinute: number;
}

/** The buckets of one purpose never push out those of another. */
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
