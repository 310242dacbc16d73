// Defines the result of reading the body of a POST, before it is validated.

import type { Draft } from "../../model/draft.ts";
import type { StoredFile } from "../../model/file.ts";

export interface ReceivedDraft {
  readonly draft: Draft;
  /** Files that are on disk and that no resource refers to yet. */
  readonly files: readonly StoredFile[];
  /** Identifies the body for an Idempotency-Key. */
  readonly fingerprint: Uint8Array;
  /** Whether the hidden field that only bots fill in has a value. */
  readonly isHoneypotFilled?: boolean;
}
