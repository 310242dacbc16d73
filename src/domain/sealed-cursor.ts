// Encrypts the cursors of callers who see a part of a collection: a position would show how many others there are.

import { createHash, createHmac } from "node:crypto";
import { decrypt, encrypt, ivBytes } from "../lib/encryption.ts";

export class CursorSeal {
  readonly #secret: string;
  readonly #caller: string;

  /** Only the same caller can use the cursor. */
  constructor(secret: string, caller: string) {
    this.#secret = secret;
    this.#caller = caller;
  }

  /** Returns the same text for the same cursor, so that the page keeps its ETag. */
  close(cursor: string): string {
    const key = this.#key;
    const digest = createHmac("sha256", key).update(`${this.#caller}\n${cursor}`).digest();
    return encrypt(key, Buffer.from(this.#caller), cursor, digest.subarray(0, ivBytes));
  }

  /** Returns undefined when the cursor belongs to someone else or was changed. */
  open(sealed: string): string | undefined {
    return decrypt(this.#key, Buffer.from(this.#caller), sealed);
  }

  /** Most pages have no cursor, so it is made when it is needed. */
  get #key(): Buffer {
    return createHash("sha256").update(`cursor\n${this.#secret}`).digest();
  }
}
