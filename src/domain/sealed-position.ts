// Encrypts feed positions for callers who see a part of a collection: a revision would show how much others write.

import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import type { MaybePromise } from "../lib/maybe-promise.ts";
import {
  type FeedPosition,
  readFeedPosition,
  type SealedPosition,
  sealedPrefix,
  writeFeedPosition,
} from "../model/feed-position.ts";

export type { SealedPosition } from "../model/feed-position.ts";

const cipher = "aes-256-gcm";
const ivBytes = 12;
const tagBytes = 16;

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
      close: (position) => sealedPrefix + encrypt(key, caller, writeFeedPosition(position)),
      open: ({ sealed }) => {
        const text = decrypt(key, caller, sealed);
        return text === undefined ? undefined : readFeedPosition(text);
      },
    };
  }
}

function encrypt(key: Buffer, caller: Buffer, text: string): string {
  const iv = randomBytes(ivBytes);
  const encryption = createCipheriv(cipher, key, iv).setAAD(caller);
  const bytes = Buffer.concat([encryption.update(text), encryption.final()]);
  return Buffer.concat([iv, encryption.getAuthTag(), bytes]).toString("base64url");
}

function decrypt(key: Buffer, caller: Buffer, sealed: string): string | undefined {
  const bytes = Buffer.from(sealed, "base64url");
  if (bytes.length <= ivBytes + tagBytes) return undefined;
  const decryption = createDecipheriv(cipher, key, bytes.subarray(0, ivBytes))
    .setAAD(caller)
    .setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
  try {
    const text = decryption.update(bytes.subarray(ivBytes + tagBytes));
    return Buffer.concat([text, decryption.final()]).toString();
  } catch {
    return undefined;
  }
}
