// What came in the body of a POST, read and not yet accepted.

import type { Draft } from "../../model/draft.ts";
import type { StoredFile } from "../../model/file.ts";

export interface ReceivedDraft {
  readonly draft: Draft;
  /** Files that are on disk already, and named by no resource yet. */
  readonly parts: readonly StoredFile[];
  /** What tells this body from another, for an Idempotency-Key. */
  readonly fingerprint: Uint8Array;
  /** Whether a form was filled in where only a machine does. */
  readonly isHoneypotFilled?: boolean;
}
