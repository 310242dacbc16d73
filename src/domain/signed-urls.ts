// Signs the URL of a file, so that it can be read without a token: as its signer, for a short time.

import { createHash, createHmac, randomBytes } from "node:crypto";
import { decrypt, encrypt, ivBytes } from "../lib/encryption.ts";
import { type MaybePromise, then } from "../lib/maybe-promise.ts";
import { definitionOf } from "../model/definition.ts";
import type { StoredFile } from "../model/file.ts";
import type { Principal } from "../model/principal.ts";
import { Problem } from "../model/problem.ts";
import type { Store } from "../store/store.ts";
import type { Access } from "./access.ts";
import type { CollectionAccess } from "./collection-access.ts";

/** A signature that is valid now. */
export interface Signed {
  /** Who signed, as it is now. */
  readonly signer: Principal;
  /** The key of the file. A replaced file has another one. */
  readonly fileKey: string;
  readonly expiresAt: number;
}

export interface Signature {
  readonly signature: string;
  readonly expiresAt: number;
}

export class SignedUrls {
  readonly #store: Store;
  readonly #access: Access;
  readonly #clock: () => number;

  constructor(store: Store, access: Access, clock: () => number) {
    this.#store = store;
    this.#access = access;
    this.#clock = clock;
  }

  /** Signs the path and query of a file that the caller may read. */
  sign(
    access: CollectionAccess,
    file: StoredFile,
    target: string,
    seconds: number,
  ): MaybePromise<Signature | Problem> {
    const forbidden = access.require("read") ?? requireSignedUrls(access);
    if (forbidden !== undefined) return forbidden;
    const { credential } = access.principal;
    const until = this.#clock() + seconds * 1000;
    const expiresAt = Math.min(until, credential?.expiresAt ?? until);
    const text = [file.key, expiresAt, credential?.hash ?? ""].join(" ");
    return then(this.#store.secret(), (secret) => {
      const sealed = encrypt(keyOf(secret, target), noContext, text, randomBytes(ivBytes));
      return { signature: withoutUnderscores(sealed), expiresAt };
    });
  }

  /** Returns what was signed for this path and query. */
  open(target: string, signature: string): MaybePromise<Signed | Problem> {
    return then(this.#store.secret(), (secret) => {
      const sealed = withUnderscores(signature);
      const text = decrypt(keyOf(secret, target), noContext, sealed);
      if (text === undefined) return wrongSignature;
      const [fileKey = "", time, hash = ""] = text.split(" ");
      const expiresAt = Number(time);
      if (expiresAt <= this.#clock()) return expired(expiresAt);
      return then(this.#access.callers.holder(hash), (signer) =>
        signer === undefined ? signerGone : { signer, fileKey, expiresAt },
      );
    });
  }
}

/** Each target has its own key, so a signature fits no other. */
const keyOf = (secret: string, target: string): Buffer =>
  createHmac("sha256", createHash("sha256").update(`signed url\n${secret}`).digest())
    .update(target)
    .digest();

const noContext = Buffer.alloc(0);

/** Otherwise one in a million signatures would look like the secret of a token, which no URL may have. */
const withoutUnderscores = (text: string): string => text.replaceAll("_", ".");
const withUnderscores = (text: string): string => text.replaceAll(".", "_");

export function requireSignedUrls({ name, rules }: CollectionAccess): Problem | undefined {
  if (rules !== undefined && definitionOf(rules).signedUrls) return undefined;
  return new Problem(
    "forbidden",
    `The collection "${name}" has no signed URLs. They are for collections whose definition says "signedUrls": true.`,
  );
}

const invalidSignature = (detail: string): Problem => new Problem("invalid-signature", detail);
const again = "Ask for a new URL with POST /-/signed-urls.";

export const wrongSignature = invalidSignature(
  "The signature does not belong to this URL. Use a signed URL exactly as it was given, with all its parameters and no others.",
);
const expired = (at: number): Problem =>
  invalidSignature(`The URL has expired at ${new Date(at).toISOString()}. ${again}`);
const signerGone = invalidSignature(
  `The token that signed the URL was revoked or has expired. ${again}`,
);
export const signerLostAccess = invalidSignature(
  "Whoever signed the URL may no longer read the file, or no longer sign URLs.",
);
export const fileReplaced = invalidSignature(
  `The file was replaced after the URL was signed. ${again}`,
);
