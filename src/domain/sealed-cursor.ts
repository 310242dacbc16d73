// Encrypts the cursors of callers who see a part of a collection: a position would show how many others there are.

import { createHash, createHmac } from "node:crypto";
import { decrypt, encrypt, ivBytes } from "../lib/encryption.ts";

export class CursorSeal {
  readonly #key: Buffer;
  readonly #caller: Buffer;

  /** Only the same caller can use the cursor. */
  constructor(secret: string, caller: string) {
    this.#key = createHash("sha256").update(`cursor\n${secret}`).digest();
    this.#caller = Buffer.from(caller);
  }

  /** Returns the same text for the same cursor, so that the page keeps its ETag. */
  close(cursor: string): string {
    const digest = createHmac("sha256", this.#key).update(this.#caller).update("\n").update(cursor);
    return encrypt(this.#key, this.#caller, cursor, digest.digest().subarray(0, ivBytes));
  }

  /** Returns undefined when the cursor belongs to someone else or was changed. */
  open(sealed: string): string | undefined {
    return decrypt(this.#key, this.#caller, sealed);
  }
}
