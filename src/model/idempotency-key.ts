// The identity of a request that may be sent again (Idempotency-Key).

/** Identifies a request, so that a retry of it is not executed again. */
export interface IdempotencyKey {
  /** Each owner has a separate key space. */
  readonly owner: string;
  readonly key: string;
  /** Distinguishes a retry from another request with the same key. */
  readonly fingerprint: string;
  readonly at: number;
  /** The outcomes are stored for the time from `at` until then, by a clock that never jumps. */
  readonly expiresAt: number;
  /**
   * How many of the first changes are those of the request; all, if left out. The others follow from the
   * state, so that a retry does not have them, and the key does not depend on them.
   */
  readonly ownChanges?: number;
}

/** Callers without a token are told apart by what they send, so that none can block or probe another's key. */
export const anonymousOwner = (fingerprint: string): string => `anonymous:${fingerprint}`;
