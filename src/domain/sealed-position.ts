// Encrypts feed positions for callers who see a part of a collection: a revision would show how much others write.

import { createHash, randomBytes } from "node:crypto";
import { decrypt, encrypt, ivBytes } from "../lib/encryption.ts";
import type { MaybePromise } from "../lib/maybe-promise.ts";
import {
  type FeedPosition,
  readFeedPosition,
  type SealedPosition,
  sealedPrefix,
  writeFeedPosition,
} from "../model/feed-position.ts";

export type { SealedPosition } from "../model/feed-position.ts";

/** Encrypts and decrypts the positions of one caller in one collection. */
interface CallerSeal {
  /** Returns another text each time, so that two positions cannot be compared. */
  close(position: FeedPosition): string;
  /** Returns undefined when the position belongs to someone else or was changed. */
  open(position: SealedPosition): FeedPosition | undefined;
}

export class PositionSeal {
  readonly #secret: () => MaybePromise<string>;

  constructor(secret: () => MaybePromise<string>) {
    this.#secret = secret;
  }

  async of(collection: string, owner: string): Promise<CallerSeal> {
    const key = createHash("sha256")
      .update(`feed position\n${await this.#secret()}`)
      .digest();
    const caller = Buffer.from(`${collection}\n${owner}`);
    return {
      close: (position) =>
        sealedPrefix + encrypt(key, caller, writeFeedPosition(position), randomBytes(ivBytes)),
      open: ({ sealed }) => {
        const text = decrypt(key, caller, sealed);
        return text === undefined ? undefined : readFeedPosition(text);
      },
    };
  }
}
