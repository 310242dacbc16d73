// A kind of credential: how the callers that send one are found.

import type { MaybePromise } from "../lib/maybe-promise.ts";
import type { Credential, Principal } from "../model/principal.ts";
import type { Problem } from "../model/problem.ts";

export interface CallerKind {
  /**
   * Returns who holds the credential with this hash now, undefined when it is unknown or has ended. While
   * nothing that decides about the caller changes, it is `last`, who was found by the hash before.
   */
  find(hash: string, last?: Principal): MaybePromise<Principal | undefined>;
  /** Notes a use of a credential that was found. */
  use(credential: Credential, now: number): void;
  /** Ends a credential at its holder's request. */
  end(id: string): Promise<Problem | undefined>;
}
