// What came in the body of a POST, read and not yet accepted.

import type { Draft } from "../../model/draft.ts";
import type { Part } from "../../model/part.ts";

export interface Incoming {
  readonly draft: Draft;
  /** Files that are on disk already, and named by no resource yet. */
  readonly parts: readonly Part[];
  /** What tells this body from another, for an Idempotency-Key. */
  readonly fingerprint: Uint8Array;
  /** Whether a form was filled in where only a machine does. */
  readonly isTrapped?: boolean;
}
