// Encrypts feed positions for callers who see a part of a collection: a revision would show how much others write.

import { createHash, randomBytes } from "node:crypto";
import { decrypt, encrypt, ivBytes } from "../lib/encryption.ts";
import type { MaybePromise } from "../lib/maybe-promise.ts";
import { type SealedPosition, sealedPrefix } from "../model/feed-position.ts";

/** Encrypts and decrypts the positions of some callers in one collection, as texts. */
interface CallerSeal {
  /** Returns another text each time, so that two positions cannot be compared. */
  close(position: string): string;
  /** Returns undefined when the position belongs to someone else or was changed. */
  open(position: SealedPosition): string | undefined;
}

/** No position is longer. The length of its numbers would show how much others write. */
const paddedChars = 120;

export class PositionSeal {
  readonly #secret: () => MaybePromise<string>;

  constructor(secret: () => MaybePromise<string>) {
    this.#secret = secret;
  }

  async of(collection: string, callers: string): Promise<CallerSeal> {
    const key = createHash("sha256")
      .update(`feed position\n${await this.#secret()}`)
      .digest();
    const context = Buffer.from(`${collection}\n${callers}`);
    return {
      close: (position) =>
        sealedPrefix + encrypt(key, context, position.padEnd(paddedChars), randomBytes(ivBytes)),
      open: ({ sealed }) => decrypt(key, context, sealed)?.trimEnd(),
    };
  }
}
